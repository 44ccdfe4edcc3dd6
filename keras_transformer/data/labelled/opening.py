"""Examples with labels, found by the name of their corpus.

A corpus is one of: `phrasebook:KIND[:SPLIT[:SIZE]]` (built in), `tfds:NAME[:SPLIT]` (of TensorFlow
Datasets, such as `tfds:glue/sst2`), or a file: texts in `FILE.tsv`, questions in `FILE.json`, and
words in any other one. Files may be compressed by gzip.
"""

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import phrasebook
from keras_transformer.data.corpora import CorpusError
from keras_transformer.data.labelled.conll import read_conll
from keras_transformer.data.labelled.examples import (
    Answer,
    Examples,
    LabelledText,
    Question,
    TaggedWords,
)
from keras_transformer.data.labelled.squad import read_squad
from keras_transformer.data.labelled.tfds import read_tfds
from keras_transformer.data.labelled.tsv import read_tsv

# Of questions in `phrasebook:open_questions`, those that have no answer.
_UNANSWERABLE = 0.33


def open_texts(spec: str, pairs: bool = False, numbers: bool = False) -> Examples[LabelledText]:
    """Opens labelled texts.

    Args:
        spec: The corpus.
        pairs: Whether there are two texts to a label.
        numbers: Whether labels are numbers.

    Raises:
        CorpusError: If the corpus is missing, empty or malformed.

    Example:
        >>> len(open_texts("phrasebook:tense:test:10"))
        10
    """
    kinds = [kind for kind in phrasebook.LABELLED if (kind in phrasebook.PAIRS) == pairs]

    def built_in(spec: str) -> Iterable[LabelledText]:
        if numbers:
            raise CorpusError(
                "With `regression` a corpus must have numbers for labels, and those that are built "
                "in have words; leave the option out, or give a FILE.tsv or tfds:NAME with "
                f"numbers. Received: {spec!r}"
            )
        return (LabelledText(*one) for one in _built_in(spec, kinds))

    return _opened(
        spec,
        built_in=built_in,
        of_tfds=lambda spec: read_tfds(spec, pairs, numbers),
        of_file=lambda path: read_tsv(path, pairs, numbers),
        endings=(".tsv",),
        unit="line",
    )


def open_questions(spec: str) -> Examples[Question]:
    """Opens questions about texts; `phrasebook:open_questions` has some without an answer.

    Raises:
        CorpusError: If the corpus is missing, empty or malformed.

    Example:
        >>> question, context, [answer] = open_questions("phrasebook:questions:test:1").rows[0]
        >>> answer.text in context
        True
    """

    def built_in(spec: str) -> Iterable[Question]:
        for question, context, answer, start in _built_in(spec, ["questions", "open_questions"]):
            yield Question(question, context, (Answer(answer, start),) if answer else ())

    return _opened(spec, built_in=built_in, of_file=read_squad, endings=(".json",))


def open_words(spec: str) -> Examples[TaggedWords]:
    """Opens sentences of tagged words.

    Raises:
        CorpusError: If the corpus is missing, empty or malformed.

    Example:
        >>> open_words("phrasebook:words:test:1").rows[0].tags[-1]
        'PUNCT'
    """
    return _opened(
        spec,
        built_in=lambda spec: (TaggedWords(*one) for one in _built_in(spec, ["words"])),
        of_file=read_conll,
        unit="sentence",
    )


def _opened(
    spec: str,
    built_in: Callable[[str], Iterable[Any]],
    of_file: Callable[[Path], Iterable[Any]],
    of_tfds: Callable[[str], Iterable[Any]] | None = None,
    endings: tuple[str, ...] = ("",),
    unit: str = "example",
) -> Examples[Any]:
    scheme = spec.partition(":")[0]
    if scheme == "phrasebook":
        return Examples(spec, tuple(built_in(spec)))
    if scheme == "tfds" and of_tfds is not None:
        return Examples(spec, tuple(of_tfds(spec)))
    path = Path(os.path.expanduser(spec))
    if not path.is_file() or not spec.removesuffix(".gz").endswith(endings):
        named = "phrasebook:KIND" if of_tfds is None else "phrasebook:KIND, tfds:NAME"
        raise CorpusError(
            f"A corpus for this task must be {named} or a file that is there"
            f"{' and ends in ' + ' or '.join(endings) if any(endings) else ''}. Received: {spec!r}"
        )
    return Examples(spec, tuple(of_file(path)), unit)


def _built_in(spec: str, kinds: Sequence[str]) -> Sequence[Any]:
    _, kind, split, size, *more = (*spec.split(":"), "", "", "")
    split = split or "train"
    known = kind in kinds and split in phrasebook.SPLITS and not any(more)
    if not known or not (size.isdecimal() or not size):
        raise CorpusError(
            'A built-in corpus for this task must be "phrasebook:KIND:SPLIT:SIZE", of which split '
            f"and size may be left out, with a kind of {kinds} and a split of "
            f"{list(phrasebook.SPLITS)}. Received: {spec!r}"
        )
    return _drawn(kind, split, int(size) if size else None)


# A run asks for its corpora several times, and to draw one can take seconds.
@functools.lru_cache(maxsize=8)
def _drawn(kind: str, split: str, size: int | None) -> Sequence[Any]:
    match kind:
        case "questions":
            return phrasebook.questions(split, size=size)
        case "open_questions":
            return phrasebook.questions(split, size=size, unanswerable=_UNANSWERABLE)
        case "words":
            return phrasebook.tagged(split, size=size)
        case _:
            return phrasebook.labelled(kind, split, size=size)
