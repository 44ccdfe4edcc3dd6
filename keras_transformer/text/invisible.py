"""Characters that show nothing: which they are, and which scripts need some of them."""

# Default-ignorable characters of Unicode, first and last of each range: soft hyphen, joiners, marks
# of direction, variation selectors, tags and fillers.
IGNORABLE = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5)),
    *((0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164)),
    *((0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8)),
    *((0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
# Controls that are no white space; SentencePiece's rules cannot name U+0000.
CONTROLS = ((0x0, 0x8), (0xE, 0x1F), (0x7F, 0x84), (0x86, 0x9F))
# White space, with tabs and line breaks.
SPACES = (
    *((0x9, 0xD), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A)),
    *((0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)),
)

_NOTHING = IGNORABLE + CONTROLS + SPACES
# A text of these alone shows nothing; for RE2.
NOTHING_TO_SEE = (
    "^[" + "".join(f"\\x{{{first:x}}}-\\x{{{last:x}}}" for first, last in _NOTHING) + "]*$"
)


def shows_nothing(text: str) -> bool:
    """Returns whether there is nothing to see, as `NOTHING_TO_SEE` tells in graph.

    Example:
        >>> shows_nothing("\\u00ad\\n"), shows_nothing("a dog")
        (True, False)
    """
    return all(any(first <= ord(one) <= last for first, last in _NOTHING) for one in text)
