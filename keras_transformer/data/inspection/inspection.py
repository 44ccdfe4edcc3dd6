"""The inspection of a corpus, from its first reading to what is told of it."""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from keras_transformer.console import progress_bar
from keras_transformer.data.corpora import Corpus
from keras_transformer.data.inspection.faults import Faults
from keras_transformer.data.inspection.findings import EXAMPLES, Example, Finding, Tally
from keras_transformer.data.inspection.identification import (
    Numbered,
    can_identify,
    find_languages,
)
from keras_transformer.data.inspection.languages import Languages
from keras_transformer.data.inspection.lengths import Lengths, SideLengths
from keras_transformer.data.inspection.repeats import Repeats, SentenceHashes, find_overlap
from keras_transformer.data.inspection.vocabulary import Tokens, against_vocabulary
from keras_transformer.data.preprocessing import PairPreprocessor
from keras_transformer.streams.chunking import chunked
from keras_transformer.streams.shuffling import sampled
from keras_transformer.text.normalization import changed_lines, describe_changes

# Pairs that are read at once; those of the sample; of these, those whose languages are identified.
_CHUNK, _SAMPLE, _IDENTIFIED = 5000, 50_000, 5000

_REPEATS = {
    "pair": ("repeated", "that were there before"),
    "source": ("repeated_source", "with a source that was there before"),
    "target": ("repeated_target", "with a target that was there before"),
}
_OVERLAPS = {
    "pair": ("overlap", "that are there as well"),
    "source": ("overlap_source", "with a source that is there"),
    "target": ("overlap_target", "with a target that is there"),
}


@dataclasses.dataclass(frozen=True)
class Inspection:
    """What a corpus has in it.

    Args:
        corpus: The corpus.
        pairs: How many it has.
        sample: How many of them were drawn, at random, for what is slow to look at.
        source: Lengths of the source side.
        target: Of the target side.
        findings: What was looked for, found or not.
        languages: For either side, how many lines of a part of the sample are in which language;
            empty if that was not asked for.
        normalization: For either side, what normalization changes in the sample: a part of a
            sentence; empty if that was not asked for.
        tokens: What a vocabulary makes of the sample, if there is one.
        hashes: Of the sentences, to compare with another corpus.
    """

    corpus: Corpus
    pairs: int
    sample: int
    source: SideLengths
    target: SideLengths
    findings: Sequence[Finding]
    languages: Sequence[Counter[str]]
    normalization: Sequence[str]
    tokens: Tokens | None
    hashes: SentenceHashes = dataclasses.field(repr=False)


def inspect_corpus(
    corpus: Corpus,
    languages: Sequence[str] = (),
    normalizers: Sequence[Any] = (),
    preprocess: PairPreprocessor | None = None,
    progress: bool = False,
) -> Inspection:
    """Looks at a corpus: how long its lines are, and what is wrong with it.

    It is read twice, and once more up to the last example of what is there twice. Memory holds a
    sample of it, and at most 32 bytes for each pair.

    Args:
        corpus: The corpus.
        languages: The codes of the source and the target language, to have the languages of a
            sample identified if py3langid is installed; none to leave that out.
        normalizers: For source and target a `SentencePieceProcessor` or what `make_normalizer`
            gives; none to leave normalization out.
        preprocess: Makes ids of pairs as in training; None without a vocabulary.
        progress: Show a bar.

    Raises:
        CorpusError: If the corpus is malformed.

    Example:
        >>> inspection = inspect_corpus(corpus)
        >>> inspection.pairs, inspection.source.words
        (8, 24)
        >>> {finding.name: finding.count for finding in inspection.findings if finding.count}
        {'repeated': 6, 'repeated_source': 6, 'repeated_target': 6}
    """
    sample, pairs = _sample(corpus, progress)
    sampled_pairs = [pair for _, pair in sample]
    lengths, hashes = Lengths(sampled_pairs), SentenceHashes()
    checks = (Faults(), lengths, Languages(sampled_pairs))
    with progress_bar(pairs, " pairs", progress) as bar:
        for chunk in chunked(corpus, _CHUNK):
            for check in checks:
                check.read(len(hashes) + 1, chunk)
            hashes.read(chunk)
            bar.update(len(chunk))
    findings = [tally.finding(of=pairs) for check in checks for tally in check.tallies()]
    findings += _repeats(corpus, hashes)
    identified, of_part = _identified(sample, languages)
    tallies, normalization = _normalized(sample, normalizers)
    tokens = None
    if preprocess is not None:
        tokens, of_vocabulary = against_vocabulary(sample, preprocess)
        tallies += of_vocabulary
    findings += [*of_part, *(tally.finding(of=len(sample)) for tally in tallies)]
    return Inspection(
        corpus,
        pairs,
        len(sample),
        *lengths.sides(),
        findings,
        identified,
        normalization,
        tokens,
        hashes,
    )


def find_overlaps(of: Inspection, known: Inspection) -> list[Finding]:
    """Finds what of a corpus is in another one.

    Args:
        of: The corpus, which memory holds by and by; such as what a model is tested on.
        known: The other one, such as what the model is trained on.

    Returns:
        The pairs, sources and targets of `of` that are there as well, by their lines in `of`, each
        with a note on where.

    Example:
        >>> inspection = inspect_corpus(corpus)
        >>> [finding.count for finding in find_overlaps(inspection, inspection)]
        [8, 8, 8]
    """
    found = {kind: find_overlap(of.hashes, known.hashes, kind, EXAMPLES) for kind in _OVERLAPS}
    return _with_examples(found, _OVERLAPS, of.corpus, of.pairs, "in line {} there")


def _sample(corpus: Corpus, progress: bool) -> tuple[list[Numbered], int]:
    """Draws a sample, with the numbers of its lines, and counts the pairs."""
    read = 0
    with progress_bar(None, " pairs sampled", progress) as bar:

        def numbered() -> Iterator[Numbered]:
            nonlocal read
            for chunk in chunked(corpus, _CHUNK):
                yield from enumerate(chunk, read + 1)
                read += len(chunk)
                bar.update(len(chunk))

        sample = sampled(numbered(), _SAMPLE, np.random.default_rng(0))
    return sorted(sample), read


def _repeats(corpus: Corpus, hashes: SentenceHashes) -> list[Finding]:
    found = {kind: hashes.repeated(kind, EXAMPLES) for kind in _REPEATS}
    return _with_examples(found, _REPEATS, corpus, len(hashes), "as in line {}")


def _with_examples(
    found: Mapping[str, Repeats],
    names: Mapping[str, tuple[str, str]],
    corpus: Corpus,
    pairs: int,
    note: str,
) -> list[Finding]:
    """Makes findings of places in a corpus, which is read up to the last of them."""
    wanted = {index for repeats in found.values() for index, _ in repeats.places}
    lines = enumerate(itertools.islice(corpus, 1 + max(wanted, default=-1)))
    texts = {index: pair for index, pair in lines if index in wanted}
    findings = []
    for kind, (total, places) in found.items():
        examples = [
            Example(index + 1, *texts[index], note.format(f"{other + 1:,}"))
            for index, other in places
        ]
        findings.append(Finding(*names[kind], total, pairs, examples))
    return findings


def _identified(
    sample: Sequence[Numbered], languages: Sequence[str]
) -> tuple[Sequence[Counter[str]], list[Finding]]:
    """Tells the languages of a part of the sample, if that is wanted and can be done."""
    if not languages or not can_identify():
        return (), []
    part = sample[:: max(1, -(-len(sample) // _IDENTIFIED))]
    counts, tally = find_languages(part, languages)
    return counts, [tally.finding(of=len(part))]


def _normalized(
    sample: Sequence[Numbered], normalizers: Sequence[Any]
) -> tuple[list[Tally], list[str]]:
    """Tells what normalization changes on either side."""
    tallies, described = [], []
    for side, normalizer in enumerate(normalizers):
        name, lines = ("source", "target")[side], [pair[side] for _, pair in sample]
        tally = Tally(f"normalized_{name}", f"with a {name} that normalization changes")
        for place, _, after in changed_lines(normalizer, lines):
            tally.add(*sample[place], f"becomes: {after}")
        tallies.append(tally)
        described.append(describe_changes(normalizer, lines))
    return tallies, described
