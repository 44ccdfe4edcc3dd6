"""Marian's `vocab.yml`: a piece and its id a line.

It is read line by line. A parser of YAML takes `<<` for a merge of mappings and refuses characters
that a piece may well have.
"""

import re
import sys
from pathlib import Path

# A piece in double quotes, in single ones or plain; it may stand on a line of its own, after "? ".
_ENTRY = re.compile(
    r"""
    (?:\?[ ])?
    (?: "(?P<double>(?:[^"\\]|\\.)*)" | '(?P<single>(?:[^']|'')*)' | (?P<plain>.*?) )
    [ ]* \n? : [ ]+ (?P<id>\d+) [ ]* \r? $
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_ESCAPES = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
_ESCAPES |= {"e": "\x1b", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"}


def read_yaml_vocabulary(content: bytes, path: Path) -> list[str]:
    """Reads a vocabulary.

    Args:
        content: The file.
        path: Where it is, for messages.

    Returns:
        The pieces in the order of their ids.

    Raises:
        ValueError: If a line is none of a vocabulary, or ids are missing.

    Example:
        >>> read_yaml_vocabulary(b'</s>: 0\\n"\\\\x85": 1\\n":": 2\\n', Path("vocab.yml"))
        ['</s>', '\\x85', ':']
    """
    try:
        # Not by any other line break: a piece may be one.
        lines = content.decode().split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"`source` must have a vocabulary in UTF-8; copy it anew. Received: {path}, {error}"
        ) from error
    pieces: dict[int, str] = {}
    pending = ""
    for number, line in enumerate(lines, start=1):
        if line.startswith("? "):
            pending = f"{line}\n"
        elif line.strip() not in ("", "---"):
            entry = _ENTRY.fullmatch(pending + line)
            if entry is None or int(entry["id"]) in pieces:
                raise ValueError(
                    "`source` must have vocabularies with a piece and an id of its own in each "
                    f"line. Received: {line[:80]!r} in line {number} of {path}"
                )
            pieces[int(entry["id"])] = _piece(entry)
            pending = ""
    if sorted(pieces) != list(range(len(pieces))):
        raise ValueError(
            "`source` must have vocabularies with all ids from 0 on; copy it anew. Received: "
            f"{len(pieces)} ids up to {max(pieces, default=-1)} in {path}"
        )
    return [pieces[number] for number in range(len(pieces))]


def _piece(entry: re.Match[str]) -> str:
    if entry["double"] is not None:
        return _ESCAPE.sub(_unescaped, entry["double"])
    if entry["single"] is not None:
        return entry["single"].replace("''", "'")
    return entry["plain"]


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] not in "xuU":
        return _ESCAPES.get(code, code)
    number = int(code[1:], 16)
    if number > sys.maxunicode:
        raise ValueError(
            f"`source` must have vocabularies of characters; copy it anew. Received: {match[0]}"
        )
    return chr(number)
