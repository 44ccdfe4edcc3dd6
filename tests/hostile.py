"""Strings that no translator expects, and that any may get."""

from hypothesis import strategies as st

BLANK = [b"", b" ", b"\t\r\n", "\u3000\u00a0\u2003".encode(), b"\x01\x02", b"\xe2\x80\x8b"]
HOSTILE = [
    *BLANK,
    b"\x00",
    b"\xff\xfe\xfa",
    b"half \xe2\x82",
    b"\xed\xa0\x80 surrogate",
    b"\xc0\xaf overlong",
    b"a\x00b\x00",
    b"\x1b[31mred\x07 \x7f",
    b"</s> <s> <pad> <unk> <0x41> \xe2\x96\x81",
    "\ufeffthe dog \u2028 and\u2029 \u200dcat".encode(),
    "👩‍👩‍👧‍👦 👋🏽 🇩🇪 🏳️‍🌈".encode(),
    "שלום עולם \u202e\u0645\u0631\u062d\u0628\u0627\u202c".encode(),
    "中文、日本語、한국어。".encode(),
    ("e" + "\u0301" * 300).encode(),
    "\U0010ffff\ufffd\uffff".encode(),
    b"x" * 500,
    b"the dog sleeps in the garden. " * 20,
]


def hostile_strings():
    """Text of any script, bytes, and all of them in a row and repeated."""
    text = st.text(max_size=20).map(lambda string: string.encode("utf-8", "replace"))
    one = st.one_of(text, st.binary(max_size=20), st.sampled_from(HOSTILE))
    in_a_row = st.lists(one, max_size=4).map(b" ".join)
    repeated = st.tuples(text, st.integers(2, 60)).map(lambda pair: pair[0] * pair[1])
    return st.one_of(one, in_a_row, repeated)
