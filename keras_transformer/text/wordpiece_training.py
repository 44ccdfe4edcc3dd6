"""Training of a WordPiece vocabulary, by the tokenizers package.

The same lines, options and seed give the same pieces in the same order.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from keras_transformer.console import say
from keras_transformer.extras import needed
from keras_transformer.streams.shuffling import sampled
from keras_transformer.text.wordpiece import CONTINUES, SPECIAL, UNK


def train_wordpiece(
    lines: Iterable[str],
    vocab_size: int,
    *,
    lowercase: bool = True,
    fit: bool = False,
    max_sentences: int = 1_000_000,
    seed: int = 0,
) -> list[str]:
    """Trains a WordPiece vocabulary; its first five pieces are the special ones.

    Args:
        lines: Text; read once, as a stream.
        vocab_size: Number of pieces, special ones included.
        lowercase: Whether text becomes lower-case and loses its accents.
        fit: Take another size where the lines do not support this one, and say so: half of the
            most pieces that they support, or more where their characters need it.
        max_sentences: Longer corpora are sampled uniformly down to this many lines.
        seed: Seed of that sample.

    Returns:
        The pieces.

    Raises:
        ImportError: If the tokenizers package is not installed.
        ValueError: If the lines hold no text or cannot give a vocabulary of this size, which they
            need not if it is to be fitted.

    Example:
        >>> pieces = train_wordpiece(["the cat sat", "the cats sat"], vocab_size=20)
        >>> len(pieces), pieces[0]
        (20, '[PAD]')
    """
    rng = np.random.default_rng(seed)
    sentences = sampled((line for line in lines if line.strip()), max_sentences, rng)
    if not sentences:
        raise ValueError(
            "`lines` must hold at least one line of text to train a vocabulary on. Received: none"
        )
    pieces = _train(sentences, vocab_size, lowercase)
    if len(pieces) == vocab_size:
        return pieces
    if not fit:
        raise ValueError(
            "`vocab_size` must be such that `lines` support it; one that is not given is fitted to "
            f"them: the text {_bound(pieces, vocab_size)}. "
            f"Received: vocab_size={vocab_size}"
        )
    fitted = pieces
    if len(pieces) < vocab_size:
        # At the most pieces that a text supports, each of its words is one, and nothing is left to
        # spell other words with.
        fitted = _train(sentences, len(pieces) // 2, lowercase)
    say(
        f"A vocabulary of {len(fitted):,} pieces in place of {vocab_size:,}: the text "
        f"{_bound(pieces, vocab_size)}"
    )
    return fitted


def _bound(pieces: list[str], vocab_size: int) -> str:
    """Says why there are not so many pieces as were asked for."""
    if len(pieces) > vocab_size:
        return f"needs at least {len(pieces):,}, a piece or two for each of its characters"
    return f"gives at most {len(pieces):,}"


def _train(sentences: list[str], vocab_size: int, lowercase: bool) -> list[str]:
    with needed("Training a WordPiece vocabulary", "tokenizers", "bert"):
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.WordPiece(unk_token=UNK))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        # Left to itself, the trainer numbers characters as a hash has them, and breaks ties between
        # merges by these numbers.
        special_tokens=[*SPECIAL, *_characters(tokenizer, sentences)],
        continuing_subword_prefix=CONTINUES,
        show_progress=False,
    )
    tokenizer.train_from_iterator(sentences, trainer)
    ids = tokenizer.get_vocab()
    return sorted(ids, key=ids.__getitem__)


def _characters(tokenizer: Any, sentences: Iterable[str]) -> list[str]:
    """Returns the pieces of one character: each by itself, and those within words as such."""
    whole, within = set[str](), set[str]()
    for sentence in sentences:
        text = tokenizer.normalizer.normalize_str(sentence)
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text):
            whole.update(word)
            within.update(word[1:])
    return sorted(whole) + [CONTINUES + character for character in sorted(within)]
