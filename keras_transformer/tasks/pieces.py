"""The vocabulary of a run that reads text: learned from its own, or from a file."""

from collections.abc import Iterable
from typing import Any

from keras_transformer.config.choices import Choices
from keras_transformer.console import say
from keras_transformer.text.subword_pieces import SubwordPieces
from keras_transformer.text.wordpiece import WordPieceTokenizer

Pieces = WordPieceTokenizer | SubwordPieces


def train_pieces(
    lines: Iterable[str], config: Any, choices: Choices
) -> tuple[Any, tuple[Pieces, Pieces]]:
    """Makes the tokenizer of a new run.

    Args:
        lines: The text; read once, and not if there is a file.
        config: The run's, with `tokenizer`, `model.vocab_size` and `training.seed`.
        choices: What of it was asked for. A size that was not is fitted to the text.

    Returns:
        The configuration with the size that the vocabulary has, and the tokenizer, twice.

    Raises:
        ValueError: If the text cannot give a vocabulary of this size, or the file has another.
    """
    options, size = config.tokenizer, config.model.vocab_size
    is_open = choices.leaves_open("model.vocab_size")
    tokenizer: Pieces
    if options.vocabulary is not None:
        tokenizer = WordPieceTokenizer.load(options.vocabulary, options.lowercase)
    else:
        say("Training the vocabulary")
        seed = config.training.seed
        how = {"fit": is_open, "max_sentences": options.max_sentences, "seed": seed}
        if options.algorithm == "wordpiece":
            # Uncased, as BERT's own, unless it is asked for.
            lowercase = options.lowercase is not False
            tokenizer = WordPieceTokenizer.train(lines, size, lowercase=lowercase, **how)
        else:
            tokenizer = SubwordPieces.train(lines, size, algorithm=options.algorithm, **how)
    if tokenizer.vocab_size != size and not is_open:
        raise ValueError(
            f"`vocab_size` must be that of `vocabulary`, {tokenizer.vocab_size}. Received: "
            f"vocab_size={size}, vocabulary={options.vocabulary!r}"
        )
    config = choices.chosen(config, {"model.vocab_size": tokenizer.vocab_size})
    return config, (tokenizer, tokenizer)
