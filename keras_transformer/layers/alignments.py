"""Beyond the paper: from scores to weights, in each way that attention has been aligned.

All have one contract:

    weights = alignment(logits, attention_mask, query, position, training=training)

The logits are those of a score (`layers/scores.py`), float32 `[..., queries, length]`; the weights
have their shape and the layer's dtype, and say how much of each value a query takes. The mask is
boolean, True where attention is allowed, and broadcastable to the logits; what it hides is at the
end of a sequence. A query that may attend to nothing gets finite weights. The queries' vectors and
their positions in the target are read by local alignments alone.

Soft weights are a distribution, and their gradient is exact. Hard ones are all on one place, which
is drawn in training and the best one otherwise; a draw has no gradient, so it is estimated.
"""

from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from keras_transformer.layers.masks import masked, masked_softmax
from keras_transformer.layers.rows import on_rows
from keras_transformer.layers.serialization import register
from keras_transformer.tensors import Shape, Tensor


class Alignment(keras.layers.Layer):
    """What all alignments share.

    Call arguments:
        logits: float32 `[..., queries, length]`.
        attention_mask: bool, broadcastable to the logits, True where attention is allowed; None
            allows all.
        query: float `[..., queries, query_width]`.
        position: int, broadcastable to `[..., queries]`, positions of the queries, from 0.
        training: Whether hard alignments draw.

    Returns:
        float weights `[..., queries, length]`.
    """

    def __init__(self, **kwargs: Any) -> None:
        # The logits stay in float32, whatever the policy.
        super().__init__(autocast=False, **kwargs)

    def build(self, logits_shape: Shape, query_shape: Shape | None = None) -> None:
        """Makes nothing; Keras takes a layer without it for one that is not built yet."""

    def compute_output_shape(self, logits_shape: Shape, query_shape: Shape | None = None) -> Shape:
        return logits_shape


@register
class SoftAlignment(Alignment):
    """Weighs all places by the softmax of their logits: soft attention, which is global.

    Example:
        >>> weights = SoftAlignment()(keras.ops.zeros((1, 2, 4)))
        >>> keras.ops.convert_to_numpy(weights)[0, 0].tolist()
        [0.25, 0.25, 0.25, 0.25]

    Reference:
        Bahdanau et al., arXiv 1409.0473; called "soft" by Xu et al., arXiv 1502.03044, and "global"
        by Luong et al., arXiv 1508.04025.
    """

    def call(
        self,
        logits: Tensor,
        attention_mask: Tensor | None = None,
        query: Tensor | None = None,
        position: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        return ops.cast(masked_softmax(logits, attention_mask), self.compute_dtype)


class LocalAlignment(Alignment):
    """Weighs the places at most D away from a centre.

    Args:
        half_width: D.
    """

    def __init__(self, half_width: int = 10, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if half_width < 1:
            raise ValueError(
                "`half_width` must be at least 1, the places on each side of a centre. Received: "
                f"half_width={half_width}"
            )
        self.half_width = half_width

    def _within(self, logits: Tensor, attention_mask: Tensor | None, distance: Tensor) -> Tensor:
        """Takes the softmax over what is allowed and at most D away, in float32.

        Args:
            logits: As in a call.
            attention_mask: As in a call.
            distance: float32, broadcastable to the logits, of each place from the centre.
        """
        near = ops.abs(distance) <= self.half_width
        allowed = near if attention_mask is None else ops.logical_and(attention_mask, near)
        return masked_softmax(logits, allowed)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "half_width": self.half_width}


@register
class LocalMonotonicAlignment(LocalAlignment):
    """Takes the softmax over the places from t - D to t + D, for the query at position t.

    Where a target is longer than its source, the centre stays at the source's last token.

    Args:
        half_width: D.

    Raises:
        ValueError: If `half_width` is below 1, or a call has no `position`.

    Example:
        >>> alignment = LocalMonotonicAlignment(half_width=1)
        >>> weights = alignment(keras.ops.zeros((1, 1, 4)), position=np.array([[0]]))
        >>> keras.ops.convert_to_numpy(weights)[0, 0].tolist()
        [0.5, 0.5, 0.0, 0.0]

    Reference:
        Luong et al., arXiv 1508.04025, "local-m".
    """

    def call(
        self,
        logits: Tensor,
        attention_mask: Tensor | None = None,
        query: Tensor | None = None,
        position: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        if position is None:
            raise ValueError(
                "`position` must be given, because a monotonic alignment is centred there; pass "
                "the queries' positions in the target. Received: position=None"
            )
        position = ops.expand_dims(ops.cast(position, "float32"), -1)
        centre = ops.minimum(position, ops.maximum(_lengths(logits, attention_mask) - 1.0, 0.0))
        weights = self._within(logits, attention_mask, _places(logits) - centre)
        return ops.cast(weights, self.compute_dtype)


@register
class LocalPredictiveAlignment(LocalAlignment):
    """Predicts a centre, and weighs the places near to it by a Gaussian around it.

    p = S sigmoid(v^T tanh(W s)) for a query s and a source of S tokens. Weights are
    softmax(logits) exp(-(i - p)^2 / (2 sigma^2)) for the places i from p - D to p + D, with
    sigma = D / 2. The softmax is over these places; the product does not sum to one. p is a real
    number, and gets its gradient by the Gaussian.

    Args:
        units: Rows of W.
        half_width: D.

    Raises:
        ValueError: If `units` or `half_width` is below 1, or a call has no `query`.

    Example:
        >>> alignment = LocalPredictiveAlignment(units=16)
        >>> weights = alignment(keras.ops.zeros((2, 5, 7)), query=keras.ops.ones((2, 5, 32)))

    Reference:
        Luong et al., arXiv 1508.04025, "local-p".
    """

    def __init__(self, units: int, half_width: int = 10, **kwargs: Any) -> None:
        super().__init__(half_width, **kwargs)
        if units < 1:
            raise ValueError(
                f"`units` must be positive, the width of the tanh. Received: units={units}"
            )
        self.units = units

    def build(self, logits_shape: Shape, query_shape: Shape | None = None) -> None:
        if query_shape is None:
            raise ValueError(
                "`query` must be given, because a predictive alignment takes its centre from it; "
                "pass the vectors that the logits are of. Received: query=None"
            )
        part = {"use_bias": False, "dtype": self.dtype_policy}
        self.hidden = keras.layers.Dense(self.units, "tanh", name="W", **part)
        self.hidden.build(query_shape)
        self.v = keras.layers.Dense(1, name="v", **part)
        self.v.build((None, self.units))

    def call(
        self,
        logits: Tensor,
        attention_mask: Tensor | None = None,
        query: Tensor | None = None,
        position: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        centre = self._centre(query, _lengths(logits, attention_mask))
        distance = _places(logits) - centre
        sigma = self.half_width / 2.0
        gaussian = ops.exp(-ops.square(distance) / (2.0 * sigma**2))
        weights = self._within(logits, attention_mask, distance) * gaussian
        return ops.cast(weights, self.compute_dtype)

    def _centre(self, query: Tensor, lengths: Tensor) -> Tensor:
        """Computes p, float32 `[..., queries, 1]`, of sources with so many tokens."""
        share = on_rows(lambda rows: self.v(self.hidden(rows)), query)
        return lengths * ops.sigmoid(ops.cast(share, "float32"))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}


class OneHotAlignment(Alignment):
    """What hard alignments share: all weight is on one place, the best one outside of training.

    Args:
        seed: int; None for one from Python's generator, which `keras.utils.set_random_seed` sets.
    """

    def __init__(self, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def call(
        self,
        logits: Tensor,
        attention_mask: Tensor | None = None,
        query: Tensor | None = None,
        position: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        # As logits, the logarithms of the probabilities have the mask in them.
        log_probs = log_probabilities(logits, attention_mask)
        weights = self._draw(log_probs) if training else best(log_probs)
        return ops.cast(weights, self.compute_dtype)

    def _draw(self, log_probs: Tensor) -> Tensor:
        """Draws weights in training, with a gradient if the estimator has one."""
        raise NotImplementedError

    def _perturbed(self, log_probs: Tensor) -> Tensor:
        """Adds Gumbel noise: the best place is then a draw from the distribution."""
        uniform = keras.random.uniform(
            ops.shape(log_probs), minval=1e-20, dtype="float32", seed=self.seed_generator
        )
        return log_probs - ops.log(-ops.log(uniform))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "seed": self.seed}


@register
class HardAlignment(OneHotAlignment):
    """Draws a place in training, and learns by REINFORCE which draws were good.

    What a draw was worth shows when the target's log-likelihood is known, so the gradient of the
    distribution comes from a term of the loss that the model adds: see `reinforce_loss`. With
    probability `expectation_rate` a query takes the expectation, the soft weights, in place of a
    draw; that lowers the variance of the gradient.

    Args:
        reinforce_weight: lambda_r, of the term that rewards good draws.
        entropy_weight: lambda_e, of the term that rewards uncertainty.
        baseline_momentum: How much of the baseline stays at an update.
        expectation_rate: How often the expectation takes the place of a draw.
        seed: int; None for one from Python's generator, which `keras.utils.set_random_seed` sets.

    Example:
        >>> weights = HardAlignment()(keras.ops.convert_to_tensor([[[0.5, 2.0, 1.0]]]))
        >>> keras.ops.convert_to_numpy(weights)[0, 0].tolist()
        [0.0, 1.0, 0.0]

    Reference:
        Xu et al., "Show, Attend and Tell", arXiv 1502.03044, "Stochastic 'Hard' Attention".
    """

    def __init__(
        self,
        reinforce_weight: float = 1.0,
        entropy_weight: float = 0.01,
        baseline_momentum: float = 0.9,
        expectation_rate: float = 0.5,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(seed, **kwargs)
        self.reinforce_weight = reinforce_weight
        self.entropy_weight = entropy_weight
        self.baseline_momentum = baseline_momentum
        self.expectation_rate = expectation_rate

    def build(self, logits_shape: Shape, query_shape: Shape | None = None) -> None:
        self.baseline = self.add_weight(
            shape=(),
            initializer="zeros",
            dtype="float32",
            trainable=False,
            aggregation="mean",
            name="baseline",
        )

    def _draw(self, log_probs: Tensor) -> Tensor:
        drawn = best(self._perturbed(log_probs))
        if not self.expectation_rate:
            return drawn
        shape = (*ops.shape(log_probs)[:-1], 1)
        chance = keras.random.uniform(shape, dtype="float32", seed=self.seed_generator)
        return ops.where(chance < self.expectation_rate, ops.exp(log_probs), drawn)

    def reinforce_loss(
        self,
        logits: Tensor,
        weights: Tensor,
        log_likelihood: Tensor,
        attention_mask: Tensor | None = None,
        query_mask: Tensor | None = None,
    ) -> Tensor:
        """Returns the term whose gradient is that of the draws, and moves the baseline.

        For a sentence with log-likelihood L of its target, draws of log-probability log p and
        entropy H: -(lambda_r (L - b) log p + lambda_e H), where L - b is held constant. It is to be
        added to the negative log-likelihood and divided by the same number of tokens. Then
        b <- 0.9 b + 0.1 L, with the mean over the sentences; rows of padding are none.

        It knows no weights of sentences, and b moves once a call: a batch that is cut into
        micro-batches or shared by replicas moves it otherwise than a whole one.

        Args:
            logits: float32 `[batch, queries, length]`, what the alignment was called with.
            weights: float `[batch, queries, length]`, what it gave in training.
            log_likelihood: float32 `[batch]`, of the sentences' targets.
            attention_mask: As in the call.
            query_mask: bool `[batch, queries]`, False at padding; None for no padding.

        Returns:
            float32 `[batch]`.
        """
        log_probs = log_probabilities(logits, attention_mask)
        weights = ops.stop_gradient(ops.cast(weights, "float32"))
        # An expectation is no draw; its gradient is exact and needs no reward.
        drawn = ops.cast(ops.equal(ops.count_nonzero(weights, axis=-1), 1), "float32")
        log_prob = drawn * ops.sum(weights * log_probs, axis=-1)
        entropy = -ops.sum(ops.exp(log_probs) * log_probs, axis=-1)
        if query_mask is not None:
            real = ops.cast(query_mask, "float32")
            log_prob, entropy = log_prob * real, entropy * real
        log_likelihood = ops.stop_gradient(log_likelihood)
        advantage = ops.expand_dims(log_likelihood - self.baseline, -1)
        terms = self.reinforce_weight * advantage * log_prob + self.entropy_weight * entropy
        self._move_baseline(log_likelihood, query_mask)
        return -ops.sum(terms, axis=-1)

    def _move_baseline(self, log_likelihood: Tensor, query_mask: Tensor | None) -> None:
        """Moves b towards the mean over the sentences, of which there may be none."""
        real = ops.ones_like(log_likelihood)
        if query_mask is not None:
            real = ops.cast(ops.any(query_mask, axis=-1), "float32")
        sentences = ops.sum(real)
        mean = ops.divide_no_nan(ops.sum(log_likelihood * real), sentences)
        before = ops.convert_to_tensor(self.baseline)
        moved = self.baseline_momentum * before + (1.0 - self.baseline_momentum) * mean
        self.baseline.assign(ops.where(sentences > 0.0, moved, before))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "reinforce_weight": self.reinforce_weight,
            "entropy_weight": self.entropy_weight,
            "baseline_momentum": self.baseline_momentum,
            "expectation_rate": self.expectation_rate,
        }


@register
class GumbelAlignment(OneHotAlignment):
    """Draws a place in training, and takes the gradient of a softmax near to the draw.

    Forward, the draw is one place; backward, it is softmax((log p + g) / tau) with the Gumbel noise
    g that made it: the straight-through estimator, biased and of low variance, which needs no term
    in the loss.

    Args:
        temperature: tau.
        seed: int; None for one from Python's generator, which `keras.utils.set_random_seed` sets.

    Raises:
        ValueError: If `temperature` is not positive.

    Example:
        >>> weights = GumbelAlignment()(keras.ops.convert_to_tensor([[[0.5, 2.0, 1.0]]]))
        >>> keras.ops.convert_to_numpy(weights)[0, 0].tolist()
        [0.0, 1.0, 0.0]

    Reference:
        Jang et al., "Categorical Reparameterization with Gumbel-Softmax", arXiv 1611.01144.
    """

    def __init__(self, temperature: float = 1.0, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(seed, **kwargs)
        if temperature <= 0.0:
            raise ValueError(
                "`temperature` must be positive; a low one is near to a draw. Received: "
                f"temperature={temperature}"
            )
        self.temperature = temperature

    def _draw(self, log_probs: Tensor) -> Tensor:
        perturbed = self._perturbed(log_probs)
        soft = ops.softmax(perturbed / self.temperature)
        # In this order the forward value is the draw, to the last bit.
        return best(perturbed) + (soft - ops.stop_gradient(soft))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "temperature": self.temperature}


# Each alignment by its name, and the sizes that it must be told.
ALIGNMENTS: Mapping[str, tuple[type[Alignment], tuple[str, ...]]] = {
    "soft": (SoftAlignment, ()),
    "global": (SoftAlignment, ()),
    "local_m": (LocalMonotonicAlignment, ("half_width",)),
    "local_p": (LocalPredictiveAlignment, ("units", "half_width")),
    "hard": (HardAlignment, ()),
    "gumbel": (GumbelAlignment, ()),
}


def make_alignment(name: str, /, *, units: int, half_width: int = 10, **kwargs: Any) -> Alignment:
    """Makes an alignment by its name, with what it needs of the sizes that a model has.

    Args:
        name: "soft" or "global", which are the same; "local_m", "local_p", "hard" or "gumbel".
        units: Of the network of "local_p".
        half_width: D of "local_m" and "local_p".
        **kwargs: Of `keras.layers.Layer`.

    Raises:
        ValueError: If the alignment is unknown; the message lists the known ones.

    Example:
        >>> make_alignment("local_m", units=64, half_width=5).half_width
        5
    """
    if name not in ALIGNMENTS:
        raise ValueError(f"`alignment` must be one of {', '.join(ALIGNMENTS)}. Received: {name!r}")
    alignment_class, names = ALIGNMENTS[name]
    sizes = {"units": units, "half_width": half_width}
    return alignment_class(**{size: sizes[size] for size in names}, **kwargs)


def log_probabilities(logits: Tensor, attention_mask: Tensor | None) -> Tensor:
    """Returns the logarithms of the soft weights, float32, finite where attention is not allowed.

    Example:
        >>> log_probs = log_probabilities(keras.ops.zeros((1, 2)), np.array([True, False]))
        >>> float(log_probs[0, 0])
        0.0
    """
    return ops.log_softmax(masked(logits, attention_mask))


def best(log_probs: Tensor) -> Tensor:
    """Returns float32 weights of the same shape, 1 at the highest of the last axis and 0 elsewhere.

    Example:
        >>> keras.ops.convert_to_numpy(best(np.array([0.1, 0.7, 0.2], "float32"))).tolist()
        [0.0, 1.0, 0.0]
    """
    return ops.one_hot(ops.argmax(log_probs, axis=-1), ops.shape(log_probs)[-1], dtype="float32")


def _places(logits: Tensor) -> Tensor:
    """Returns the places of the keys, float32 `[length]`."""
    return ops.arange(ops.shape(logits)[-1], dtype="float32")


def _lengths(logits: Tensor, attention_mask: Tensor | None) -> Tensor:
    """Counts the tokens that are no padding: float32, broadcastable to `[..., queries, 1]`."""
    if attention_mask is None:
        return ops.cast(ops.shape(logits)[-1], "float32")
    return ops.sum(ops.cast(attention_mask, "float32"), axis=-1, keepdims=True)
