"""Beyond the paper: the scores that attention has been computed from, each a layer.

A score says how well each key answers each query, before a softmax makes weights of it
(`layers/alignments.py`). All have one contract:

    score(query, keys) = score.logits(query, score.project_keys(keys))

with `query` `[..., queries, query_width]`, `keys` `[..., length, key_width]` and float32 logits
`[..., queries, length]`. What depends on the keys alone is `project_keys`, so that a decoder
computes it once a sentence. Any number of axes may come first, such as those of batch and heads.
Equations are for one query s and one key h.
"""

import math
from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from keras_transformer.layers.rows import on_rows
from keras_transformer.layers.serialization import register
from keras_transformer.tensors import Shape, Tensor


def scaled_dot(query: Tensor, keys: Tensor) -> Tensor:
    """Computes Q K^T / sqrt(d_k).

    Args:
        query: float `[..., queries, d_k]`.
        keys: float `[..., length, d_k]`.

    Returns:
        float32 logits `[..., queries, length]`. The product is taken in the inputs' dtype.

    Example:
        >>> logits = scaled_dot(keras.ops.ones((2, 5, 64)), keras.ops.ones((2, 7, 64)))

    Reference:
        "Attention Is All You Need", Equation 1.
    """
    scale = 1.0 / math.sqrt(query.shape[-1])
    return ops.cast(ops.matmul(query * scale, ops.swapaxes(keys, -2, -1)), "float32")


class Score(keras.layers.Layer):
    """What all scores share. A subclass has `logits` and, if it projects keys, `project_keys`.

    Call arguments:
        query: float `[..., queries, query_width]`.
        keys: float `[..., length, key_width]`.

    Returns:
        float32 logits `[..., queries, length]`.
    """

    # Whether queries and keys must have the same width.
    equal_widths = True

    def build(self, query_shape: Shape, keys_shape: Shape) -> None:
        query_width, key_width = query_shape[-1], keys_shape[-1]
        if self.equal_widths and query_width != key_width:
            raise ValueError(
                f"`query` and `keys` must have the same width for {type(self).__name__}; project "
                "one of them, or use a score that does, such as GeneralScore. Received: a query of "
                f"width {query_width} and keys of width {key_width}"
            )

    def call(self, query: Tensor, keys: Tensor) -> Tensor:
        return self.logits(query, self.project_keys(keys))

    def project_keys(self, keys: Tensor) -> Tensor:
        """Computes what depends on the keys alone.

        Args:
            keys: float `[..., length, key_width]`.

        Returns:
            float `[..., length, width]`, for `logits`.
        """
        return keys

    def logits(self, query: Tensor, projected: Tensor) -> Tensor:
        """As a call, with the keys already projected by `project_keys`."""
        raise NotImplementedError

    def compute_output_shape(self, query_shape: Shape, keys_shape: Shape) -> Shape:
        return (*query_shape[:-1], keys_shape[-2])

    def compute_output_spec(self, query: Tensor, keys: Tensor) -> keras.KerasTensor:
        return keras.KerasTensor(self.compute_output_shape(query.shape, keys.shape), "float32")


@register
class AdditiveScore(Score):
    """Computes v^T tanh(W s + U h).

    Args:
        units: Rows of W and U.

    Raises:
        ValueError: If `units` is not positive.

    Example:
        >>> score = AdditiveScore(units=64)
        >>> logits = score(keras.ops.ones((2, 5, 32)), keras.ops.ones((2, 7, 48)))
        >>> tuple(logits.shape)
        (2, 5, 7)

    Reference:
        Bahdanau et al., "Neural Machine Translation by Jointly Learning to Align and Translate",
        arXiv 1409.0473, appendix A.1.2.
    """

    equal_widths = False

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if units < 1:
            raise ValueError(
                f"`units` must be positive, the width of the tanh. Received: units={units}"
            )
        self.units = units

    def build(self, query_shape: Shape, keys_shape: Shape) -> None:
        super().build(query_shape, keys_shape)
        initializer = self._initializer(query_shape[-1], keys_shape[-1])
        self.query_projection = self._dense(self.units, query_shape, "W", initializer)
        self.key_projection = self._dense(self.units, keys_shape, "U", initializer)
        self.v = self._dense(1, (None, self.units), "v", "glorot_uniform")

    def _initializer(self, query_width: int, key_width: int) -> Any:
        """Returns how W and U begin."""
        return "glorot_uniform"

    def _dense(
        self, units: int, input_shape: Shape, name: str, initializer: Any
    ) -> keras.layers.Dense:
        dense = keras.layers.Dense(
            units,
            use_bias=False,
            kernel_initializer=initializer,
            dtype=self.dtype_policy,
            name=name,
        )
        dense.build(input_shape)
        return dense

    def project_keys(self, keys: Tensor) -> Tensor:
        """Computes U h, float `[..., length, units]`, of keys `[..., length, key_width]`."""
        return on_rows(self.key_projection, keys)

    def logits(self, query: Tensor, projected: Tensor) -> Tensor:
        projected_query = on_rows(self.query_projection, query)
        hidden = ops.tanh(ops.expand_dims(projected_query, -2) + ops.expand_dims(projected, -3))
        return ops.cast(ops.squeeze(on_rows(self.v, hidden), -1), "float32")

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}


@register
class ConcatScore(AdditiveScore):
    """Computes v^T tanh(W [s; h]).

    W [s; h] is the sum of the products of W's two halves with s and h, so nothing is concatenated,
    and this is the additive score but for how its matrices begin: as one.

    Args:
        units: Rows of W.

    Example:
        >>> score = ConcatScore(units=64)
        >>> logits = score(keras.ops.ones((2, 5, 32)), keras.ops.ones((2, 7, 48)))

    Reference:
        Luong et al., "Effective Approaches to Attention-based Neural Machine Translation",
        arXiv 1508.04025, "concat" of its scores for global attention.
    """

    def _initializer(self, query_width: int, key_width: int) -> Any:
        limit = math.sqrt(6.0 / (query_width + key_width + self.units))
        return keras.initializers.RandomUniform(-limit, limit)


@register
class DotScore(Score):
    """Computes s^T h.

    Example:
        >>> logits = DotScore()(keras.ops.ones((2, 5, 32)), keras.ops.ones((2, 7, 32)))

    Reference:
        Luong et al., arXiv 1508.04025, "dot" of its scores for global attention.
    """

    def logits(self, query: Tensor, projected: Tensor) -> Tensor:
        return _dot(query, projected)


@register
class GeneralScore(Score):
    """Computes s^T W h.

    Example:
        >>> logits = GeneralScore()(keras.ops.ones((2, 5, 32)), keras.ops.ones((2, 7, 48)))

    Reference:
        Luong et al., arXiv 1508.04025, "general" of its scores for global attention.
    """

    equal_widths = False

    def build(self, query_shape: Shape, keys_shape: Shape) -> None:
        super().build(query_shape, keys_shape)
        self.key_projection = keras.layers.Dense(
            query_shape[-1], use_bias=False, dtype=self.dtype_policy, name="W"
        )
        self.key_projection.build(keys_shape)

    def project_keys(self, keys: Tensor) -> Tensor:
        """Computes W h, float `[..., length, query_width]`, of keys `[..., length, key_width]`."""
        return on_rows(self.key_projection, keys)

    def logits(self, query: Tensor, projected: Tensor) -> Tensor:
        return _dot(query, projected)


@register
class LocationScore(Score):
    """Computes W s, a logit for each place of a source, whatever the keys there are.

    Args:
        max_length: Rows of W, places that a source may have.

    Raises:
        ValueError: If there are more keys than places; where shapes are not known before, that is
            an error of the operation that joins logits and mask.

    Example:
        >>> score = LocationScore(max_length=50)
        >>> logits = score(keras.ops.ones((2, 5, 32)), keras.ops.ones((2, 7, 48)))

    Reference:
        Luong et al., arXiv 1508.04025, "location" of its alignments for global attention.
    """

    equal_widths = False

    def __init__(self, max_length: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if max_length < 1:
            raise ValueError(
                "`max_length` must be positive, the tokens of the longest source. Received: "
                f"max_length={max_length}"
            )
        self.max_length = max_length

    def build(self, query_shape: Shape, keys_shape: Shape) -> None:
        super().build(query_shape, keys_shape)
        self.places = keras.layers.Dense(
            self.max_length, use_bias=False, dtype=self.dtype_policy, name="W"
        )
        self.places.build(query_shape)

    def logits(self, query: Tensor, projected: Tensor) -> Tensor:
        length = projected.shape[-2]
        if isinstance(length, int) and length > self.max_length:
            raise ValueError(
                f"A source has more tokens than the {self.max_length} places of `max_length` that "
                "location scores know; raise `max_length`, shorten the source, or use another "
                f"score. Received: {length} tokens"
            )
        places = on_rows(self.places, query)[..., : ops.shape(projected)[-2]]
        return ops.cast(places, "float32")

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "max_length": self.max_length}


@register
class ScaledDotScore(Score):
    """Computes s^T h / sqrt(d), d the width of both.

    Example:
        >>> logits = ScaledDotScore()(keras.ops.ones((2, 5, 64)), keras.ops.ones((2, 7, 64)))

    Reference:
        "Attention Is All You Need", Equation 1.
    """

    def logits(self, query: Tensor, projected: Tensor) -> Tensor:
        return scaled_dot(query, projected)


@register
class CosineScore(Score):
    """Computes beta cos(s, h), with a key strength beta = softplus(w^T s + b) of each query.

    beta begins at sqrt(d), d the width of both, so that vectors with components of unit variance
    have the logits that the scaled dot product gives them.

    Example:
        >>> logits = CosineScore()(keras.ops.ones((2, 5, 32)), keras.ops.ones((2, 7, 32)))

    Reference:
        Graves et al., "Neural Turing Machines", arXiv 1410.5401, "Focusing by Content". It leaves
        open how a positive key strength is emitted.
    """

    def build(self, query_shape: Shape, keys_shape: Shape) -> None:
        super().build(query_shape, keys_shape)
        # softplus(log(exp(x) - 1)) = x.
        start = math.log(math.expm1(math.sqrt(query_shape[-1])))
        self.strength = keras.layers.Dense(
            1,
            "softplus",
            kernel_initializer="zeros",
            bias_initializer=keras.initializers.Constant(start),
            dtype=self.dtype_policy,
            name="strength",
        )
        self.strength.build(query_shape)

    def project_keys(self, keys: Tensor) -> Tensor:
        """Scales keys `[..., length, width]` to length 1."""
        return _normalized(keys)

    def logits(self, query: Tensor, projected: Tensor) -> Tensor:
        strength = ops.cast(on_rows(self.strength, query), "float32")
        return strength * _dot(_normalized(query), projected)


# Each score by its name, and the sizes that it must be told.
SCORES: Mapping[str, tuple[type[Score], tuple[str, ...]]] = {
    "additive": (AdditiveScore, ("units",)),
    "dot": (DotScore, ()),
    "general": (GeneralScore, ()),
    "concat": (ConcatScore, ("units",)),
    "location": (LocationScore, ("max_length",)),
    "scaled_dot": (ScaledDotScore, ()),
    "cosine": (CosineScore, ()),
}


def make_score(
    name: str, /, *, units: int | None = None, max_length: int | None = None, **kwargs: Any
) -> Score:
    """Makes a score by its name, with what it needs of the sizes that a model has.

    Args:
        name: A key of `SCORES`.
        units: Of "additive" and "concat".
        max_length: Of "location".
        **kwargs: Of `keras.layers.Layer`.

    Raises:
        ValueError: If the score is unknown, the message lists the known ones; or if it needs a size
            that is not given.

    Example:
        >>> make_score("additive", units=64, max_length=256).units
        64
    """
    if name not in SCORES:
        raise ValueError(f"`score` must be one of {', '.join(SCORES)}. Received: {name!r}")
    score_class, names = SCORES[name]
    sizes = {"units": units, "max_length": max_length}
    for size in names:
        if sizes[size] is None:
            raise ValueError(
                f"`{size}` must be given for the score {name!r}; give it, or use another score. "
                f"Received: {size}=None"
            )
    return score_class(**{size: sizes[size] for size in names}, **kwargs)


def _dot(query: Tensor, keys: Tensor) -> Tensor:
    """Computes Q K^T in float32: unscaled, it can pass the range of float16."""
    query, keys = ops.cast(query, "float32"), ops.cast(keys, "float32")
    return ops.matmul(query, ops.swapaxes(keys, -2, -1))


def _normalized(x: Tensor) -> Tensor:
    """Scales vectors `[..., width]` to length 1, but one that is zero; in float32 inside."""
    wide = ops.cast(x, "float32")
    squared = ops.sum(ops.square(wide), axis=-1, keepdims=True)
    # Of a root, the gradient at zero is no number.
    return ops.cast(wide * ops.rsqrt(ops.maximum(squared, 1e-12)), x.dtype)
