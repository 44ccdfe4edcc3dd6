"""Tokenizers in a folder: `joint.model`, or `source.model` and `target.model`.

That of a model that reads text alone is `vocab.txt`, of WordPiece, or `pieces.model`.

Beside these stands `source.spm` or `target.spm` where another model than the vocabulary cuts text.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keras_transformer.text.subword_pieces import MODEL_FILE, SubwordPieces
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.wordpiece import VOCABULARY_FILE, WordPieceTokenizer

_JOINT = "joint.model"
_SIDES = ("source.model", "target.model")


def save_tokenizers(folder: Path, tokenizers: Sequence[Any]) -> None:
    """Writes the tokenizers of source and target; one file if they are the same object.

    Example:
        >>> save_tokenizers(Path("."), (tokenizer, tokenizer))
        >>> Path("joint.model").exists()
        True
    """
    source, target = tokenizers
    if isinstance(source, WordPieceTokenizer | SubwordPieces):
        source.save(folder)
        return
    if source is target:
        source.save(folder / _JOINT)
        return
    for name, tokenizer in zip(_SIDES, tokenizers, strict=True):
        tokenizer.save(folder / name)


def load_tokenizers(folder: Path) -> tuple[Any, Any]:
    """Reads what `save_tokenizers` wrote; one object twice if it is one file.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If a file is no SentencePiece model, or no vocabulary.

    Example:
        >>> save_tokenizers(Path("."), (tokenizer, tokenizer))
        >>> source, target = load_tokenizers(Path("."))
        >>> source is target
        True
    """
    if (folder / VOCABULARY_FILE).is_file():
        words = WordPieceTokenizer.load(folder / VOCABULARY_FILE)
        return words, words
    if (folder / MODEL_FILE).is_file():
        pieces = SubwordPieces.load(folder / MODEL_FILE)
        return pieces, pieces
    if (folder / _JOINT).is_file():
        joint = SubwordTokenizer.load(folder / _JOINT)
        return joint, joint
    source, target = (SubwordTokenizer.load(folder / name) for name in _SIDES)
    return source, target
