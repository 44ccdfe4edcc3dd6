"""How translations are searched; the defaults are the paper's (Section 6.1)."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args

from keras_transformer.config.checks import require, require_positive

LengthNormalization = Literal["gnmt", "length"]

# The values with which an option does nothing, whether it is read or not.
_NEUTRAL: Mapping[str, Any] = {
    "beam_size": 1,
    "length_penalty": 0.0,
    "length_normalization": "gnmt",
    "coverage_penalty": 0.0,
    "early_stopping": False,
    "temperature": 1.0,
    "top_k": 0,
    "top_p": 1.0,
    "seed": None,
}


@dataclasses.dataclass(frozen=True)
class DecodingConfig:
    """How translations are searched.

    Beam, length penalty and the most tokens of a translation are by default those of Section 6.1.

    Args:
        beam_size: Hypotheses that are extended side by side; 1 is greedy search.
        length_penalty: alpha, exponent of the length penalty.
        length_normalization: What alpha is the exponent of: "gnmt", (5 + length) / 6, or "length"
            alone, as in Marian.
        coverage_penalty: beta, weight of GNMT's penalty for source tokens that get no attention.
        early_stopping: End the search of a sentence once `beam_size` hypotheses have ended, and not
            only when no other can win any more. Faster, and almost as good.
        num_hypotheses: Translations of each sentence, at most `beam_size` unless sampled.
        max_extra_tokens: A translation has at most this many tokens more than its source.
        min_length: Least tokens of a translation, eos not counted. With 0, a beam finds the empty
            translation of some sentences.
        no_repeat_ngram: Allow no sequence of so many tokens twice in a translation; 0 allows all.
        banned_pieces: Pieces of the vocabulary that no translation contains.
        sampling: Draw translations at random in place of a beam.
        temperature: Of the sampling: below 1 makes likely tokens likelier.
        top_k: Sample from so many of the most probable tokens; 0 for all.
        top_p: Sample from the fewest most probable tokens of this probability together.
        seed: Of the sampling: with it, a line's draws follow from the seed and the line's place in
            the input. None draws anew in each call.
        split_sentences: Translate each sentence of a text on its own, and not only those of a text
            that is too long for the model: for documents, where it was trained on sentences.
        batch_size: Sentences that are translated together.
        target_language: Of a vocabulary with language tags, such as `>>fra<<`, the one that is
            meant where a text does not begin with a tag: "fra". None for a vocabulary without tags.
    """

    beam_size: int = 4
    length_penalty: float = 0.6
    length_normalization: LengthNormalization = "gnmt"
    coverage_penalty: float = 0.0
    early_stopping: bool = False
    num_hypotheses: int = 1
    max_extra_tokens: int = 50
    min_length: int = 1
    no_repeat_ngram: int = 0
    banned_pieces: tuple[str, ...] = ()
    sampling: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int | None = None
    split_sentences: bool = False
    batch_size: int = 64
    target_language: str | None = None

    def __post_init__(self) -> None:
        require_positive(self, "beam_size", "num_hypotheses", "temperature", "batch_size")
        at_least_0 = ("coverage_penalty", "max_extra_tokens", "min_length", "no_repeat_ngram")
        for name in (*at_least_0, "top_k"):
            require(getattr(self, name) >= 0, name, "at least 0", getattr(self, name))
        known = get_args(LengthNormalization)
        received = self.length_normalization
        require(received in known, "length_normalization", f"one of {known}", received)
        fits = self.seed is None or self.seed >= 0
        require(fits, "seed", "None or at least 0", self.seed)
        require(0.0 < self.top_p <= 1.0, "top_p", "in (0, 1]", self.top_p)
        fits = self.sampling or self.num_hypotheses <= self.beam_size
        expected = f"at most beam_size={self.beam_size} unless sampled"
        require(fits, "num_hypotheses", expected, self.num_hypotheses)
        # JSON and YAML give lists.
        object.__setattr__(self, "banned_pieces", tuple(self.banned_pieces))

    def with_options(self, options: Mapping[str, Any]) -> "DecodingConfig":
        """Returns the same with what a caller asks for, who is told of what has no effect.

        Args:
            options: Fields and their values.

        Raises:
            ValueError: If a value is out of its range, or a field that is to do something is not
                read by such a search.

        Example:
            >>> DecodingConfig().with_options({"sampling": True, "temperature": 0.7}).temperature
            0.7
        """
        config = dataclasses.replace(self, **options)
        for fields, reason in config._not_read():
            for name in fields:
                if name in options and options[name] != _NEUTRAL[name]:
                    raise ValueError(
                        f"`{name}` has no effect {reason}; leave it out, or change that. "
                        f"Received: {name}={options[name]!r}"
                    )
        return config

    def _not_read(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yields fields that the search does not read, and why."""
        lengths = "length_penalty", "length_normalization"
        if self.sampling:
            yield ("beam_size", *lengths, "early_stopping"), "with `sampling`"
        else:
            yield ("temperature", "top_k", "top_p", "seed"), "without `sampling`"
        if (self.num_hypotheses if self.sampling else self.beam_size) == 1:
            fields = *lengths, "coverage_penalty", "early_stopping"
            yield fields, "on a single hypothesis"

    def greedy(self) -> "DecodingConfig":
        """Returns the same with greedy search: one hypothesis, and no penalty to order it by."""
        return dataclasses.replace(
            self, beam_size=1, num_hypotheses=1, coverage_penalty=0.0, sampling=False
        )
