"""The learning-rate schedule (Section 5.3)."""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.serialization import register
from keras_transformer.tensors import Tensor


@register
class TransformerSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up, then decay with the inverse square root of the step, Equation 3.

    lrate = factor * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5), counting steps from 1.

    Args:
        d_model: Width of the model.
        warmup_steps: Steps of linear warm-up.
        factor: Multiplies the whole; 1 is the paper's.

    Call arguments:
        step: Integer number of steps taken before this one, as Keras counts.

    Returns:
        float32 scalar.

    Example:
        >>> round(float(TransformerSchedule(d_model=512, warmup_steps=4000)(3999)), 7)
        0.0006988

    Reference:
        "Attention Is All You Need", Section 5.3.
    """

    def __init__(self, d_model: int, warmup_steps: int = 4000, factor: float = 1.0) -> None:
        self.d_model = d_model
        self.warmup_steps = warmup_steps
        self.factor = factor

    def __call__(self, step: int | Tensor) -> Tensor:
        step = ops.cast(step, "float32") + 1.0
        decay = ops.minimum(ops.rsqrt(step), step * self.warmup_steps**-1.5)
        return self.factor * self.d_model**-0.5 * decay

    def get_config(self) -> dict[str, Any]:
        return {
            "d_model": self.d_model,
            "warmup_steps": self.warmup_steps,
            "factor": self.factor,
        }
