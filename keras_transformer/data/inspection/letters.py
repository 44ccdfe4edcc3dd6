"""The letters of many lines at once, as arrays: code points, scripts, and whose line they are."""

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

SPACE, _LINE_FEED = 0x20, 0x0A
# Unicode ends here, and has fewer scripts.
_END, MOST_SCRIPTS = 0x110000, 1000

Integers = npt.NDArray[np.intp]


class Letters(NamedTuple):
    """The characters of some lines, each line between two line feeds.

    Attributes:
        codes: Code points, lower-cased, with a space for whatever is no letter, `[characters]`.
        places: Where among them letters are, `[letters]`.
        lines: Index of each letter's line, `[letters]`.
        scripts: Index of each letter's script in `SCRIPTS.names`, `[letters]`.
    """

    codes: npt.NDArray[np.uint32]
    places: Integers
    lines: Integers
    scripts: npt.NDArray[np.int16]


def letters_of(lines: Sequence[str]) -> Letters:
    """Returns the letters of lines.

    Example:
        >>> letters = letters_of(["a 1", "Ä"])
        >>> [chr(code) for code in letters.codes[letters.places]], letters.lines.tolist()
        (['a', 'ä'], [0, 1])
        >>> [SCRIPTS.names[script] for script in letters.scripts]
        ['LATIN', 'LATIN']
    """
    text = "".join("\n" + line.replace("\n", " ") for line in lines).lower() + "\n"
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    scripts = SCRIPTS.of(codes)
    places = np.flatnonzero(scripts)
    line_of = np.cumsum(codes == _LINE_FEED) - 1
    codes = np.where(scripts, codes, np.uint32(SPACE))
    return Letters(codes, places, line_of[places], scripts[places])


class _Scripts:
    """The script of each code point, looked up when it first occurs."""

    def __init__(self) -> None:
        # -1 where it was not looked up yet.
        self._table = np.full(_END, -1, np.int16)
        # The first one is of what is no letter.
        self.names = [""]

    def of(self, codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.int16]:
        """Returns the index in `names` of the script of each code point."""
        scripts = self._table[codes]
        new = np.unique(codes[scripts < 0]).tolist()
        if not new:
            return scripts
        for code in new:
            # A letter's name begins with that of its script.
            name = unicodedata.name(chr(code), "OTHER").partition(" ")[0]
            name = name if chr(code).isalpha() else ""
            if name not in self.names:
                self.names.append(name)
            self._table[code] = self.names.index(name)
        return self._table[codes]


SCRIPTS = _Scripts()
