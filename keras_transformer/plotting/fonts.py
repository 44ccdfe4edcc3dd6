"""Fonts for text of any script: matplotlib's own, then what the system has, then code points."""

import functools
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib
from matplotlib.font_manager import findfont, fontManager, get_font

from keras_transformer.console import say

# matplotlib brings it along: Latin, Greek, Cyrillic, Hebrew, Arabic and more, but no Chinese.
FAMILY = "DejaVu Sans"


def readable(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Makes texts such that a font has each of their characters.

    A character that no font of the system has is shown as its code point, and so is a control
    character. The former is said once.

    Args:
        texts: The texts.

    Returns:
        The texts to show, and the families of fonts that have their characters together.

    Example:
        >>> readable(["▁Hund", "a\\tb"])
        (['▁Hund', 'aU+0009b'], ['DejaVu Sans'])
    """
    texts = list(texts)
    characters = {character for text in texts for character in text}
    control = {one for one in characters if unicodedata.category(one) == "Cc"}
    families, missing = _families(frozenset(characters - control))
    _tell(missing)
    hidden = {ord(character): f"U+{ord(character):04X}" for character in control | missing}
    return [text.translate(hidden) for text in texts], [FAMILY, *families]


@functools.cache
def _families(characters: frozenset[str]) -> tuple[Sequence[str], frozenset[str]]:
    """Returns what families to add for characters, and the characters that none has."""
    missing = {one for one in characters if ord(one) not in _characters(findfont(FAMILY))}
    families: list[str] = []
    # Of matplotlib's other fonts, one has a box for every character and some are for formulas.
    own = Path(matplotlib.get_data_path())
    for font in sorted(fontManager.ttflist, key=lambda font: (font.weight != 400, font.name)):
        if missing and font.style == "normal" and own not in Path(font.fname).parents:
            found = {one for one in missing if ord(one) in _characters(font.fname)}
            families += [font.name] if found else []
            missing -= found
    return families, frozenset(missing)


@functools.lru_cache(maxsize=64)
def _characters(path: str) -> frozenset[int]:
    return frozenset(get_font(path).get_charmap())


# Characters that were said to be missing.
_told: set[str] = set()


def _tell(missing: frozenset[str]) -> None:
    new = sorted(missing - _told)
    if not new:
        return
    _told.update(new)
    shown = ", ".join(f"U+{ord(character):04X}" for character in new[:5])
    more = ", ..." if len(new) > 5 else ""
    say(
        f"No font of this system has {len(new)} of the characters ({shown}{more}); they are shown "
        "as code points. Install a font of their script, such as one of the Noto family.",
        to="stderr",
    )
