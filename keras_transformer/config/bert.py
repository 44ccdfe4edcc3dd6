"""The shape of BERT, and the sizes that are known by name."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from keras_transformer.config.checks import preset_of, require, require_fraction, require_positive
from keras_transformer.config.transformer import TransformerConfig


@dataclasses.dataclass(frozen=True)
class BertConfig:
    """The shape of BERT, the encoder of a Transformer that reads in both directions.

    Args:
        vocab_size: Size of the vocabulary, special pieces included.
        num_layers: L, layers.
        d_model: H, width of every sub-layer's output.
        d_ff: Inner width of the feed-forward networks.
        num_heads: A, attention heads.
        dropout: Dropout rate of sub-layer outputs, of the embedding sum, and before heads.
        attention_dropout: Dropout rate of attention weights.
        activation: Activation of the feed-forward networks and of the masked words' head, by its
            Keras name; "gelu" is that of the error function, "gelu_tanh" its approximation, which
            Google's own code has.
        max_length: Positions there are, and so the longest input in tokens.
        num_segments: Segments that tokens are told apart by, as the two texts of a pair.
        norm_epsilon: What layer normalization adds to the variance.
        initial_stddev: Standard deviation of the truncated normal distribution that matrices begin
            with.

    Raises:
        ValueError: If a value is out of its range.

    Example:
        >>> BertConfig.preset("bert_large", vocab_size=30522).num_layers
        24

    Reference:
        "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding", arXiv
        1810.04805, Section 3.
    """

    vocab_size: int = 30522
    num_layers: int = 12
    d_model: int = 768
    d_ff: int = 3072
    num_heads: int = 12
    dropout: float = 0.1
    attention_dropout: float = 0.1
    activation: str = "gelu"
    max_length: int = 512
    num_segments: int = 2
    norm_epsilon: float = 1e-12
    initial_stddev: float = 0.02

    def __post_init__(self) -> None:
        sizes = ("vocab_size", "num_layers", "d_model", "d_ff", "num_heads", "num_segments")
        require_positive(self, *sizes, "norm_epsilon", "initial_stddev")
        expected = "at least 3, a token between the two that frame a text"
        require(self.max_length >= 3, "max_length", expected, self.max_length)
        expected = f"divisible by num_heads={self.num_heads}"
        require(self.d_model % self.num_heads == 0, "d_model", expected, self.d_model)
        require_fraction(self, "dropout", "attention_dropout")

    @classmethod
    def preset(cls, name: str, **overrides: Any) -> "BertConfig":
        """Returns a size that is known by name, with fields overridden.

        Args:
            name: A key of `BERT_PRESETS`.
            **overrides: Fields of `BertConfig`.

        Raises:
            ValueError: If the preset is unknown; the message lists the known ones.

        Example:
            >>> BertConfig.preset("bert_tiny", vocab_size=8000).d_model
            128
        """
        return cls(**{**preset_of(BERT_PRESETS, name), **overrides})

    @classmethod
    def of(cls, config: "BertConfig | Mapping[str, Any]") -> "BertConfig":
        """Returns a configuration as it is, or makes it of the fields that a saved model holds."""
        return config if isinstance(config, BertConfig) else cls(**config)

    @property
    def encoder(self) -> TransformerConfig:
        """The same shape in the terms of the paper's encoder, which BERT's is."""
        return TransformerConfig(
            vocab_size=self.vocab_size,
            num_layers=self.num_layers,
            d_model=self.d_model,
            d_ff=self.d_ff,
            num_heads=self.num_heads,
            dropout=self.dropout,
            attention_dropout=self.attention_dropout,
            activation=self.activation,
            max_length=self.max_length,
            positions="learned",
            scale_embeddings=False,
            embedding_norm=True,
            attention_bias=True,
            norm_epsilon=self.norm_epsilon,
        )

    def require_segments(self, count: int) -> None:
        """Checks that so many texts can be read side by side.

        Args:
            count: Texts of an input.

        Raises:
            ValueError: If there are fewer segments.

        Example:
            >>> BertConfig().require_segments(2)
        """
        expected = f"at least {count}, one for each text of an input"
        require(self.num_segments >= count, "model.num_segments", expected, self.num_segments)

    def meaning(self) -> dict[str, Any]:
        """Returns what gives weights their shapes and their meaning."""
        free = ("dropout", "attention_dropout", "initial_stddev")
        return {k: v for k, v in dataclasses.asdict(self).items() if k not in free}

    def floats_of_text(self, length: int) -> int:
        """Returns about how many floats a step keeps of a text for its gradient, without heads."""
        activations = length * (12 * self.d_model + 2 * self.d_ff)
        return self.num_layers * (activations + 3 * self.num_heads * length**2)


# Base and large are the paper's; the others are its authors' small ones (arXiv 1908.08962), which
# they call BERT-small and BERT-tiny.
BERT_PRESETS: Mapping[str, Mapping[str, Any]] = {
    "bert_base": {},
    "bert_large": dict(num_layers=24, d_model=1024, d_ff=4096, num_heads=16),
    "bert_small": dict(num_layers=4, d_model=512, d_ff=2048, num_heads=8),
    "bert_tiny": dict(num_layers=2, d_model=128, d_ff=512, num_heads=2),
}
