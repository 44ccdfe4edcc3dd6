"""What the configurations of all tasks have in common: sections, and how checkpoints are ranked."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self

from keras_transformer.config.training import TrainingConfig
from keras_transformer.config.transformer import TransformerConfig

# What a family's model is, and a task needs: an encoder with a decoder, or an encoder alone.
Architecture = Literal["encoder_decoder", "encoder"]


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
        architecture: What its models are.
        preset: The preset where none is named.
        counted: What the speed of a training is told in.
    """

    task: ClassVar[str]
    ranking: ClassVar[tuple[str, ...]] = ("-val_loss", "-loss")
    floors: ClassVar[Mapping[str, float]] = MappingProxyType({})
    architecture: ClassVar[Architecture] = "encoder_decoder"
    preset: ClassVar[str] = "base"
    counted: ClassVar[str] = "tokens"

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
            TypeError: If a section or a field is unknown.
        """
        sections: dict[str, Any] = {field.name: field.type for field in dataclasses.fields(cls)}
        sections["model"] = model
        unknown = sorted(values.keys() - sections.keys())
        if unknown:
            raise TypeError(f"{cls.__name__} has no section {', '.join(unknown)}")
        return cls(**{name: _restored(sections[name], part) for name, part in values.items()})


def _restored(section: Any, values: Mapping[str, Any]) -> Any:
    """Makes a section of the values that JSON has, which knows lists in place of tuples."""
    tuples = {f.name for f in dataclasses.fields(section) if isinstance(f.default, tuple)}
    return section(**{n: tuple(v) if n in tuples else v for n, v in values.items()})
