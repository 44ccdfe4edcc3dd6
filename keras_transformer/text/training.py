"""Training of a SentencePiece vocabulary.

The same lines, options and seed give the same model, byte for byte.
"""

import io
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.config.tokenizer import NORMALIZATIONS
from keras_transformer.console import say
from keras_transformer.streams.shuffling import sampled
from keras_transformer.text.normalization import describe_changes, nmt_nfc_tsv
from keras_transformer.text.tags import tag_of
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID

ALGORITHMS = ("bpe", "unigram")

# The number of threads is written into the model, so it must not follow the machine.
NUM_THREADS = 4

_IDS = {"pad_id": PAD_ID, "unk_id": UNK_ID, "bos_id": BOS_ID, "eos_id": EOS_ID}

# SentencePiece leaves out longer lines without a word, and lines with the second one.
_MOST_BYTES = 4192
_RESERVED = "\u2585"

_CARRIAGE_RETURNS = (
    "there are carriage returns inside of lines; if these are the line ends, convert the file: "
    "tr '\\r' '\\n' < old > new"
)


def train_sentencepiece(
    lines: Iterable[str],
    vocab_size: int,
    *,
    fit: bool = False,
    algorithm: str = "bpe",
    character_coverage: float = 1.0,
    byte_fallback: bool = False,
    normalization: str = "nmt_nfc",
    max_sentences: int = 1_000_000,
    seed: int = 0,
    languages: Sequence[str] = (),
    symbols: Sequence[str] = (),
) -> bytes:
    """Trains a subword vocabulary; pad, unk, bos and eos are ids 0, 1, 2 and 3.

    Says which lines are left out, and what the normalization changes. Runs of white space are
    collapsed in any case, and U+0000 is an unknown character.

    Args:
        lines: Sentences, of both languages for a joint vocabulary; read once, as a stream.
        vocab_size: Number of pieces, special ids included.
        fit: Take another size where the lines do not support this one, and say so: half of the
            most pieces that they support, or more where their characters need it.
        algorithm: "bpe" (as in the paper) or "unigram".
        character_coverage: Fraction of the characters that get a piece of their own. 0.9995 suits
            scripts with thousands of characters.
        byte_fallback: Spell characters without a piece as UTF-8 bytes instead of unk, at the price
            of 256 pieces.
        normalization: "nmt_nfc", see `keras_transformer.text.normalization`, or SentencePiece's
            "nmt_nfkc", "nfkc" or "identity".
        max_sentences: Longer corpora are sampled uniformly down to this many lines.
        seed: Seed of that sample.
        languages: Those that a text may ask for by a tag, which gets a piece of its own.
        symbols: Further pieces that no text is cut into.

    Returns:
        The serialized SentencePiece model.

    Raises:
        ValueError: If an option is none of those, or the lines hold no text or cannot give a
            vocabulary of this size, which they need not if it is to be fitted.

    Example:
        >>> model = train_sentencepiece(["the cat sat", "the dog ran"], vocab_size=20)
        >>> isinstance(model, bytes)
        True
    """
    import sentencepiece

    if algorithm not in ALGORITHMS:
        raise ValueError(f"`algorithm` must be one of {ALGORITHMS}. Received: {algorithm!r}")
    if normalization not in NORMALIZATIONS:
        raise ValueError(
            f"`normalization` must be one of {NORMALIZATIONS}. Received: {normalization!r}"
        )
    if vocab_size <= EOS_ID + 1:
        raise ValueError(
            f"`vocab_size` must leave room beside the {EOS_ID + 1} special ids. Received: "
            f"vocab_size={vocab_size}"
        )
    sentences = sampled_text(lines, max_sentences, seed)
    try:
        model = (_train_fitting if fit else _train)(
            sentences,
            normalization,
            vocab_size=vocab_size,
            model_type=algorithm,
            character_coverage=character_coverage,
            byte_fallback=byte_fallback,
            control_symbols=[*map(tag_of, languages), *symbols],
            **_IDS,
        )
    except (OSError, RuntimeError) as error:
        breaks = any("\r" in line.strip() for line in sentences)
        hint = f" {_CARRIAGE_RETURNS}." if breaks else ""
        raise ValueError(
            f"{_explanation(error)}{hint} Received: vocab_size={vocab_size}"
        ) from error
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    if changes := describe_changes(processor, sentences):
        say(f"Normalization {normalization} changes {changes}; see `tokenizer.normalization`.")
    return model


def _train_fitting(
    sentences: list[str], normalization: str, vocab_size: int, **options: Any
) -> bytes:
    """Trains a vocabulary of another size where SentencePiece says that there is none of this.

    At the most pieces that a text supports, each of its words is one, and nothing is left to spell
    other words with; hence half.
    """
    size, smallest, largest = vocab_size, 0, None
    while True:
        try:
            model = _train(sentences, normalization, vocab_size=size, **options)
        except RuntimeError as error:
            too_large, too_small = _largest(error), _smallest(error)
            # Midway between two bounds there is no further one.
            if too_large is too_small is None or (smallest and largest):
                raise
            smallest, largest = too_small or smallest, too_large or largest
            size = 2 * smallest if largest is None else (smallest + largest) // 2
        else:
            break
    if size != vocab_size:
        bound = f"needs at least {smallest:,}" if largest is None else f"supports {largest:,}"
        say(f"A vocabulary of {size:,} pieces in place of {vocab_size:,}: the text {bound}")
    return model


def _train(sentences: list[str], normalization: str, **options: Any) -> bytes:
    """Trains with rules by their name; a file of rules leaves no trace in the model."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    model = io.BytesIO()
    options |= {
        "sentence_iterator": iter(sentences),
        "model_writer": model,
        "max_sentence_length": _MOST_BYTES,
        "num_threads": NUM_THREADS,
        "minloglevel": 3,
    }
    train = sentencepiece.SentencePieceTrainer.train
    if normalization != "nmt_nfc":
        train(normalization_rule_name=normalization, **options)
        return model.getvalue()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nmt_nfc.tsv"
        path.write_text(nmt_nfc_tsv(), "utf-8")
        train(normalization_rule_tsv=str(path), **options)
    proto = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    proto.normalizer_spec.name = normalization
    proto.normalizer_spec.ClearField("normalization_rule_tsv")
    return proto.SerializeToString()


def sampled_text(lines: Iterable[str], max_sentences: int, seed: int) -> list[str]:
    """Samples at most `max_sentences` of the lines that a vocabulary can be trained on.

    Says how many lines are left out, but for blank ones, and why.

    Args:
        lines: The lines.
        max_sentences: Most lines.
        seed: Seed of the sample.

    Raises:
        ValueError: If all lines are left out.
    """
    if isinstance(lines, str | bytes):
        raise ValueError(f"`lines` must be lines, not one string. Received: {lines[:40]!r}")
    left_out = Counter[str]()

    def usable(line: str) -> bool:
        reason = _reason_to_leave_out(line)
        if reason:
            left_out[reason] += 1
        return not reason and bool(line.strip())

    sentences = sampled(filter(usable, lines), max_sentences, np.random.default_rng(seed))
    reasons = "; ".join(f"{count:,} {reason}" for reason, count in left_out.items())
    if not sentences:
        raise ValueError(
            "`lines` must hold at least one line of text to train a vocabulary on. Received: none"
            + (f"; left out: {reasons}" if reasons else "")
        )
    if reasons:
        say(f"Lines left out of the vocabulary's training: {reasons}")
    return sentences


def _reason_to_leave_out(line: str) -> str:
    """Returns why SentencePiece would not train on a line; "" if it does."""
    # A character has four bytes at most.
    if len(line) * 4 > _MOST_BYTES and len(line.encode("utf-8", "replace")) > _MOST_BYTES:
        hint = _CARRIAGE_RETURNS if "\r" in line.strip() else "split them into sentences"
        return f"of more than {_MOST_BYTES:,} bytes ({hint})"
    if _RESERVED in line:
        return "with U+2585, which SentencePiece keeps for itself (delete it)"
    return ""


def _explanation(error: Exception) -> str:
    """Puts SentencePiece's reason, which names its source lines, into the caller's terms."""
    if (largest := _largest(error)) is not None:
        return (
            f"`vocab_size` is larger than the {largest} pieces that `lines` support; "
            "lower it or give more text."
        )
    if (smallest := _smallest(error)) is not None:
        return (
            f"`vocab_size` is smaller than the {smallest} pieces that the characters of `lines` "
            "need; raise it or lower `character_coverage`."
        )
    return f"SentencePiece could not train on `lines`: {error}"


def _largest(error: Exception) -> int | None:
    """Returns the most pieces that a text supports, if that is what SentencePiece says."""
    found = re.search(r"size too high.*<= (\d+)", str(error))
    return found and int(found[1])


def _smallest(error: Exception) -> int | None:
    """Returns the fewest pieces that a text needs, if that is what SentencePiece says."""
    found = re.search(r"\d+ vs (\d+)", str(error))
    return found and int(found[1])
