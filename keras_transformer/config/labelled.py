"""Examples with labels: which there are, and how a fine-tuned model reads them."""

import dataclasses

from keras_transformer.config.bert import BertConfig
from keras_transformer.config.checks import require, require_positive
from keras_transformer.config.masked_lm import PiecesConfig
from keras_transformer.config.sections import RunSections
from keras_transformer.config.training import TrainingConfig


@dataclasses.dataclass(frozen=True)
class LabelledDataConfig:
    """The examples of a run, and how they become batches.

    Args:
        train: Training examples.
        valid: Examples that are scored after each epoch; None for none.
        batch_size: Examples of a batch.
        labels: The labels, by their numbers; by default those of `train` in alphabetical order.
    """

    train: str = ""
    valid: str | None = None
    batch_size: int = 32
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_positive(self, "batch_size")
        twice = len({*self.labels}) < len(self.labels)
        require(not twice, "labels", "different from each other", self.labels)


@dataclasses.dataclass(frozen=True)
class ClassificationDataConfig(LabelledDataConfig):
    """Texts with labels, or with numbers, and how they become batches.

    A corpus is one of: `phrasebook:KIND[:SPLIT[:SIZE]]` (built in, with a kind of `question`,
    `negation` and `tense`), `tfds:NAME[:SPLIT]` (of TensorFlow Datasets, such as `tfds:glue/sst2`),
    or `FILE.tsv[.gz]`, with a label and a text a line, apart by a tab.

    Args:
        train: Training examples.
        valid: Examples that are scored after each epoch; None for none.
        batch_size: Examples of a batch.
        labels: The labels, by their numbers; by default those of `train` in alphabetical order.
        regression: Take labels for numbers, and learn to give numbers.
    """

    train: str = "phrasebook:tense"
    valid: str | None = "phrasebook:tense:valid"
    regression: bool = False


@dataclasses.dataclass(frozen=True)
class PairsDataConfig(ClassificationDataConfig):
    """Pairs of texts with labels, or with numbers, and how they become batches.

    A corpus is one of: `phrasebook:KIND[:SPLIT[:SIZE]]` (built in, with a kind of `follows` and
    `translation`), `tfds:NAME[:SPLIT]` (of TensorFlow Datasets, such as `tfds:glue/mrpc`), or
    `FILE.tsv[.gz]`, with a label and two texts a line, apart by tabs.

    Args:
        train: Training examples.
        valid: Examples that are scored after each epoch; None for none.
        batch_size: Examples of a batch.
        labels: The labels, by their numbers; by default those of `train` in alphabetical order.
        regression: Take labels for numbers, and learn to give numbers.
    """

    train: str = "phrasebook:follows"
    valid: str | None = "phrasebook:follows:valid"


@dataclasses.dataclass(frozen=True)
class SpansDataConfig(LabelledDataConfig):
    """Questions with answers that stand in a text, and how they become batches.

    A corpus is one of: `phrasebook:KIND[:SPLIT[:SIZE]]` (built in, with a kind of `questions` and
    `open_questions`, some of which have no answer), or `FILE.json[.gz]` in SQuAD's layout.

    Args:
        train: Training examples.
        valid: Examples that are scored after each epoch; None for none.
        batch_size: Windows of a batch.
        labels: Not used.
        stride: Tokens from the beginning of a window of a long text to that of the next.
        max_question: Most tokens of a question; what goes beyond is not read.
        max_answer: Most tokens of an answer that is given.
        threshold: There is no answer where the best one is better than none by less, in logits.
    """

    train: str = "phrasebook:questions"
    valid: str | None = "phrasebook:questions:valid"
    stride: int = 128
    max_question: int = 64
    max_answer: int = 30
    threshold: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "stride", "max_question", "max_answer")


@dataclasses.dataclass(frozen=True)
class TagsDataConfig(LabelledDataConfig):
    """Words with tags, and how they become batches.

    A corpus is one of: `phrasebook:words[:SPLIT[:SIZE]]` (built in), or a file in CoNLL's columns:
    a word a line, its tag in the last column, and an empty line after a sentence.

    Args:
        train: Training examples.
        valid: Examples that are scored after each epoch; None for none.
        batch_size: Sentences of a batch.
        labels: The tags, by their numbers; by default those of `train` in alphabetical order.
    """

    train: str = "phrasebook:words"
    valid: str | None = "phrasebook:words:valid"


# About those of BERT's paper, with a rate that falls as the root of the steps.
FINE_TUNING = TrainingConfig(
    epochs=3,
    peak_learning_rate=5e-5,
    warmup_steps=100,
    beta_2=0.999,
    epsilon=1e-6,
    weight_decay=0.01,
    label_smoothing=0.0,
    clip_norm=1.0,
)


@dataclasses.dataclass(frozen=True)
class LabelledConfig(RunSections):
    """What the configurations of the tasks of labelled examples have in common.

    Args:
        model: The model; by default that of the run to begin with.
        tokenizer: The vocabulary, where there is no run to begin with.
        data: The examples.
        training: The training regime.
    """

    architecture = "encoder"
    preset = "bert_base"
    counted = "labels"

    model: BertConfig = BertConfig()
    tokenizer: PiecesConfig = PiecesConfig()
    data: LabelledDataConfig = LabelledDataConfig()
    training: TrainingConfig = FINE_TUNING


@dataclasses.dataclass(frozen=True)
class ClassificationConfig(LabelledConfig):
    """Everything that determines a run of the task "classification"; see `LabelledConfig`."""

    task = "classification"
    ranking = ("val_accuracy", "val_spearman", "-val_loss", "-loss")

    data: ClassificationDataConfig = ClassificationDataConfig()


@dataclasses.dataclass(frozen=True)
class PairsConfig(LabelledConfig):
    """Everything that determines a run of the task "pairs"; see `LabelledConfig`."""

    task = "pairs"
    ranking = ("val_accuracy", "val_spearman", "-val_loss", "-loss")

    data: PairsDataConfig = PairsDataConfig()


@dataclasses.dataclass(frozen=True)
class SpansConfig(LabelledConfig):
    """Everything that determines a run of the task "spans"; see `LabelledConfig`."""

    task = "spans"
    ranking = ("val_f1", "-val_loss", "-loss")

    data: SpansDataConfig = SpansDataConfig()


@dataclasses.dataclass(frozen=True)
class TagsConfig(LabelledConfig):
    """Everything that determines a run of the task "tags"; see `LabelledConfig`."""

    task = "tags"
    ranking = ("val_f1", "val_accuracy", "-val_loss", "-loss")

    data: TagsDataConfig = TagsDataConfig()
