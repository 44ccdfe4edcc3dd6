"""Vocabularies of other toolkits: their pieces under our ids.

Ours begin with pad, unk, bos and eos. Theirs have these elsewhere or not at all, so each of our ids
knows its row in their matrices; the pieces that are none of the four keep their order.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.importing.tensors import Floats
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID

# The logit of what the other toolkit has no row for: small enough to be nothing in any softmax, and
# within float16's range.
NEVER = -1e4
# Those that have to have their own names come first.
_NAMES = {UNK_ID: "<unk>", EOS_ID: "</s>", PAD_ID: "<pad>", BOS_ID: "<s>"}


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """A vocabulary in the order of our ids.

    Args:
        pieces: The pieces.
        rows: For each the row in the other toolkit's matrices; None for one that it has not.
    """

    pieces: tuple[str, ...]
    rows: tuple[int | None, ...]

    @classmethod
    def of(
        cls,
        theirs: Sequence[str],
        unk: str,
        eos: str,
        pad: int | None = None,
        start: int | None = None,
    ) -> "Vocabulary":
        """Finds the special pieces.

        Args:
            theirs: The other toolkit's pieces, in the order of its ids.
            unk: Its piece for what is unknown.
            eos: Its piece for the end of a sentence.
            pad: Its id of padding; None if it has none that is no other piece as well.
            start: Its id of what the decoder begins with; None if that is no piece.

        Raises:
            ValueError: If a special piece is missing, or a piece is there twice.

        Example:
            >>> Vocabulary.of(["</s>", "<unk>", "a", "<pad>"], "<unk>", "</s>", pad=3, start=3)
            Vocabulary(pieces=('<pad>', '<unk>', '<s>', '</s>', 'a'), rows=(None, 1, 3, 0, 2))
        """
        for number in (pad, start):
            if number is not None and not 0 <= number < len(theirs):
                raise ValueError(
                    f"`source` must have special ids of its {len(theirs)} pieces; "
                    f"these files do not belong together. Received: {number}"
                )
        ids = {piece: number for number, piece in enumerate(theirs)}
        for piece in (unk, eos):
            if piece not in ids:
                raise ValueError(
                    f"`source` must have a vocabulary with {piece}. Received: {len(theirs)} pieces "
                    "without it"
                )
        if len(ids) < len(theirs):
            raise ValueError(
                "`source` must have a vocabulary in which no piece is twice. Received: "
                f"{len(theirs)} pieces, of which {len(ids)} are different"
            )
        rows = {PAD_ID: pad, UNK_ID: ids[unk], BOS_ID: start, EOS_ID: ids[eos]}
        named = {UNK_ID: unk, EOS_ID: eos}
        if pad == start:
            rows[PAD_ID] = None
        else:
            given = ((PAD_ID, pad), (BOS_ID, start))
            named |= {number: theirs[row] for number, row in given if row is not None}
        others = [row for row in range(len(theirs)) if row not in rows.values()]
        taken = {theirs[row] for row in others}
        for number, default in _NAMES.items():
            while named.setdefault(number, default) in taken:
                named[number] = f"<{named[number]}>"
            taken.add(named[number])
        special = tuple(named[number] for number in rows)
        return cls((*special, *(theirs[row] for row in others)), (*rows.values(), *others))

    @property
    def size(self) -> int:
        """Rows of the other toolkit's matrices."""
        return 1 + max(row for row in self.rows if row is not None)

    def arranged(self, matrix: Floats, missing: float = 0.0) -> Floats:
        """Brings the rows of a matrix into the order of our ids.

        Args:
            matrix: `[their vocabulary, ...]`.
            missing: What a row holds that they have not.

        Example:
            >>> vocabulary = Vocabulary.of(["</s>", "<unk>", "a"], "<unk>", "</s>")
            >>> vocabulary.arranged(np.array([7, 8, 9], "float32")).tolist()
            [0.0, 8.0, 0.0, 7.0, 9.0]
        """
        rows = np.array([0 if row is None else row for row in self.rows])
        arranged = matrix[rows]
        arranged[[row is None for row in self.rows]] = missing
        return arranged

    def tokenizer(self, segmentation: bytes) -> SubwordTokenizer:
        """Makes the tokenizer.

        Args:
            segmentation: The SentencePiece model that cuts text.

        Raises:
            ValueError: If it is none.

        Example:
            >>> pieces = ["</s>", *reversed(tokenizer.pieces[4:]), "<unk>"]
            >>> other = Vocabulary.of(pieces, "<unk>", "</s>").tokenizer(tokenizer.model)
            >>> other.detokenize(other.tokenize(["a small dog"])).numpy().tolist()
            [b'a small dog']
        """
        if piece_names(segmentation) == self.pieces and self.pieces[:4] == _OWN:
            return SubwordTokenizer(segmentation)
        return SubwordTokenizer(self._as_sentencepiece(segmentation), segmentation)

    def _as_sentencepiece(self, segmentation: bytes) -> bytes:
        """Writes the vocabulary as a SentencePiece model that names and joins pieces."""
        proto = _parse(segmentation)
        types = type(proto).SentencePiece.Type
        in_bytes = {piece.piece for piece in proto.pieces if piece.type == types.BYTE}
        del proto.pieces[:]
        special = {PAD_ID: types.CONTROL, UNK_ID: types.UNKNOWN}
        special |= {BOS_ID: types.CONTROL, EOS_ID: types.CONTROL}
        for number, piece in enumerate(self.pieces):
            kind = types.BYTE if piece in in_bytes else types.NORMAL
            proto.pieces.add(piece=piece, score=0.0, type=special.get(number, kind))
        trainer, names = proto.trainer_spec, self.pieces
        trainer.model_type, trainer.vocab_size = trainer.UNIGRAM, len(names)
        trainer.pad_id, trainer.unk_id, trainer.bos_id, trainer.eos_id = range(4)
        trainer.pad_piece, trainer.unk_piece, trainer.bos_piece, trainer.eos_piece = names[:4]
        return proto.SerializeToString()


_OWN = ("<pad>", "<unk>", "<s>", "</s>")


def piece_names(model: bytes) -> tuple[str, ...]:
    """Returns the pieces of a SentencePiece model, in the order of its ids.

    Raises:
        ValueError: If it is none.

    Example:
        >>> piece_names(tokenizer.model) == tuple(tokenizer.pieces)
        True
    """
    return tuple(piece.piece for piece in _parse(model).pieces)


def read_file(path: Path) -> bytes:
    """Reads a file that a checkpoint must have.

    Raises:
        ValueError: If it is not there.

    Example:
        >>> read_file(Path("runs/demo/joint.model"))[:1]
        b'\\n'
    """
    require_file(path)
    return path.read_bytes()


def require_file(path: Path) -> None:
    """Requires a file that a checkpoint must have.

    Raises:
        ValueError: If it is not there.

    Example:
        >>> require_file(Path("runs/demo/joint.model"))
    """
    if not path.is_file():
        raise ValueError(
            f"`source` must be a folder with {path.name}; copy the whole of it. Received: "
            f"{path.parent}, which holds {', '.join(sorted(p.name for p in path.parent.glob('*')))}"
        )


def _parse(model: bytes) -> Any:
    from google.protobuf.message import DecodeError
    from sentencepiece import sentencepiece_model_pb2

    try:
        return sentencepiece_model_pb2.ModelProto.FromString(model)
    except DecodeError as error:
        raise ValueError(
            "`source` must hold SentencePiece models; copy it anew. Received: "
            f"{len(model)} bytes that are none"
        ) from error
