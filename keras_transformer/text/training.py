"""Training of a SentencePiece vocabulary.

The same lines, options and seed give the same model, byte for byte.
"""

import io
import re
from collections.abc import Iterable

import numpy as np

from keras_transformer.streams.shuffling import sampled
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID

ALGORITHMS = ("bpe", "unigram")

# The number of threads is written into the model, so it must not follow the machine.
NUM_THREADS = 4


def train_sentencepiece(
    lines: Iterable[str],
    vocab_size: int,
    *,
    algorithm: str = "bpe",
    character_coverage: float = 1.0,
    byte_fallback: bool = False,
    max_sentences: int = 1_000_000,
    seed: int = 0,
) -> bytes:
    """Trains a subword vocabulary; pad, unk, bos and eos are ids 0, 1, 2 and 3.

    Text is normalised by SentencePiece's `nmt_nfkc`: NFKC, control characters dropped, runs of
    white space collapsed.

    Args:
        lines: Sentences, of both languages for a joint vocabulary; read once, as a stream.
        vocab_size: Number of pieces, special ids included.
        algorithm: "bpe" (as in the paper) or "unigram".
        character_coverage: Fraction of the characters that get a piece of their own. 0.9995 suits
            scripts with thousands of characters.
        byte_fallback: Spell characters without a piece as UTF-8 bytes instead of unk, at the price
            of 256 pieces.
        max_sentences: Longer corpora are sampled uniformly down to this many lines.
        seed: Seed of that sample.

    Returns:
        The serialized SentencePiece model.

    Raises:
        ValueError: If the lines hold no text, or cannot give a vocabulary of this size.

    Example:
        >>> model = train_sentencepiece(["the cat sat", "the dog ran"], vocab_size=20)
        >>> isinstance(model, bytes)
        True
    """
    import sentencepiece

    if algorithm not in ALGORITHMS:
        raise ValueError(f"`algorithm` must be one of {ALGORITHMS}. Received: {algorithm!r}")
    if vocab_size <= EOS_ID + 1:
        raise ValueError(
            f"`vocab_size` must leave room beside the {EOS_ID + 1} special ids. Received: "
            f"vocab_size={vocab_size}"
        )
    sentences = sampled_text(lines, max_sentences, seed)
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=model,
            vocab_size=vocab_size,
            model_type=algorithm,
            character_coverage=character_coverage,
            byte_fallback=byte_fallback,
            pad_id=PAD_ID,
            unk_id=UNK_ID,
            bos_id=BOS_ID,
            eos_id=EOS_ID,
            num_threads=NUM_THREADS,
            minloglevel=3,
        )
    except (OSError, RuntimeError) as error:
        raise ValueError(f"{_explanation(error)} Received: vocab_size={vocab_size}") from error
    return model.getvalue()


def sampled_text(lines: Iterable[str], max_sentences: int, seed: int) -> list[str]:
    """Samples at most `max_sentences` of the lines that are not blank.

    Raises:
        ValueError: If all are.
    """
    texts = (line for line in lines if line.strip())
    sentences = sampled(texts, max_sentences, np.random.default_rng(seed))
    if not sentences:
        raise ValueError("`lines` must hold at least one line of text. Received: none")
    return sentences


def _explanation(error: Exception) -> str:
    """Puts SentencePiece's reason, which names its source lines, into the caller's terms."""
    reason = str(error)
    if largest := re.search(r"size too high.*<= (\d+)", reason):
        return (
            f"`vocab_size` is larger than the {largest[1]} pieces that `lines` support; "
            "lower it or give more text."
        )
    if smallest := re.search(r"\d+ vs (\d+)", reason):
        return (
            f"`vocab_size` is smaller than the {smallest[1]} pieces that the characters of `lines` "
            "need; raise it or lower `character_coverage`."
        )
    return f"SentencePiece could not train on `lines`: {reason}"
