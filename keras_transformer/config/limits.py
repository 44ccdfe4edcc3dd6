"""How much of a text is translated at most, so that no request keeps a server busy for long.

A text of one endless word costs as many searches as it has room for. Within limits a call's time is
bounded by the number of its texts; what is beyond them is left out, and the answer says so.
"""

import dataclasses

from keras_transformer.config.checks import require


@dataclasses.dataclass(frozen=True)
class InputLimits:
    """Limits of each text.

    Args:
        max_pieces: Most pieces that are translated: of its lines, or of its sentences where those
            are translated one by one. None for any number.
        max_bytes: Most bytes of UTF-8 that are read. None for any number.

    Raises:
        ValueError: If a limit is below 1.

    Example:
        >>> InputLimits(max_bytes=1000).max_pieces is None
        True
    """

    max_pieces: int | None = None
    max_bytes: int | None = None

    def __post_init__(self) -> None:
        for name, value in dataclasses.asdict(self).items():
            require(value is None or value >= 1, name, "at least 1, or None for no limit", value)


NO_LIMITS = InputLimits()

# Of an export, which strangers may ask: some thirty pages, and as many sentences or lines as take a
# small model less than the half minute after which TF Serving gives up.
OF_AN_EXPORT = InputLimits(max_pieces=512, max_bytes=100_000)
