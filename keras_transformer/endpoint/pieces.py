"""How much work a text is, told before anything is computed."""

import re

import numpy as np

from keras_transformer.endpoint.signature import Columns

# Where a line or a sentence ends, in any script; a few in a row are one end.
_ENDS = re.compile(r"[\n-\r\u0085\u2028\u2029.!?\u2026\u061f\u06d4\u0964\u3002\uff01\uff1f]+")
# More than most sentences have.
_BYTES = 256


def estimate_pieces(columns: Columns) -> list[int]:
    """Estimates in how many pieces each row is translated.

    Args:
        columns: Inputs of a signature.

    Returns:
        About the number of sentences and lines of a row's strings, more for long ones; at least 1.

    Example:
        >>> texts = [b"A dog.", b"Wait! It rains ...", b"a\\nb\\n" * 100]
        >>> estimate_pieces({"text": np.array(texts, object)})
        [1, 2, 201]
    """
    [rows] = {len(column) for column in columns.values()}
    pieces = np.ones(rows, int)
    for column in columns.values():
        if column.dtype == object:
            pieces += np.fromiter(map(_beyond_the_first, column), int, rows)
    return pieces.tolist()


def _beyond_the_first(text: bytes) -> int:
    ends = _ENDS.findall(text.decode("utf-8", "replace"))
    return max(len(ends) - 1, 0) + len(text) // _BYTES
