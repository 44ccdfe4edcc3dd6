"""Everything that determines a run, in sections.

A task has a class of its own here, with the sections that it needs: `RunConfig` is translation's.
What trains, keeps and resumes a run needs no more of it than `RunSections` has.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self

from keras_transformer.config.data import DataConfig
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.config.tokenizer import TokenizerConfig
from keras_transformer.config.training import TrainingConfig
from keras_transformer.config.transformer import TransformerConfig
from keras_transformer.config.validation import ValidationConfig


class ModelConfig(Protocol):
    """What a family's configuration tells those who know no family.

    A frozen dataclass: its fields are the options of the command line and entries of `run.json`.
    """

    @property
    def d_model(self) -> int:
        """The width that scales the learning rate (Equation 3)."""

    def meaning(self) -> dict[str, Any]:
        """Returns what gives weights their shapes and their meaning, with defaults resolved.

        Where two configurations agree in it, the weights of one are of use to the other.
        """

    def floats_of_pair(self, source_length: int, target_length: int) -> int:
        """Returns about how many floats a step keeps of a pair of sentences for its gradient."""


class Seq2SeqConfig(ModelConfig, Protocol):
    """What the configuration of a family that translates tells besides."""

    @property
    def vocab_size(self) -> int:
        """Size of the target vocabulary, and of the source's when it is joint."""

    @property
    def source_vocab_size(self) -> int | None:
        """Size of the source vocabulary; None for a joint one."""

    @property
    def max_length(self) -> int:
        """Longest source or target in tokens."""


@dataclasses.dataclass(frozen=True)
class RunSections:
    """What the configurations of all tasks have in common.

    A subclass names its task, may add sections, and may narrow what `ranking` says.

    Args:
        model: The model; its class tells the family.
        training: The training regime.

    Attributes:
        task: Name of the task, as `run.json` has it.
        ranking: Metrics by which checkpoints are ranked, the most telling first; a minus before a
            name says that less is better. A checkpoint that has an earlier one beats one that has
            none but later ones.
    """

    task: ClassVar[str]
    ranking: ClassVar[tuple[str, ...]] = ("-val_loss", "-loss")

    model: Any
    training: TrainingConfig

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Returns nested plain values, as `run.json` holds them."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(
        cls, values: Mapping[str, Mapping[str, Any]], model: type = TransformerConfig
    ) -> Self:
        """Returns the configuration that `to_dict` gave.

        Args:
            values: The sections.
            model: The family's configuration class.

        Raises:
            TypeError: If a field is unknown.
        """
        sections: dict[str, Any] = {field.name: field.type for field in dataclasses.fields(cls)}
        sections["model"] = model
        return cls(**{name: _restored(sections[name], part) for name, part in values.items()})


@dataclasses.dataclass(frozen=True)
class RunConfig(RunSections):
    """Everything that determines a run of the task "translation".

    Args:
        model: The model; its `vocab_size` is the size of the vocabulary that is learned.
        tokenizer: The subword tokenizer.
        data: The corpora.
        training: The training regime.
        decoding: How translations are searched. BLEU after each epoch is that of greedy search,
            which ranks checkpoints as well and takes a fraction of the time.
        validation: What is measured and shown after each epoch.
    """

    task = "translation"
    ranking = ("val_bleu", "-val_loss", "-loss")

    model: Seq2SeqConfig = TransformerConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    data: DataConfig = DataConfig()
    training: TrainingConfig = TrainingConfig()
    decoding: DecodingConfig = DecodingConfig()
    validation: ValidationConfig = ValidationConfig()


# The configuration of each task by its name; `keras_transformer.tasks` has what each does.
RUN_CONFIGS: dict[str, type[RunSections]] = {RunConfig.task: RunConfig}


def _restored(section: Any, values: Mapping[str, Any]) -> Any:
    """Makes a section of the values that JSON has, which knows lists in place of tuples."""
    tuples = {f.name for f in dataclasses.fields(section) if isinstance(f.default, tuple)}
    return section(**{n: tuple(v) if n in tuples else v for n, v in values.items()})
