"""Everything that determines a run, in sections.

A task has a class of its own here, with the sections that it needs: `RunConfig` is translation's.
What trains, keeps and resumes a run needs no more of it than `RunSections` has.
"""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

from keras_transformer.config.data import DataConfig
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.config.model import Seq2SeqConfig
from keras_transformer.config.tokenizer import TokenizerConfig
from keras_transformer.config.training import TrainingConfig
from keras_transformer.config.transformer import TransformerConfig
from keras_transformer.config.validation import ValidationConfig


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
            none but later ones; a tie in an earlier one is broken by the later ones.
        floors: Values of metrics in `ranking` below which a difference tells nothing of a model.
    """

    task: ClassVar[str]
    ranking: ClassVar[tuple[str, ...]] = ("-val_loss", "-loss")
    floors: ClassVar[Mapping[str, float]] = MappingProxyType({})

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
    floors = MappingProxyType({"val_bleu": 1.0})  # Of 100.

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
