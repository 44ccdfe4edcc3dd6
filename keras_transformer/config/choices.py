"""Which options of a run a person has asked for, and which are left to the program.

What is left open is decided once, when a run is made. From then on it is the run's own: the same
call finds it there, on a machine with other devices too.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from keras_transformer.config.sections import RunSections

Config = TypeVar("Config", bound=RunSections)

# What is open wherever it was not asked for: it may be more than the text has.
_FITTED = "model.vocab_size"


@dataclasses.dataclass(frozen=True)
class Choices:
    """What was asked for.

    Args:
        given: Options that were, by their dotted names; None for all there are.
        automatic: Whether rules choose the others, by the corpus and the machine. Else they have
            their defaults, and the vocabulary's size is open alone, to be fitted to the text.

    Example:
        >>> choices = Choices(frozenset({"model.dropout"}), automatic=True)
        >>> choices.leaves_open("model.dropout"), choices.leaves_open("model.d_model")
        (False, True)
    """

    given: frozenset[str] | None = None
    automatic: bool = False

    def leaves_open(self, option: str) -> bool:
        """Returns whether the program may choose an option."""
        open_ones = self.automatic or option == _FITTED
        return open_ones and self.given is not None and option not in self.given

    def filled(self, config: Config, other: RunSections) -> Config:
        """Returns a configuration that has what is open from another one.

        A section of another class, as that of another family's model, stays as it is.

        Args:
            config: The configuration, in which only what was asked for counts.
            other: Such as that of the run that is to go on.

        Example:
            >>> choices = Choices(frozenset({"model.dropout"}), automatic=True)
            >>> other = RunConfig(TransformerConfig(d_model=64, dropout=0.4))
            >>> filled = choices.filled(RunConfig(TransformerConfig(dropout=0.2)), other)
            >>> filled.model.d_model, filled.model.dropout
            (64, 0.2)
        """
        if self.given is None:
            return config
        sections: dict[str, Any] = {}
        for section in dataclasses.fields(config):
            mine: Any = getattr(config, section.name)
            others: Any = getattr(other, section.name, None)
            if type(mine) is type(others):
                names = (field.name for field in dataclasses.fields(mine))
                taken = (name for name in names if self.leaves_open(f"{section.name}.{name}"))
                values = {name: getattr(others, name) for name in taken}
                sections[section.name] = dataclasses.replace(mine, **values)
        return dataclasses.replace(config, **sections)

    def inherited(self, config: Config, other: RunSections, section: str) -> Config:
        """Returns a configuration with what was not asked for in a section from another one.

        Unlike `filled` it does so without rules as well: a run that begins with another one, and
        has no default of its own there.

        Args:
            config: The configuration.
            other: That of the run that it begins with.
            section: Name of the section; one that either has not stays as it is.

        Example:
            >>> choices = Choices(frozenset({"decoding.beam_size"}))
            >>> other = RunConfig(decoding=DecodingConfig(beam_size=6, min_length=0))
            >>> inherited = choices.inherited(RunConfig(), other, "decoding").decoding
            >>> inherited.beam_size, inherited.min_length
            (4, 0)
        """
        mine: Any = getattr(config, section, None)
        others: Any = getattr(other, section, None)
        if self.given is None or mine is None or type(mine) is not type(others):
            return config
        values = {
            field.name: getattr(others, field.name)
            for field in dataclasses.fields(mine)
            if f"{section}.{field.name}" not in self.given
        }
        changed: Any = {section: dataclasses.replace(mine, **values)}
        return dataclasses.replace(config, **changed)

    def chosen(self, config: Config, values: Mapping[str, Any]) -> Config:
        """Returns a configuration with values for those of some options that are open.

        Args:
            config: The configuration.
            values: By the options' dotted names.

        Example:
            >>> choices = Choices(frozenset({"model.dropout"}), automatic=True)
            >>> values = {"model.dropout": 0.9, "model.d_model": 64}
            >>> choices.chosen(RunConfig(), values).model.d_model
            64
        """
        changes: dict[str, dict[str, Any]] = {}
        for option, value in values.items():
            if self.leaves_open(option):
                section, _, name = option.partition(".")
                changes.setdefault(section, {})[name] = value
        sections: dict[str, Any] = {
            name: dataclasses.replace(getattr(config, name), **changed)
            for name, changed in changes.items()
        }
        return dataclasses.replace(config, **sections)

    def without_foreign_validation(self, config: Config) -> Config:
        """Returns a configuration without the default's validation corpus for another's training.

        Args:
            config: The configuration, with a section `data` that has `train` and `valid`.

        Example:
            >>> choices = Choices(frozenset({"data.train"}))
            >>> choices.without_foreign_validation(RunConfig()).data.valid is None
            True
        """
        given, data = self.given or frozenset(), getattr(config, "data")  # noqa: B009
        if "data.train" not in given or "data.valid" in given:
            return config
        changed: Any = {"data": dataclasses.replace(data, valid=None)}
        return dataclasses.replace(config, **changed)


ALL_GIVEN = Choices()
