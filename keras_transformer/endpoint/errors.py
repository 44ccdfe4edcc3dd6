"""What a request is answered that cannot be served: a status, and what is wrong, in words."""

from http import HTTPStatus


class RequestError(Exception):
    """Ends a request; who asked gets its message and its status, and nothing else.

    Args:
        message: What is wrong.
        status: Of the reply; that of what is wrong with the request by default.

    Example:
        >>> RequestError("No values in 'instances' array").status
        400
    """

    def __init__(self, message: str, status: int = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(message)
        self.message = message
        self.status = int(status)
