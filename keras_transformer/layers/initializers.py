"""How weights begin: the projections of attention, of which the paper says nothing, and BERT's."""

from collections.abc import Iterable
from typing import Any

import keras
from keras import ops

from keras_transformer.layers.serialization import register
from keras_transformer.tensors import Tensor

# With Glorot's own bound a post-norm model takes half as many steps again to learn the same
# (docs/results.md, "Learning beside PyTorch").
PROJECTION_GAIN = 0.5


@register
class FusedGlorotUniform(keras.initializers.Initializer):
    """Glorot-uniform initialization of matrices that are stored side by side.

    Each part has the bound of its own width, `gain * sqrt(6 / (fan_in + width))`, as if it were
    stored alone.

    Args:
        widths: Columns of each part.
        gain: Factor on Glorot's bound.
        seed: int; None for one from Python's generator, which `keras.utils.set_random_seed` sets.

    Example:
        >>> query_and_key = FusedGlorotUniform((64, 64), gain=0.5)((128, 128), "float32")
    """

    def __init__(self, widths: Iterable[int], gain: float = 1.0, seed: int | None = None) -> None:
        self.widths = tuple(widths)
        self.gain = gain
        self.seed = keras.initializers.GlorotUniform(seed).seed

    def __call__(self, shape: tuple[int, int], dtype: str | None = None) -> Tensor:
        parts = [
            keras.initializers.GlorotUniform(self.seed + part)((shape[0], width), dtype)
            for part, width in enumerate(self.widths)
        ]
        return self.gain * ops.concatenate(parts, axis=1)

    def get_config(self) -> dict[str, Any]:
        return {"widths": self.widths, "gain": self.gain, "seed": self.seed}


def begin_truncated_normal(weights: Iterable[keras.Variable], stddev: float) -> None:
    """Draws matrices anew from a truncated normal distribution; biases and norms stay.

    BERT begins all of its matrices alike, whatever a layer has as its own way.

    Args:
        weights: Variables, those of a model or of a layer.
        stddev: Standard deviation.

    Example:
        >>> dense = keras.layers.Dense(8)
        >>> dense.build((None, 8))
        >>> begin_truncated_normal(dense.weights, stddev=0.02)
        >>> bool(abs(np.asarray(dense.kernel)).max() <= 0.04)
        True

    Reference:
        `create_initializer` of `modeling.py` in google-research/bert.
    """
    for weight in weights:
        if len(weight.shape) == 2:
            draw = keras.initializers.TruncatedNormal(stddev=stddev)
            weight.assign(draw(weight.shape, weight.dtype))
