"""The shape of a Transformer, and the rows of the paper's Table 3 as presets."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, get_args

from keras_transformer.config.checks import preset_of, require, require_fraction, require_positive

Positions = Literal["sinusoidal", "sinusoidal_halves", "sinusoidal_t2t", "learned", "none"]

# Of the scores in `layers/scores.py`, those that compare a query with a key, whatever their places.
AttentionScore = Literal["scaled_dot", "dot", "general", "cosine", "additive"]


@dataclasses.dataclass(frozen=True)
class TransformerConfig:
    """The shape of a Transformer, in the terms of the paper's Table 3.

    Args:
        vocab_size: Size of the target vocabulary, and of the source's when it is joint.
        source_vocab_size: Size of the source vocabulary; None for a joint one.
        num_layers: N, layers in the encoder and, unless said otherwise, in the decoder.
        d_model: Width of every sub-layer's output. Even when positions are sinusoidal.
        d_ff: Inner width of the feed-forward networks.
        num_heads: h, attention heads.
        key_dim: d_k, width of a query or key in one head; None for `d_model / num_heads`.
        value_dim: d_v, width of a value in one head; None for `d_model / num_heads`.
        dropout: P_drop, on sub-layer outputs and embedding sums.
        attention_dropout: Dropout on attention weights; the paper has none.
        norm_first: Pre-norm residuals instead of the paper's post-norm.
        positions: "sinusoidal", "learned" as in row E of Table 3, or "none"; or, with all sines
            before all cosines, "sinusoidal_halves" of the paper's frequencies and
            "sinusoidal_t2t" of those of its authors' code.
        tie_embeddings: One matrix for target embedding and logits and, with a joint vocabulary, for
            the source embedding too.
        activation: Activation of the feed-forward networks, by its Keras name; or "quick_gelu",
            x sigmoid(1.702 x).
        max_length: Longest source or target in tokens.
        num_decoder_layers: Layers in the decoder; None for `num_layers`.
        share_embeddings: One matrix for the embeddings of source and target, which takes a joint
            vocabulary; None for what `tie_embeddings` says of it.
        scale_embeddings: Multiply embeddings by sqrt(d_model), as the paper does.
        zero_start: The decoder begins with a vector of zeros in place of that of bos.
        embedding_norm: Normalize the sum of embeddings and positions.
        attention_bias: Add a bias in the projections of attention.
        output_bias: Add a bias to the logits.
        norm_epsilon: What layer normalization adds to the variance.
        attention_score: Score of all attention: "scaled_dot", the paper's; "dot", "general",
            "cosine" or "additive".
        window: r, positions that a position sees in self-attention: in the encoder those around it,
            of which an even r has one more before it; in the decoder its own and those before it.
            None for all.

    Raises:
        ValueError: If a value is out of its range.

    Example:
        >>> TransformerConfig.preset("base_h4", vocab_size=8000).num_heads
        4

    Reference:
        "Attention Is All You Need", Table 3.
    """

    vocab_size: int = 37000
    source_vocab_size: int | None = None
    num_layers: int = 6
    d_model: int = 512
    d_ff: int = 2048
    num_heads: int = 8
    key_dim: int | None = None
    value_dim: int | None = None
    dropout: float = 0.1
    attention_dropout: float = 0.0
    norm_first: bool = False
    positions: Positions = "sinusoidal"
    tie_embeddings: bool = True
    activation: str = "relu"
    max_length: int = 256
    num_decoder_layers: int | None = None
    share_embeddings: bool | None = None
    scale_embeddings: bool = True
    zero_start: bool = False
    embedding_norm: bool = False
    attention_bias: bool = False
    output_bias: bool = False
    norm_epsilon: float = 1e-6
    attention_score: AttentionScore = "scaled_dot"
    window: int | None = None

    def __post_init__(self) -> None:
        sizes = ("vocab_size", "num_layers", "d_model", "d_ff", "num_heads")
        require_positive(self, *sizes, "norm_epsilon")
        expected = "at least 2, a token and eos"
        require(self.max_length >= 2, "max_length", expected, self.max_length)
        for name in ("source_vocab_size", "key_dim", "value_dim", "num_decoder_layers", "window"):
            value = getattr(self, name)
            require(value is None or value > 0, name, "positive or None", value)
        if None in (self.key_dim, self.value_dim) and self.d_model % self.num_heads:
            raise ValueError(
                "`d_model` must be divisible by `num_heads` unless both `key_dim` and `value_dim` "
                f"are given. Received: d_model={self.d_model}, num_heads={self.num_heads}"
            )
        require_fraction(self, "dropout", "attention_dropout")
        fits = not self.share_embeddings or self.joint_vocabulary
        expected = "None or False without a joint vocabulary"
        require(fits, "share_embeddings", expected, self.share_embeddings)
        known = get_args(AttentionScore)
        expected = f"one of {known}"
        require(self.attention_score in known, "attention_score", expected, self.attention_score)
        known = get_args(Positions)
        require(self.positions in known, "positions", f"one of {known}", self.positions)
        if self.positions.startswith("sinusoidal"):
            expected = "even, because sinusoidal positions pair a sine with a cosine"
            require(self.d_model % 2 == 0, "d_model", expected, self.d_model)

    @classmethod
    def preset(cls, name: str, **overrides: Any) -> "TransformerConfig":
        """Returns a row of the paper's Table 3, or `tiny`, with fields overridden.

        Args:
            name: A key of `PRESETS`.
            **overrides: Fields of `TransformerConfig`.

        Raises:
            ValueError: If the preset is unknown; the message lists the known ones.

        Example:
            >>> TransformerConfig.preset("tiny", vocab_size=4000).d_model
            128
        """
        return cls(**{**preset_of(PRESETS, name), **overrides})

    @classmethod
    def of(cls, config: "TransformerConfig | Mapping[str, Any]") -> "TransformerConfig":
        """Returns a configuration as it is, or makes it of the fields that a saved model holds."""
        if isinstance(config, TransformerConfig):
            return config
        # Models that were saved before label smoothing became an option of the training have it.
        return cls(**{name: value for name, value in config.items() if name != "label_smoothing"})

    def meaning(self) -> dict[str, Any]:
        """Returns what gives weights their shapes and their meaning, with defaults resolved."""
        free = ("dropout", "attention_dropout", "max_length")
        values = {**dataclasses.asdict(self), "key_dim": self.head_key_dim}
        values["value_dim"] = self.head_value_dim
        values["num_decoder_layers"] = self.decoder_layers
        values["share_embeddings"] = self.one_embedding
        return {name: value for name, value in values.items() if name not in free}

    def floats_of_pair(self, source_length: int, target_length: int) -> int:
        """Returns about how many floats a step keeps of a pair of sentences for its gradient.

        Logits, activations and attention weights.
        """
        activations = (source_length + target_length) * (12 * self.d_model + 2 * self.d_ff)
        pairs = source_length * target_length
        for length in (source_length, target_length):
            # Restricted attention computes some logits beside those of the window.
            pairs += length * min(length, 2 * self.window if self.window else length)
        weights = 3 * self.num_heads * pairs
        num_layers = max(self.num_layers, self.decoder_layers)
        return 3 * target_length * self.vocab_size + num_layers * (activations + weights)

    @property
    def head_key_dim(self) -> int:
        """d_k, with its default resolved."""
        return self.key_dim or self.d_model // self.num_heads

    @property
    def head_value_dim(self) -> int:
        """d_v, with its default resolved."""
        return self.value_dim or self.d_model // self.num_heads

    @property
    def decoder_layers(self) -> int:
        """Layers in the decoder, with the default resolved."""
        return self.num_decoder_layers or self.num_layers

    @property
    def one_embedding(self) -> bool:
        """Whether one matrix embeds source and target, with the default resolved."""
        if self.share_embeddings is None:
            return self.joint_vocabulary and self.tie_embeddings
        return self.share_embeddings

    @property
    def joint_vocabulary(self) -> bool:
        """Whether source and target share one vocabulary."""
        return self.source_vocab_size is None


# To repeat a row, add its preset, or its one option, to the recipe of the base model.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "tiny": dict(num_layers=4, d_model=128, d_ff=256, num_heads=4),
    "base": {},
    "big": dict(d_model=1024, d_ff=4096, num_heads=16, dropout=0.3),
    # Table 3, row A: heads at constant computation.
    "base_h1": dict(num_heads=1),
    "base_h4": dict(num_heads=4),
    "base_h16": dict(num_heads=16),
    "base_h32": dict(num_heads=32),
    # Row B: key width alone.
    "base_dk16": dict(key_dim=16),
    "base_dk32": dict(key_dim=32),
    # Row C: model size.
    "base_n2": dict(num_layers=2),
    "base_n4": dict(num_layers=4),
    "base_n8": dict(num_layers=8),
    "base_d256": dict(d_model=256),
    "base_d1024": dict(d_model=1024),
    "base_ff1024": dict(d_ff=1024),
    "base_ff4096": dict(d_ff=4096),
    # Row D: regularisation. Label smoothing is the training's: see `TRAINING_PRESETS`.
    "base_drop0.0": dict(dropout=0.0),
    "base_drop0.2": dict(dropout=0.2),
    "base_ls0.0": {},
    "base_ls0.2": {},
    # Row E: positions.
    "base_learned_positions": dict(positions="learned"),
}
