"""How the projections to queries, keys and values begin, of which the paper says nothing."""

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
