"""A trained vocabulary with room for a new corpus: its merges are continued where they stopped.

The old pieces keep their ids, and their merges come first, so that text of the old corpus is cut as
before wherever no new merge applies. New merges are learned on the new corpus as the old vocabulary
cuts it. Pieces of a second vocabulary, learned on that corpus by itself, would often be out of
reach of the old merges (arXiv 2512.03989).
"""

import io
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from keras_transformer.text.training import NUM_THREADS, sampled_text

# SentencePiece's mark for a space, which begins a word.
_SPACE = "▁"
# The code points from here on stand for pieces: there are more than a million.
_FIRST_SYMBOL = 0x10000


def enlarge_sentencepiece(
    model: bytes,
    lines: Iterable[str],
    vocab_size: int,
    *,
    character_coverage: float = 1.0,
    max_sentences: int = 1_000_000,
    seed: int = 0,
) -> bytes:
    """Adds pieces for a new corpus to a BPE vocabulary.

    Args:
        model: The serialized SentencePiece model; it stays as it is.
        lines: Sentences of the new corpus; read once, as a stream.
        vocab_size: Pieces of the enlarged vocabulary, the old ones included.
        character_coverage: Fraction of the corpus that old pieces and characters with a new piece
            have to cover; rarer characters get no piece.
        max_sentences: Longer corpora are sampled uniformly down to this many lines.
        seed: Seed of that sample.

    Returns:
        The serialized SentencePiece model: the old pieces under their ids, then characters that had
        no piece, then merges.

    Raises:
        ValueError: If the model is not a BPE one, or the lines hold no text or cannot give a
            vocabulary of this size.

    Example:
        >>> old = train_sentencepiece(["the cat sat", "the dog ran"], vocab_size=20)
        >>> new = enlarge_sentencepiece(old, ["η γάτα", "η γάτα"], vocab_size=30)
    """
    proto = _parse(model)
    if proto.trainer_spec.model_type != proto.trainer_spec.BPE:
        raise ValueError(
            "`model` must be a BPE vocabulary to be enlarged; a unigram one would need scores for "
            "further pieces. Received: a vocabulary of another algorithm"
        )
    if vocab_size <= len(proto.pieces):
        raise ValueError(
            f"`vocab_size` must be larger than that of `model`, {len(proto.pieces)}. Received: "
            f"vocab_size={vocab_size}"
        )
    words, alphabet = _count_words(model, sampled_text(lines, max_sentences, seed))
    old = {piece.piece for piece in proto.pieces}
    room = vocab_size - len(old)
    characters, merges = _new_pieces(words, alphabet, old, room, character_coverage)
    largest = len(old) + len(characters) + len(merges)
    if vocab_size > largest:
        raise ValueError(
            f"`vocab_size` is larger than the {largest} pieces that `model` and `lines` support; "
            f"lower it or give more text. Received: vocab_size={vocab_size}"
        )
    if len(characters) > room:
        raise ValueError(
            f"`vocab_size` is smaller than the {len(old) + len(characters)} pieces that "
            "`model` and the characters of `lines` need; raise it or lower `character_coverage`. "
            f"Received: vocab_size={vocab_size}"
        )
    _append(proto, [*characters, *merges][:room])
    return proto.SerializeToString()


def cut_new_pieces(old: bytes, new: bytes) -> dict[int, list[int]]:
    """Spells the pieces that were added to a vocabulary in the old pieces.

    Args:
        old: The serialized SentencePiece model.
        new: The enlarged one.

    Returns:
        For the id of each new piece, the ids of the old pieces that spelled it.

    Raises:
        ValueError: If `new` does not begin with the pieces of `old`.

    Example:
        >>> old = train_sentencepiece(["the cat sat", "the dog ran"], vocab_size=20)
        >>> new = enlarge_sentencepiece(old, ["ü"], vocab_size=21)
        >>> cut_new_pieces(old, new)  # 1 is unknown
        {20: [1]}
    """
    old_pieces, new_pieces = ([piece.piece for piece in _parse(m).pieces] for m in (old, new))
    count = len(old_pieces)
    if new_pieces[:count] != old_pieces:
        raise ValueError(
            "`new` must begin with the pieces of `old`. Received: a vocabulary with other pieces"
        )
    # A piece within a word must not be given the space that begins a text.
    cutter = _processor(old, add_dummy_prefix=False, remove_extra_whitespaces=False)
    texts = [piece.replace(_SPACE, " ") for piece in new_pieces[count:]]
    return dict(enumerate(cutter.encode(texts, out_type=int), start=count))


def _count_words(model: bytes, sentences: list[str]) -> tuple[Counter[str], list[str]]:
    """Cuts sentences into the symbols that merges start from: old pieces and new characters.

    Returns:
        Words as strings of symbols, with how often they occur, and the symbols' texts. A symbol is
        one character, so that SentencePiece can merge on.
    """
    proto = _parse(model)
    numbers = {piece.piece: number for number, piece in enumerate(proto.pieces)}
    processor, words = _processor(model), Counter[str]()
    for sentence in sentences:
        pieces = processor.encode(sentence, out_type=str)
        # A run of unknown characters comes as one.
        units = (unit for piece in pieces for unit in ([piece] if piece in numbers else piece))
        for word in _words(units):
            symbols = [numbers.setdefault(unit, len(numbers)) for unit in word]
            words["".join(chr(_FIRST_SYMBOL + number) for number in symbols)] += 1
    return words, list(numbers)


def _words(units: Iterable[str]) -> Iterator[list[str]]:
    """Groups what may be merged: letters, digits or signs of one word, as in training."""
    word: list[str] = []
    kind = ""
    for unit in units:
        if unit == "\0":  # It ends a word, and gets no piece.
            yield word
            word, kind = [], ""
            continue
        own = _kind(unit)
        if unit.startswith(_SPACE) or (own and kind and own != kind):
            yield word
            word, kind = [], ""
        word.append(unit)
        kind = own or kind
    yield word


def _kind(unit: str) -> str:
    text = unit.lstrip(_SPACE)
    if not text:
        return ""
    category = unicodedata.category(text[0])[0]
    return {"L": "letter", "M": "letter", "N": "digit"}.get(category, "sign")


def _new_pieces(
    words: Counter[str], alphabet: list[str], old: set[str], room: int, character_coverage: float
) -> tuple[list[str], list[str]]:
    """Returns the new characters, the most frequent first, and merges in the order learned."""
    import sentencepiece

    learned = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(f"{word}\t{count}" for word, count in words.items() if word),
        model_writer=learned,
        input_format="tsv",
        model_type="bpe",
        # All symbols become pieces here, and some merges give a piece that exists already.
        vocab_size=1 + len(alphabet) + room + room // 10 + 10,
        hard_vocab_limit=False,
        character_coverage=character_coverage,
        normalization_rule_name="identity",
        add_dummy_prefix=False,
        split_by_unicode_script=False,
        split_by_number=False,
        unk_id=0,
        bos_id=-1,
        eos_id=-1,
        num_threads=NUM_THREADS,
        minloglevel=3,
    )
    texts = (
        "".join(alphabet[ord(symbol) - _FIRST_SYMBOL] for symbol in piece.piece)
        for piece in _parse(learned.getvalue()).pieces[1:]
    )
    # Two merges may spell the same piece.
    fresh = dict.fromkeys(text for text in texts if text not in old)
    return [text for text in fresh if len(text) == 1], [text for text in fresh if len(text) > 1]


def _append(proto: Any, pieces: list[str]) -> None:
    """Adds pieces below all others: SentencePiece merges by score."""
    lowest = min(piece.score for piece in proto.pieces)
    for rank, piece in enumerate(pieces, start=1):
        proto.pieces.add(piece=piece, score=lowest - rank)
    proto.trainer_spec.vocab_size = len(proto.pieces)


def _processor(model: bytes, **normalizer: Any) -> Any:
    """Makes a processor that gives unknown characters as they are, and never in bytes."""
    import sentencepiece

    proto = _parse(model)
    proto.trainer_spec.byte_fallback = False
    for piece in proto.pieces:
        if piece.type == piece.BYTE:
            # Without the fallback no piece may be a byte; a control piece does not occur in text.
            piece.type = piece.CONTROL
    for name, value in normalizer.items():
        setattr(proto.normalizer_spec, name, value)
    return sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())


def _parse(model: bytes) -> Any:
    from sentencepiece import sentencepiece_model_pb2

    return sentencepiece_model_pb2.ModelProto.FromString(model)
