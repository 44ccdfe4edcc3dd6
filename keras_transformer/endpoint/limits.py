"""How much a request may ask for, and how long it may take."""

import asyncio
import dataclasses
import math
from collections.abc import AsyncIterator
from http import HTTPStatus

from keras_transformer.config.checks import require, require_positive
from keras_transformer.endpoint.errors import RequestError


@dataclasses.dataclass(frozen=True)
class Limits:
    """The limits of an endpoint.

    Args:
        body_bytes: Most bytes of a request's body.
        rows: Most strings of a request, and about the most sentences that are translated at once,
            unless one string has more.
        waiting_rows: Most strings that wait to be translated.
        seconds: Longest that a request takes: to be received, and then to be answered.

    Raises:
        ValueError: If one is not positive.

    Example:
        >>> Limits(rows=8).seconds
        30.0
    """

    body_bytes: int = 131_072
    rows: int = 64
    waiting_rows: int = 1024
    seconds: float = 30.0

    def __post_init__(self) -> None:
        require_positive(self, "body_bytes", "rows", "waiting_rows", "seconds")
        require(math.isfinite(self.seconds), "seconds", "finite", self.seconds)


async def read_body(chunks: AsyncIterator[bytes], limits: Limits) -> bytes:
    """Reads the body of a request; no more than is allowed of it is ever in memory.

    Args:
        chunks: Its parts, as they come.
        limits: What is allowed.

    Raises:
        RequestError: If it is too large, or takes too long to come.

    Example:
        >>> async def chunks():
        ...     yield b"a dog"
        >>> asyncio.run(read_body(chunks(), Limits()))
        b'a dog'
    """
    body = bytearray()
    try:
        async with asyncio.timeout(limits.seconds):
            async for chunk in chunks:
                body += chunk
                if len(body) > limits.body_bytes:
                    raise RequestError(
                        f"The body must be of at most {limits.body_bytes} bytes; send long texts "
                        "in parts",
                        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                    )
    except TimeoutError:
        raise RequestError(
            f"The body must come within {limits.seconds:g} seconds", HTTPStatus.REQUEST_TIMEOUT
        ) from None
    return bytes(body)
