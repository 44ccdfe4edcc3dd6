"""Language tags: a text of a model with several target languages begins with the one it wants.

`>>fra<< A dog.` asks for French. A tag is a piece of the vocabulary by itself, stands before all
others, and is cut off before a text is segmented.

Reference:
    "OPUS-MT - Building open translation services for the World", EAMT 2020.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tensorflow as tf

_TAG = re.compile(r">>(.+)<<")
# A text may hold bytes that are no characters.
_AT_START = r"(?s)\A(>>.*?<<)?\C*\z"


def languages_of_tags(pieces: Sequence[str]) -> dict[str, int]:
    """Finds the language tags of a vocabulary.

    Args:
        pieces: The pieces in the order of their ids.

    Returns:
        For each language the id of its tag.

    Example:
        >>> languages_of_tags(["<pad>", "<unk>", "<s>", "</s>", ">>fra<<", "▁a"])
        {'fra': 4}
    """
    found = ((_TAG.fullmatch(piece), number) for number, piece in enumerate(pieces))
    return {match[1]: number for match, number in found if match}


def tag_of(language: str) -> str:
    """Returns the tag that asks for a language.

    Example:
        >>> tag_of("fra")
        '>>fra<<'
    """
    return f">>{language}<<"


def cut_off_tags(text: "tf.Tensor") -> "tuple[tf.Tensor, tf.Tensor]":
    """Parts texts from the tags that they begin with, in graph.

    Args:
        text: string `[batch]`.

    Returns:
        The tags, "" where there is none, and the rest, both string `[batch]`.

    Example:
        >>> tags, rest = cut_off_tags(tf.constant([">>fra<< A dog.", "A >>dog<<."]))
        >>> tags.numpy().tolist(), rest.numpy().tolist()
        ([b'>>fra<<', b''], [b' A dog.', b'A >>dog<<.'])
    """
    import tensorflow as tf

    tags = tf.strings.regex_replace(text, _AT_START, r"\1")
    length = tf.strings.length(tags)
    return tags, tf.strings.substr(text, length, tf.strings.length(text) - length)
