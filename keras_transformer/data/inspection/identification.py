"""Which language lines are in, by py3langid: 139 languages, a model of 5 MB that it brings along.

An optional package. It is asked about a sample alone, as it reads a few thousand lines a second.
"""

import functools
import importlib.util
from collections import Counter
from collections.abc import Sequence
from typing import Any

from keras_transformer.data.corpora import LinePair
from keras_transformer.data.inspection.findings import Tally
from keras_transformer.extras import needed

# Characters of a line that can be told by, and the probability from which on it is.
_LONG_ENOUGH, _SURE = 20, 0.9

Numbered = tuple[int, LinePair]


def can_identify() -> bool:
    """Returns whether py3langid is installed.

    Example:
        >>> isinstance(can_identify(), bool)
        True
    """
    return importlib.util.find_spec("py3langid") is not None


def find_languages(
    sample: Sequence[Numbered], expected: Sequence[str]
) -> tuple[list[Counter[str]], Tally]:
    """Tells the languages of a sample.

    Args:
        sample: Pairs with their lines.
        expected: The codes of the source and the target language. One that py3langid does not know
            is taken for the language that most lines of the side are in.

    Returns:
        For either side how many lines are in which language, of those that are long enough to be
        sure of; and the pairs of which a side is in another one than it should be.

    Raises:
        ImportError: If py3langid is not installed.
    """
    sides = [_languages([pair[side] for _, pair in sample]) for side in (0, 1)]
    counts = [Counter(filter(None, languages)) for languages in sides]
    wanted = [
        code if code in identifier().labels else next(iter(found.most_common(1)), ("", 0))[0]
        for code, found in zip(expected, counts, strict=True)
    ]
    tally = Tally("other_language", "in another language, by py3langid")
    for (line, pair), *found in zip(sample, *sides, strict=True):
        names = zip(("source", "target"), found, wanted, strict=True)
        if others := [f"{name}: {is_}" for name, is_, should in names if is_ and is_ != should]:
            tally.add(line, pair, ", ".join(others))
    return counts, tally


def _languages(lines: Sequence[str]) -> list[str]:
    """Returns the language of each line, "" where that is not sure."""
    classify = identifier().classify

    def language(line: str) -> str:
        if len(line) < _LONG_ENOUGH:
            return ""
        code, probability = classify(line)
        return code if probability >= _SURE else ""

    return list(map(language, lines))


@functools.cache
def identifier() -> Any:
    """Returns what tells languages apart, which takes a moment to load; one for all who ask.

    Raises:
        ImportError: If py3langid is not installed.

    Example:
        >>> code, probability = identifier().classify("Der alte Mann liest ein gutes Buch.")
        >>> code
        'de'
    """
    with needed("Finding the language of a text", "py3langid", "languages"):
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
