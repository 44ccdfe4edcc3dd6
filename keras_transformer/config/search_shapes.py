"""The sizes of batches for which a search is compiled: XLA must know all sizes beforehand."""

import dataclasses
import re
from collections.abc import Sequence

from keras_transformer.config.checks import require


@dataclasses.dataclass(frozen=True, order=True)
class SearchShape:
    """Most sentences, and most tokens of each, that a compiled search takes.

    Args:
        rows: Sentences that are searched together.
        length: Tokens of a source, eos included.

    Raises:
        ValueError: If there is room for no sentence, or for none but an eos.

    Example:
        >>> str(SearchShape(rows=1, length=32))
        '1x32'
    """

    rows: int
    length: int

    def __post_init__(self) -> None:
        require(self.rows >= 1, "rows", "at least 1", self.rows)
        require(self.length >= 2, "length", "at least 2", self.length)

    def __str__(self) -> str:
        return f"{self.rows}x{self.length}"


_LENGTHS = 32, 64


def one_sentence(max_length: int) -> tuple[SearchShape, ...]:
    """Returns the shapes of what a person sends, or a program that waits for its answer.

    A batch keeps TensorFlow's own kernels busy, and gains nothing on a CPU (docs/decoding.md).

    Args:
        max_length: Most tokens that are translated at once.

    Example:
        >>> one_sentence(48)
        (SearchShape(rows=1, length=32), SearchShape(rows=1, length=48))
    """
    return tuple(SearchShape(1, n) for n in sorted({min(n, max_length) for n in _LENGTHS}))


def parse_shapes(texts: Sequence[str]) -> tuple[SearchShape, ...]:
    """Reads shapes as they are written, ROWSxLENGTH.

    Args:
        texts: The shapes.

    Raises:
        ValueError: If a text is no shape.

    Example:
        >>> parse_shapes(["8x64", "1x32"])
        (SearchShape(rows=1, length=32), SearchShape(rows=8, length=64))
    """
    shapes = []
    for text in texts:
        match = re.fullmatch(r"([0-9]{1,6})x([0-9]{1,6})", text)
        if match is None:
            raise ValueError(
                "Shapes to compile must be written as sentences x tokens, as in 1x32. Received: "
                f"{text!r}"
            )
        shapes.append(SearchShape(*map(int, match.groups())))
    return tuple(sorted({*shapes}))
