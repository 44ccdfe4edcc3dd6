"""What determines the pre-training of BERT: documents, pieces of words, and how it is trained."""

import dataclasses
from typing import Literal, get_args

from keras_transformer.config.bert import BertConfig
from keras_transformer.config.checks import require, require_fraction, require_positive
from keras_transformer.config.sections import RunSections
from keras_transformer.config.training import TrainingConfig

PieceAlgorithm = Literal["wordpiece", "bpe", "unigram"]


@dataclasses.dataclass(frozen=True)
class DocumentsConfig:
    """The documents to pre-train on, and what is made of them.

    A corpus is a text file with a sentence a line and a blank line between documents, plain or
    with gzip; a list of such files; or `phrasebook[:SPLIT[:SIZE]]`, which is built in.

    Args:
        train: Training documents.
        valid: Documents that are scored after each epoch; None for none.
        length: Longest input in tokens. The paper takes 128 for nine tenths of its steps, then 512.
        batch_tokens: Most tokens of one batch, padding included.
        shuffle_buffer: Documents held in memory for shuffling.
        masked: Share of the tokens that are to be predicted. Of these eight tenths are hidden, one
            tenth replaced by another piece and one tenth left, drawn anew in each epoch.
        whole_words: Hide words as a whole, in place of single pieces.
        next_sentence: Predict as well whether the second half of an input follows the first, which
            it does in every other one. Later work found no use in it (arXiv 1907.11692).
        short: Share of the inputs that are made shorter, by a length drawn at random.
    """

    train: list[str] | str = "phrasebook:train"
    valid: list[str] | str | None = "phrasebook:valid"
    length: int = 128
    batch_tokens: int = 32_768
    shuffle_buffer: int = 10_000
    masked: float = 0.15
    whole_words: bool = False
    next_sentence: bool = True
    short: float = 0.1

    def __post_init__(self) -> None:
        require_positive(self, "batch_tokens", "shuffle_buffer", "masked")
        require_fraction(self, "masked", "short")
        expected = "at least 8, a few tokens beside those that frame two texts"
        require(self.length >= 8, "length", expected, self.length)
        expected = f"at least length={self.length}, a row"
        require(self.batch_tokens >= self.length, "batch_tokens", expected, self.batch_tokens)


@dataclasses.dataclass(frozen=True)
class PiecesConfig:
    """The vocabulary of a model that reads text; its size is the model's `vocab_size`.

    Args:
        algorithm: "wordpiece", BERT's; or "bpe" or "unigram", SentencePiece's.
        lowercase: Make text lower-case and drop its accents, as uncased models do; of WordPiece.
            None to do so unless `vocabulary` has capital letters, or its own options say so.
        vocabulary: A `vocab.txt` to take in place of learning one; None to learn one.
        max_sentences: Sentences sampled for training, which bounds its memory.
    """

    algorithm: PieceAlgorithm = "wordpiece"
    lowercase: bool | None = None
    vocabulary: str | None = None
    max_sentences: int = 1_000_000

    def __post_init__(self) -> None:
        known = get_args(PieceAlgorithm)
        require(self.algorithm in known, "algorithm", f"one of {known}", self.algorithm)
        fits = self.vocabulary is None or self.algorithm == "wordpiece"
        require(fits, "vocabulary", "None unless algorithm='wordpiece'", self.vocabulary)
        require_positive(self, "max_sentences")


# The paper's (Appendix A.2), with Adam's bias correction. A trapezoid that falls over the whole of
# the training is its linear warm-up and decay.
BERT_TRAINING = TrainingConfig(
    epochs=None,
    max_steps=1_000_000,
    schedule="trapezoid",
    peak_learning_rate=1e-4,
    warmup_steps=10_000,
    cooldown=1.0,
    beta_2=0.999,
    epsilon=1e-6,
    weight_decay=0.01,
    label_smoothing=0.0,
    clip_norm=1.0,
)


@dataclasses.dataclass(frozen=True)
class MaskedLMConfig(RunSections):
    """Everything that determines a run of the task "masked_lm".

    Args:
        model: The model; its `vocab_size` is the size of the vocabulary that is learned.
        tokenizer: The vocabulary.
        data: The documents.
        training: The training regime.
    """

    task = "masked_lm"
    architecture = "encoder"
    preset = "bert_base"

    model: BertConfig = BertConfig()
    tokenizer: PiecesConfig = PiecesConfig()
    data: DocumentsConfig = DocumentsConfig()
    training: TrainingConfig = BERT_TRAINING
