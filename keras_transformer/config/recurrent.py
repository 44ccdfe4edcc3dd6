"""The shape of a recurrent encoder-decoder, and the papers' decoders as presets."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, get_args

from keras_transformer.config.checks import preset_of, require, require_fraction, require_positive

Attention = Literal["bahdanau", "luong", "none"]
Cell = Literal["gru", "lstm"]
Score = Literal["additive", "dot", "general", "concat", "location", "scaled_dot", "cosine"]
Alignment = Literal["soft", "global", "local_m", "local_p", "hard", "gumbel"]

# Scores that are products of a query with a key as they are.
_OF_EQUAL_WIDTHS = ("dot", "scaled_dot", "cosine")


@dataclasses.dataclass(frozen=True)
class RecurrentConfig:
    """The shape of a recurrent encoder-decoder, with attention or without.

    The widths are those of small models for Multi30k. Bahdanau et al. have embeddings of 620 and
    1,000 units everywhere, Luong et al. 1,000 and four layers.

    Args:
        vocab_size: Size of the target vocabulary, and of the source's when it is joint.
        source_vocab_size: Size of the source vocabulary; None for a joint one.
        attention: Whose decoder: "bahdanau" attends with the state before the step, "luong" with
            the one after it, "none" reads one fixed vector of the source at each step.
        score: How a state and an annotation are compared; see `layers/scores.py`.
        alignment: How weights come from the scores; see `layers/alignments.py`.
        cell: "gru" or "lstm".
        num_layers: Layers of the encoder and of the decoder.
        embedding_dim: m, width of an embedding and of what gives the logits.
        encoder_units: n, units of the encoder in each direction; an annotation has 2 n.
        decoder_units: Units of a decoder layer.
        attention_units: n', width of the hidden layer of scores and alignments that have one.
        half_width: D, places on each side of the centre of a local alignment.
        input_feeding: Whether Luong's decoder reads its last attentional vector.
        residual: Add to the output of each layer but the first what it read.
        tie_embeddings: One matrix for target embedding and logits and, with a joint vocabulary, for
            the source embedding too.
        embedding_dropout: Dropout rate of embeddings, and between layers of the encoder.
        dropout: Dropout rate of annotations, and of what gives the logits.
        max_length: Longest source or target in tokens.

    Raises:
        ValueError: If a value is out of its range.

    Example:
        >>> RecurrentConfig.preset("rnn_luong", vocab_size=8000).score
        'general'

    Reference:
        "Neural Machine Translation by Jointly Learning to Align and Translate", arXiv 1409.0473;
        "Effective Approaches to Attention-based Neural Machine Translation", arXiv 1508.04025.
    """

    vocab_size: int = 37000
    source_vocab_size: int | None = None
    attention: Attention = "bahdanau"
    score: Score = "additive"
    alignment: Alignment = "soft"
    cell: Cell = "gru"
    num_layers: int = 1
    embedding_dim: int = 128
    encoder_units: int = 256
    decoder_units: int = 256
    attention_units: int = 256
    half_width: int = 10
    input_feeding: bool = True
    residual: bool = False
    tie_embeddings: bool = True
    embedding_dropout: float = 0.3
    dropout: float = 0.5
    max_length: int = 256

    def __post_init__(self) -> None:
        require_positive(self, "vocab_size", "num_layers", "embedding_dim", "encoder_units")
        require_positive(self, "decoder_units", "attention_units", "half_width")
        expected = "at least 2, a token and eos"
        require(self.max_length >= 2, "max_length", expected, self.max_length)
        size = self.source_vocab_size
        require(size is None or size > 0, "source_vocab_size", "positive or None", size)
        require_fraction(self, "embedding_dropout", "dropout")
        for name, kind in (
            ("attention", Attention),
            ("score", Score),
            ("alignment", Alignment),
            ("cell", Cell),
        ):
            known, value = get_args(kind), getattr(self, name)
            require(value in known, name, f"one of {', '.join(known)}", value)
        annotation = 2 * self.encoder_units
        if self.score in _OF_EQUAL_WIDTHS and self.decoder_units != annotation:
            raise ValueError(
                f"`decoder_units` must be 2 * encoder_units = {annotation} for the score "
                f"{self.score!r}, which multiplies states with annotations; or take the score "
                f"'general'. Received: decoder_units={self.decoder_units}"
            )

    @classmethod
    def preset(cls, name: str, **overrides: Any) -> "RecurrentConfig":
        """Returns the decoder of a paper, with fields overridden.

        Args:
            name: A key of `RECURRENT_PRESETS`.
            **overrides: Fields of `RecurrentConfig`.

        Raises:
            ValueError: If the preset is unknown; the message lists the known ones.

        Example:
            >>> RecurrentConfig.preset("rnn_bahdanau", vocab_size=4000).attention
            'bahdanau'
        """
        return cls(**{**preset_of(RECURRENT_PRESETS, name), **overrides})

    @classmethod
    def of(cls, config: "RecurrentConfig | Mapping[str, Any]") -> "RecurrentConfig":
        """Returns a configuration as it is, or makes it of the fields that a saved model holds."""
        return config if isinstance(config, RecurrentConfig) else cls(**config)

    def meaning(self) -> dict[str, Any]:
        """Returns what gives weights their shapes and their meaning."""
        free = ["embedding_dropout", "dropout"]
        if self.score != "location":  # Its matrix has a row for each position.
            free.append("max_length")
        return {name: value for name, value in dataclasses.asdict(self).items() if name not in free}

    def floats_of_pair(self, source_length: int, target_length: int) -> int:
        """Returns about how many floats a step keeps of a pair of sentences for its gradient.

        Logits; of each cell its gates, its states and what it read; of each step's attention what
        the score keeps, and the weights.
        """
        cells = 12 * self.num_layers
        encoder = source_length * (2 * cells * self.encoder_units + 2 * self.embedding_dim)
        decoder = target_length * (cells * self.decoder_units + 8 * self.embedding_dim)
        attention = 3 * target_length * source_length * self.attention_units
        return 3 * target_length * self.vocab_size + encoder + decoder + attention

    @property
    def d_model(self) -> int:
        """The width that scales the learning rate (Equation 3): the decoder's."""
        return self.decoder_units

    @property
    def joint_vocabulary(self) -> bool:
        """Whether source and target share one vocabulary."""
        return self.source_vocab_size is None


RECURRENT_PRESETS: Mapping[str, Mapping[str, Any]] = {
    # Sutskever et al. (2014) and Cho et al. (2014): all of a sentence in one vector.
    "rnn_no_attention": dict(attention="none"),
    "rnn_bahdanau": dict(attention="bahdanau", score="additive"),
    "rnn_luong": dict(attention="luong", score="general", cell="lstm"),
}
