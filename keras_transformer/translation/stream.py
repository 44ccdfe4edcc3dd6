"""Lines in, lines out: translating a stream."""

import itertools
from collections.abc import Callable, Iterable
from typing import BinaryIO

from keras_transformer.translation.results import Translation


def translate_stream(
    nbest: Callable[..., list[list[Translation]]],
    lines: Iterable[bytes],
    output: BinaryIO,
    window: int,
    with_scores: bool = False,
) -> None:
    """Translates lines as they come, and writes one line for each, in their order.

    Args:
        nbest: Takes lines, and whether to show `progress`; gives for each line its translations,
            the best first.
        lines: Lines with or without their line ends.
        output: Gets the translations, flushed after each window; several of a line are separated
            by tabs.
        window: Lines that are translated at once.
        with_scores: Put the log-probability and a tab before each translation.

    Example:
        >>> import io
        >>> output = io.BytesIO()
        >>> translate_stream(translator.nbest, io.BytesIO(b"a dog\\n\\n"), output, window=8)
        >>> output.getvalue().count(b"\\n")
        2
    """
    lines = iter(lines)
    while batch := [line.rstrip(b"\r\n") for line in itertools.islice(lines, window)]:
        for translations in nbest(batch, progress=window > 1):
            fields = []
            for text, log_prob in translations:
                fields += [f"{log_prob:.4f}"] if with_scores else []
                # A piece of a vocabulary with bytes may break a line or a field.
                fields.append(" ".join(text.split()))
            output.write("\t".join(fields).encode() + b"\n")
        output.flush()
