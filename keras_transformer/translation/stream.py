"""Lines in, lines out: translating a stream.

What has come is answered when the input pauses; as long as more is there, lines are gathered into
windows, in which translating is fastest.
"""

import functools
import os
import select
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

from keras_transformer.translation.results import Translation

# Seconds. A file and a program that writes as fast as it can never keep a reader waiting this long.
_PAUSE = 0.01


def translate_stream(
    nbest: Callable[..., list[list[Translation]]],
    lines: Iterable[bytes | None],
    output: BinaryIO,
    window: int,
    with_scores: bool = False,
    start: int = 0,
) -> None:
    """Translates lines as they come, and writes one line for each, in their order.

    Args:
        nbest: Takes lines, whether to show `progress`, and as `start` how many lines there were
            before; gives for each line its translations, the best first.
        lines: Lines with or without their line ends, and None where the input pauses, as
            `lines_as_they_come` gives them.
        output: Gets the translations, flushed after each window; several of a line are separated
            by tabs.
        window: Most lines that are translated at once.
        with_scores: Put the log-probability and a tab before each translation.
        start: Lines of the whole input that were before these.

    Example:
        >>> import io
        >>> output = io.BytesIO()
        >>> translate_stream(translator.nbest, io.BytesIO(b"a dog\\n\\n"), output, window=8)
        >>> output.getvalue().count(b"\\n")
        2
    """
    for batch in windows(lines, window):
        for translations in nbest(batch, progress=len(batch) > 1, start=start):
            fields = []
            for text, log_prob in translations:
                fields += [f"{log_prob:.4f}"] if with_scores else []
                # A piece of a vocabulary with bytes may break a line or a field.
                fields.append(" ".join(text.split()))
            output.write("\t".join(fields).encode() + b"\n")
        output.flush()
        start += len(batch)


def lines_as_they_come(stream: BinaryIO) -> Iterator[bytes | None]:
    """Reads lines, and tells when no more of them are there for now.

    Args:
        stream: A file, a pipe or a terminal, of which nothing was read yet.

    Yields:
        Lines without their ends, and None where the input pauses.

    Raises:
        OSError: If it cannot be read.

    Example:
        >>> import io
        >>> list(lines_as_they_come(io.BytesIO(b"a dog")))
        [b'a dog']
    """
    try:
        descriptor = stream.fileno()
    except OSError:  # In memory.
        yield from stream
        return
    wait = functools.partial(select.select, [descriptor], [], [])
    begun: list[bytes] = []  # What has come of a line.
    while True:
        if wait(_PAUSE) == ([], [], []):
            yield None
            wait()
        chunk = os.read(descriptor, 1 << 16)
        if not chunk:
            break
        end, *others = chunk.split(b"\n")
        begun.append(end)
        for line in others:
            yield b"".join(begun)
            begun = [line]
    if any(begun):
        yield b"".join(begun)


def windows(lines: Iterable[bytes | None], most: int) -> Iterator[list[bytes]]:
    """Gathers lines, without their ends, until there are `most` of them or the input pauses.

    Example:
        >>> list(windows([b"a\\n", b"b\\n", None, b"c"], most=8))
        [[b'a', b'b'], [b'c']]
    """
    batch = []
    for line in lines:
        if line is not None:
            batch.append(line.rstrip(b"\r\n"))
        if batch and (line is None or len(batch) == most):
            yield batch
            batch = []
    if batch:
        yield batch
