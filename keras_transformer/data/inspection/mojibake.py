"""UTF-8 that was read as an encoding of one byte a character: a city is called "ZÃ¼rich"."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

# Latin letters and signs, punctuation, the euro sign, the mark of an order of bytes, and what a
# decoder puts in place of what it cannot read.
_COMMON = (*range(0xA0, 0x180), *range(0x2010, 0x2040), 0x20AC, 0xFEFF, 0xFFFD)
# Greek, Cyrillic, Hebrew and Arabic.
_OTHER_ALPHABETS = range(0x370, 0x700)
# After a letter, what ends a quotation or a sentence is what it is.
_MARKS = "\xab\xbb\u2013\u2014\u2018\u2019\u201c\u201d\u2026"


def _misread(characters: Iterable[int]) -> Mapping[str, str]:
    """Returns what characters become: all but the last one each, with the last ones that follow."""
    endings: dict[str, set[str]] = defaultdict(set)
    for code in characters:
        for encoding in ("latin-1", "cp1252"):
            text = chr(code).encode().decode(encoding, "ignore")
            if len(text) > 1 and not (text[0] in "\xc4\xc5" and text[1] in _MARKS):
                endings[text[:-1]].add(text[-1])
    return {start: "".join(sorted(ends)) for start, ends in endings.items()}


def _alternatives(characters: Iterable[int], followed_by: str = "") -> Iterator[str]:
    # Each begins with a character as it is, so that `re` need not try them anywhere else.
    for start, ends in _misread(characters).items():
        yield f"{start}[{re.escape(ends)}]{followed_by}"


# In capital letters that may stand before a mark, as Greek ones become, two in a row are asked for.
_PAIR = f"(?:{'|'.join(_alternatives(_OTHER_ALPHABETS))})"
MOJIBAKE = re.compile(
    "|".join([*_alternatives(_COMMON), *_alternatives(_OTHER_ALPHABETS, _PAIR), "\ufffd"])
)
