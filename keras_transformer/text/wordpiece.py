"""WordPiece, BERT's tokenizer, which runs inside the graph.

Text is cleaned, split at white space, at punctuation and around Chinese characters, and each word
is cut into the longest pieces of the vocabulary from its left to its right; a word that is not made
of them is one unknown piece. TF Text's `FastBertTokenizer` does so.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_transformer.files import write_atomically
from keras_transformer.text.vocabulary import PAD_ID

# What a vocabulary must have; padding is 0 throughout this package.
PAD, UNK, CLS, SEP, MASK = SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# What the pieces begin with that go on with a word.
CONTINUES = "##"

# The files of a tokenizer, as Hugging Face's tokenizers call them.
VOCABULARY_FILE, OPTIONS_FILE = "vocab.txt", "tokenizer_config.json"


class WordPieceTokenizer(tf.Module):
    """Strings to pieces of words, by a vocabulary of BERT's kind.

    Any byte string is an input. Special pieces come from no text: their brackets are punctuation. A
    control character within a word ends it, where BERT's own code leaves the character out.

    Args:
        pieces: The vocabulary, `[PAD]` first, with the other special pieces anywhere in it.
        lowercase: Whether text becomes lower-case and loses its accents, as that of uncased models.
        name: Name of the module.

    Attributes:
        vocab_size: Number of pieces.
        cls_id: Id of the piece before a text.
        sep_id: Id of the piece after a text.
        mask_id: Id of the piece in place of a hidden one.

    Raises:
        ValueError: If a special piece is missing, `[PAD]` is not the first, or one is there twice.

    Example:
        >>> pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s"]
        >>> tokenizer = WordPieceTokenizer(pieces)
        >>> tokenizer.tokenize(["The cats", "dogs"]).to_list()
        [[5, 6, 7], [1]]

    Reference:
        "Fast WordPiece Tokenization", arXiv 2012.15524; `tokenization.py` in google-research/bert.
    """

    def __init__(
        self, pieces: Sequence[str], lowercase: bool = True, name: str | None = None
    ) -> None:
        super().__init__(name=name)
        self.pieces = list(pieces)
        self.lowercase = lowercase
        self.vocab_size = len(self.pieces)
        _require_special(self.pieces)
        self.cls_id, self.sep_id, self.mask_id = map(self.pieces.index, (CLS, SEP, MASK))
        # Imported here, so that TF Text is needed only where a tokenizer is.
        import tensorflow_text

        self._wordpiece = tensorflow_text.FastBertTokenizer(
            self.pieces, token_out_type=tf.int32, lower_case_nfd_strip_accents=lowercase
        )

    @classmethod
    def train(
        cls, lines: Iterable[str], vocab_size: int, *, lowercase: bool = True, **options: Any
    ) -> "WordPieceTokenizer":
        """Trains a vocabulary on `lines`; see `train_wordpiece` for the options."""
        from keras_transformer.text.wordpiece_training import train_wordpiece

        return cls(train_wordpiece(lines, vocab_size, lowercase=lowercase, **options), lowercase)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        lowercase: bool | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> "WordPieceTokenizer":
        """Reads a vocabulary, a piece a line.

        Args:
            path: The `vocab.txt`.
            lowercase: As above; None for what `lowercase_of` says.
            options: Of the tokenizer; None for those of a `tokenizer_config.json` beside it.

        Raises:
            ValueError: If it is no vocabulary of BERT's kind, or `lowercase_of` raises it.
        """
        path = Path(path)
        try:
            # Only a line feed ends a line: some pieces are other white space.
            lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
            pieces = [line.removesuffix("\r") for line in lines]
            if lowercase is None:
                lowercase = lowercase_of(_options(path) if options is None else options, pieces)
            return cls(pieces, lowercase)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from error

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes `vocab.txt` and `tokenizer_config.json` into a folder, as others read them."""
        options = {"tokenizer_class": "BertTokenizer", "do_lower_case": self.lowercase}
        write_atomically(Path(folder) / OPTIONS_FILE, json.dumps(options).encode())
        text = "".join(f"{piece}\n" for piece in self.pieces)
        write_atomically(Path(folder) / VOCABULARY_FILE, text.encode())

    @property
    def special_ids(self) -> list[int]:
        """The ids of the special pieces."""
        return [self.pieces.index(piece) for piece in SPECIAL]

    @property
    def begins_word(self) -> npt.NDArray[np.bool_]:
        """For each piece, whether a word begins with it, bool `[vocab_size]`."""
        return np.array([not piece.startswith(CONTINUES) for piece in self.pieces])

    def tokenize(self, text: tf.Tensor | Sequence[str | bytes]) -> tf.RaggedTensor:
        """Splits strings into ids, in graph.

        Args:
            text: Strings, shape [batch].

        Returns:
            int32 ragged ids, shape [batch, (tokens)], without special pieces around them.
        """
        return self._wordpiece.tokenize(_batch(text))

    def tokenize_with_offsets(
        self, text: tf.Tensor | Sequence[str | bytes]
    ) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        """Splits strings into ids, and tells where in the given strings each is from, in graph.

        Args:
            text: Strings, shape [batch].

        Returns:
            The ids as `tokenize` gives them; and of each the byte that it begins at, and the one
            after its end, int64.

        Example:
            >>> pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cat", "##s"]
            >>> _, starts, ends = WordPieceTokenizer(pieces).tokenize_with_offsets(["a Cats"])
            >>> starts.to_list(), ends.to_list()
            ([[0, 2, 5]], [[1, 5, 6]])
        """
        ids, starts, ends = self._wordpiece.tokenize_with_offsets(_batch(text))
        return ids, tf.cast(starts, tf.int64), tf.cast(ends, tf.int64)

    def to_pieces(self, ids: tf.Tensor) -> tf.Tensor:
        """Names ids of any shape, in graph; "" for padding."""
        ids = tf.cast(ids, tf.int32)
        return tf.where(ids == PAD_ID, "", tf.gather(tf.constant(self.pieces), ids))

    def detokenize(self, ids: npt.ArrayLike) -> list[str]:
        """Joins the pieces of rows of ids into text that a person can read; padding is left out."""
        rows = np.asarray(ids)
        return [
            " ".join(self.pieces[i] for i in row if i != PAD_ID).replace(f" {CONTINUES}", "")
            for row in rows
        ]


def lowercase_of(options: Mapping[str, Any], pieces: Sequence[str]) -> bool:
    """Returns whether a tokenizer makes text lower-case.

    Args:
        options: Those of its `tokenizer_config.json`. Where they do not tell, it does so if no
            piece has a capital letter.
        pieces: Its vocabulary.

    Raises:
        ValueError: If the options are of another tokenizer than this one: accents go with capital
            letters, and text is cleaned and split at punctuation and around Chinese characters.

    Example:
        >>> lowercase_of({"do_lower_case": False}, ["the"]), lowercase_of({}, ["the"])
        (False, True)
    """
    lowercase = bool(options.get("do_lower_case", not _has_capitals(pieces)))
    wrong = {name: False for name in _ALWAYS if options.get(name) is False}
    if options.get("strip_accents") not in (None, lowercase):
        wrong["strip_accents"] = not lowercase
    if wrong:
        raise ValueError(
            f"`options` must have {', '.join(_ALWAYS)} true and strip_accents as do_lower_case, "
            f"which is {lowercase}: no other tokenizer runs in graph. Received: {wrong}"
        )
    return lowercase


# What text goes through in any case, by the names of the options that others can turn off.
_ALWAYS = ("tokenize_chinese_chars", "do_basic_tokenize", "clean_text")


def _options(vocabulary: Path) -> Mapping[str, Any]:
    path = vocabulary.with_name(OPTIONS_FILE)
    options = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    if not isinstance(options, dict):
        raise ValueError(f"`options` must be an object of JSON. Received: another in {path}")
    return options


def _batch(text: tf.Tensor | Sequence[str | bytes]) -> tf.Tensor:
    return tf.ensure_shape(tf.convert_to_tensor(text, tf.string), [None])


def _has_capitals(pieces: Iterable[str]) -> bool:
    return any(piece != piece.lower() for piece in {*pieces} - {*SPECIAL} if "[" not in piece)


def _require_special(pieces: Sequence[str]) -> None:
    missing = [piece for piece in SPECIAL if piece not in pieces]
    if missing or pieces[PAD_ID] != PAD:
        first = repr(pieces[0]) if pieces else "none"
        raise ValueError(
            f"`pieces` must have {', '.join(SPECIAL)}, of which {PAD} is the first; take a "
            "vocabulary of BERT's kind, or add them. Received: "
            + (f"none of {', '.join(missing)}" if missing else f"{first} first")
        )
    [(twice, count)] = Counter(pieces).most_common(1)
    if count > 1:
        raise ValueError(f"`pieces` must have each piece once. Received: {twice!r} twice")
