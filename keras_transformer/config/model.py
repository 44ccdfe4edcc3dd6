"""What the configuration of every model family tells those who know no family."""

from typing import Any, Protocol


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

    def floats_of_pair(self, source_length: int, target_length: int) -> int:
        """Returns about how many floats a step keeps of a pair of sentences for its gradient."""
