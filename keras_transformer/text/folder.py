"""Tokenizers in a folder: `joint.model`, or `source.model` and `target.model`.

Beside these stands `source.spm` or `target.spm` where another model than the vocabulary cuts text.
"""

from collections.abc import Sequence
from pathlib import Path

from keras_transformer.text.tokenizer import SubwordTokenizer

_JOINT = "joint.model"
_SIDES = ("source.model", "target.model")


def save_tokenizers(folder: Path, tokenizers: Sequence[SubwordTokenizer]) -> None:
    """Writes the tokenizers of source and target; one file if they are the same object.

    Example:
        >>> save_tokenizers(Path("."), (tokenizer, tokenizer))
        >>> Path("joint.model").exists()
        True
    """
    source, target = tokenizers
    if source is target:
        source.save(folder / _JOINT)
        return
    for name, tokenizer in zip(_SIDES, tokenizers, strict=True):
        tokenizer.save(folder / name)


def load_tokenizers(folder: Path) -> tuple[SubwordTokenizer, SubwordTokenizer]:
    """Reads what `save_tokenizers` wrote; one object twice if it is one file.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If a file is no SentencePiece model.

    Example:
        >>> save_tokenizers(Path("."), (tokenizer, tokenizer))
        >>> source, target = load_tokenizers(Path("."))
        >>> source is target
        True
    """
    if (folder / _JOINT).is_file():
        joint = SubwordTokenizer.load(folder / _JOINT)
        return joint, joint
    source, target = (SubwordTokenizer.load(folder / name) for name in _SIDES)
    return source, target
