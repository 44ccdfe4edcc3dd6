"""Text and its translations become a corpus to train on: two files, line for line.

Which side is genuine does not matter to the files: each is called by its language. Translations are
appended to a file that is not there by its name until it is whole, so what a kill leaves is gone on
with.
"""

import contextlib
import glob
import hashlib
import itertools
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from keras_transformer.data.corpora import read_lines
from keras_transformer.files import atomic_file, lock
from keras_transformer.translation.results import AnyTranslator
from keras_transformer.translation.stream import translate_stream

# Lines that are translated at a stretch, as a number of batches; a kill loses no more of them.
_BATCHES = 20
_BREAK = re.compile("[\n\r]")


def write_synthetic_corpus(
    translator: AnyTranslator,
    lines: Iterable[str],
    prefix: str | os.PathLike[str],
    languages: tuple[str, str],
    origin: Any,
) -> None:
    """Writes lines and their translations as the two files of a corpus.

    Args:
        translator: Translates the lines. Samples follow from their places, also after a break.
        lines: The lines; a break within one becomes a space.
        prefix: What the names of the files begin with.
        languages: Codes of the lines' and the translations' languages, which end the names. The
            translations appear last, so a corpus of which they are there is whole.
        origin: What decides on the translations, as JSON's values. What is left of a call goes into
            one with the same lines and origin.

    Raises:
        OSError: If a file cannot be written.

    Example:
        >>> write_synthetic_corpus(translator, ["a dog", "a cat"], "more", ("en", "de"), origin=[])
        >>> Path("more.en").read_text(), Path("more.de").read_text().count("\\n")
        ('a dog\\na cat\\n', 2)

    Reference:
        "Improving Neural Machine Translation Models with Monolingual Data", arXiv 1511.06709.
    """
    text, translations = (Path(f"{os.fspath(prefix)}.{language}") for language in languages)
    text.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(json.dumps(origin, sort_keys=True, default=str).encode())
    with contextlib.ExitStack() as stack:
        with atomic_file(text) as file:
            for line in lines:
                encoded = _BREAK.sub(" ", line).encode() + b"\n"
                digest.update(encoded)
                file.write(encoded)
            part = translations.with_name(f".{translations.name}.{digest.hexdigest()[:16]}.part")
            output = stack.enter_context(_claimed(part, translations))
        done = _whole_lines(output)
        rest = (line.encode() for line in itertools.islice(read_lines(text), done, None))
        window = _BATCHES * translator.batch_size
        translate_stream(translator.nbest, rest, output, window, start=done)
        os.fsync(output.fileno())
        os.rename(part, translations)  # Before another process can claim it.


@contextlib.contextmanager
def _claimed(part: Path, translations: Path) -> Iterator[BinaryIO]:
    """Opens a part of the translations, if no other process writes one, of whatever text.

    Of two processes each claims its own first, so that at least one sees the other's.
    """
    error = BlockingIOError(
        "`prefix` must be of a corpus that no other process writes. Received: "
        f"{translations.with_suffix('')}"
    )
    with open(part, "a+b") as file:
        try:
            lock(file.fileno())
        except BlockingIOError:
            raise error from None
        parts = {*part.parent.glob(f".{glob.escape(translations.name)}.*.part")}
        if any(map(_is_claimed, parts - {part})):
            if not part.stat().st_size:
                part.unlink()
            raise error
        yield file


def _is_claimed(part: Path) -> bool:
    # One that has been renamed meanwhile is nobody's any more.
    with contextlib.suppress(FileNotFoundError), open(part, "rb") as file:
        try:
            lock(file.fileno())
        except BlockingIOError:
            return True
    return False


def _whole_lines(file: Any) -> int:
    """Counts the lines that were written to their ends, and cuts off the beginning of another."""
    file.seek(0)
    lines = length = 0
    for line in file:
        if line.endswith(b"\n"):
            lines, length = lines + 1, length + len(line)
    file.truncate(length)
    file.seek(length)
    return lines
