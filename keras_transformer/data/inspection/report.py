"""An inspection for people, in lines of 79 characters or in a sentence or two, and for programs."""

import dataclasses
import itertools
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from keras_transformer.data.corpora import Corpus
from keras_transformer.data.inspection.findings import Example, Finding
from keras_transformer.data.inspection.inspection import Inspection, inspect_corpus
from keras_transformer.data.inspection.lengths import MOST_WORDS, QUANTILES, SideLengths

_WIDTH = 79
# Rows of the histogram, and the width of its longest bar.
_ROWS, _BAR = 8, 20
_SIDES = ("source", "target")
# What every corpus has, and what the preparation of a run tells by itself.
_USUAL = {"repeated_source", "repeated_target"}


def as_text(inspection: Inspection) -> str:
    """Returns what was seen of a corpus: its lengths, what was found, and what was not.

    Example:
        >>> from keras_transformer.data.inspection import inspect_corpus
        >>> as_text(inspect_corpus(corpus)).splitlines()[0]
        'pairs: 8 pairs'
    """
    parts = [f"{inspection.corpus.name}: {inspection.pairs:,} pairs"]
    parts += ["\n".join(_lengths(inspection)), findings_as_text(inspection.findings)]
    parts += ["\n".join(_of_sample(inspection))]
    return "\n\n".join(filter(None, parts))


def findings_as_text(findings: Sequence[Finding]) -> str:
    """Returns findings with their examples, and in the end what was looked for and not found.

    Example:
        >>> print(findings_as_text([Finding("empty", "empty on a side", 0, of=8)]))
        Not found: empty on a side.
    """
    lines = []
    for finding in findings:
        if finding.count:
            head = f"{finding.count:>11,}  {finding.share:>7.2%}  pairs {finding.description}"
            lines += [head, *map(_example, finding.examples)]
    absent = [finding.description for finding in findings if not finding.count]
    if absent:
        lines += textwrap.wrap(f"Not found: {'; '.join(absent)}.", _WIDTH, subsequent_indent="  ")
    return "\n".join(lines)


def in_short(inspection: Inspection) -> str:
    """Returns what was seen in a sentence or two, for the beginning of a log.

    Example:
        >>> from keras_transformer.data.inspection import inspect_corpus
        >>> in_short(inspect_corpus(corpus))
        '3.0 and 3.0 words a line. Pairs that were there before: 6 (75.00%), as in line 3.'
    """
    found = [
        f"{finding.description}: {finding.count:,} ({finding.share:.2%}), as in line "
        f"{finding.examples[0].line:,}"
        for finding in inspection.findings
        if finding.count and finding.name not in _USUAL
    ]
    words = " and ".join(f"{side.mean:.1f}" for side in (inspection.source, inspection.target))
    told = f"Pairs {'; '.join(found)}." if found else "Nothing odd."
    return f"{words} words a line. {told}"


def first_impression(corpus: Corpus, pairs: int = 10_000) -> str:
    """Looks at the first pairs of a corpus, for about a second, and says what was seen.

    Example:
        >>> first_impression(corpus, pairs=1)
        'The first 1 pairs of pairs: 3.0 and 3.0 words a line. Nothing odd.'
    """
    part = Corpus(corpus.name, lambda: itertools.islice(corpus, pairs))
    inspection = inspect_corpus(part)
    return f"The first {inspection.pairs:,} pairs of {corpus.name}: {in_short(inspection)}"


def as_dict(of: Inspection | Finding) -> dict[str, Any]:
    """Returns an inspection, or one of its findings, as plain values.

    Example:
        >>> as_dict(Finding("empty", "empty on a side", 2, of=8))["share"]
        0.25
    """
    if isinstance(of, Finding):
        examples = [example._asdict() for example in of.examples]
        return {**dataclasses.asdict(of), "share": of.share, "examples": examples}
    tokens = None if of.tokens is None else of.tokens._asdict()
    return {
        "name": of.corpus.name,
        "pairs": of.pairs,
        "sample": of.sample,
        **{side: _side_as_dict(getattr(of, side)) for side in _SIDES},
        "tokens": tokens,
        "languages": dict(zip(_SIDES, map(dict, of.languages), strict=False)),
        "normalization": dict(zip(_SIDES, of.normalization, strict=False)),
        "findings": [as_dict(finding) for finding in of.findings],
    }


def _side_as_dict(side: SideLengths) -> dict[str, Any]:
    quantiles = dict(zip(map(str, QUANTILES), side.quantiles, strict=True))
    return {**dataclasses.asdict(side), "mean": side.mean, "quantiles": quantiles}


def _lengths(inspection: Inspection) -> Iterator[str]:
    sides = (inspection.source, inspection.target)
    rows = {
        "words": [f"{side.words:,}" for side in sides],
        "characters": [f"{side.characters:,}" for side in sides],
        "words a line, mean": [f"{side.mean:.1f}" for side in sides],
    }
    for index, share in enumerate(QUANTILES):
        rows[f"  {share:.0%} have at most"] = [str(side.quantiles[index]) for side in sides]
    longest = [len(side.lines) - 1 for side in sides]
    rows["  longest"] = [f"{n} or more" if n == MOST_WORDS else str(n) for n in longest]
    if inspection.tokens is not None:
        tokens = inspection.tokens
        rows["tokens a line, mean"] = [f"{mean:.1f}" for mean in (tokens.source, tokens.target)]
    yield f"{'':<24}{'source':>{_BAR}}{'target':>{_BAR + 4}}"
    for name, (source, target) in rows.items():
        yield f"{name:<24}{source:>{_BAR}}{target:>{_BAR + 4}}"
    yield from _histogram(sides)


def _histogram(sides: Sequence[SideLengths]) -> Iterator[str]:
    """Draws the lengths that lines have, up to those that nearly all have at most."""
    most = max(side.quantiles[-1] for side in sides)
    step = max(1, -(-(most + 1) // _ROWS))
    counts = [
        [sum(side.lines[start : start + step]) for start in range(0, most + 1, step)]
        for side in sides
    ]
    largest = max(1, *map(max, counts))
    for row, pair in enumerate(zip(*counts, strict=True)):
        words = f"{row * step}-{(row + 1) * step - 1}" if step > 1 else str(row)
        bars = ("#" * round(_BAR * count / largest) for count in pair)
        source, target = bars
        yield f"  {words + ' words':<22}{source:<{_BAR}}    {target}".rstrip()


def _of_sample(inspection: Inspection) -> Iterator[str]:
    """Tells what a sample tells of normalization, languages and characters."""
    for name, described in zip(_SIDES, inspection.normalization, strict=False):
        if described:
            yield from _wrapped(f"Normalization changes, of the {name}: {described}.")
    for name, languages in zip(_SIDES, inspection.languages, strict=False):
        most = ", ".join(
            f"{code} {count / languages.total():.1%}" for code, count in languages.most_common(4)
        )
        yield from _wrapped(f"Languages of the {name}, by py3langid: {most or 'not sure'}.")
    if inspection.tokens is not None and inspection.tokens.unknown:
        most = ", ".join(
            f"{_shown(one)} U+{ord(one):04X} ({count:,})"
            for one, count in inspection.tokens.unknown.most_common(10)
        )
        yield from _wrapped(f"Characters that the vocabulary lacks: {most}.")
    if inspection.sample < inspection.pairs:
        yield from _wrapped(
            f"Normalization, languages and tokens are those of {inspection.sample:,} pairs, drawn "
            "at random."
        )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _example(example: Example) -> str:
    """Shows a pair in two lines, and what is to be said of it in another one."""
    start = f"{'line ' + format(example.line, ','):>18}  "
    texts = [example.source, example.target, *([f"({example.note})"] if example.note else [])]
    shown = (_cut(text, _WIDTH - len(start)) for text in texts)
    return start + f"\n{'':{len(start)}}".join(shown)


def _cut(text: str, room: int) -> str:
    shown = _shown(text)
    return shown if len(shown) <= room else shown[: room - 3] + "..."


def _shown(text: str) -> str:
    """Returns a text with the codes of what cannot be seen."""
    return "".join(one if one.isprintable() else f"<{ord(one):02x}>" for one in text)
