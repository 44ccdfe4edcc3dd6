"""What of a SentencePiece model can be followed in graph."""

from typing import Any

# SentencePiece's types of pieces.
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6


def parse(model: bytes) -> Any:
    """Parses a serialized SentencePiece model."""
    from sentencepiece import sentencepiece_model_pb2

    return sentencepiece_model_pb2.ModelProto.FromString(model)


def normal_pieces(proto: Any) -> dict[str, int]:
    """Returns the id of each piece that text can have.

    Example:
        >>> pieces = normal_pieces(parse(tokenizer.model))
        >>> "a" in pieces, "<pad>" in pieces
        (True, False)
    """
    return {piece.piece: i for i, piece in enumerate(proto.pieces) if piece.type == NORMAL}


def require_followable(proto: Any) -> None:
    """Checks that a model has nothing that is left out here.

    Raises:
        ValueError: If it is neither byte-pair nor unigram, marks the end of words and not their
            start, or has pieces that the user defined or that are unused.

    Example:
        >>> require_followable(parse(tokenizer.model))
    """
    trainer = proto.trainer_spec
    others = [one.piece for one in proto.pieces if one.type not in (NORMAL, UNKNOWN, CONTROL, BYTE)]
    received = None
    if trainer.model_type not in (trainer.BPE, trainer.UNIGRAM):
        received = "one of words or characters"
    elif trainer.treat_whitespace_as_suffix:
        received = "one that marks the end of words"
    elif others:
        received = f"one with pieces of the user's own: {', '.join(map(repr, others[:5]))}"
    if received:
        raise ValueError(
            "`tokenizer` must be a byte-pair or unigram vocabulary that marks the start of words; "
            f"train it with `SubwordTokenizer.train`. Received: {received}"
        )
