"""Learning-rate schedules: the paper's (Section 5.3), and one that ends at zero."""

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


# Of a training that ends: the most of it that is warm-up.
_MOST_WARMUP = 0.1


@register
class TrapezoidSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up, a constant rate, and a linear fall to zero.

    lrate = peak * min(1, warm-up, fall), where the warm-up is (step + 1) / warmup_steps, or ten
    times the share of the training that has passed if that is more, and the fall is the share that
    is to come, divided by `cooldown`. It is known when to fall as soon as it is known when to end,
    so a training may be planned by the clock: `time_passed` is for whoever has one.

    Args:
        peak: The highest rate.
        warmup_steps: Steps of linear warm-up.
        cooldown: Share of the training, at its end, in which the rate falls; 0 for none.
        max_steps: Steps of the training; None if only the clock tells, or nothing does.

    Attributes:
        time_passed: Share of the training's time that has passed, a float32 variable that is 0
            unless it is assigned; of it and the share of `max_steps` the larger one counts.

    Call arguments:
        step: Integer number of steps taken before this one, as Keras counts.

    Returns:
        float32 scalar.

    Example:
        >>> schedule = TrapezoidSchedule(0.002, warmup_steps=50, cooldown=0.2, max_steps=1000)
        >>> [round(float(schedule(step)), 4) for step in (0, 24, 500, 900)]
        [0.0, 0.001, 0.002, 0.001]

    Reference:
        "Scaling Laws and Compute-Optimal Training Beyond Fixed Training Durations" (arXiv
        2405.18392), as constant rate with cooldown; "MiniCPM" (arXiv 2404.06395), as WSD.
    """

    def __init__(
        self, peak: float, warmup_steps: int, cooldown: float = 0.3, max_steps: int | None = None
    ) -> None:
        self.peak = peak
        self.warmup_steps = warmup_steps
        self.cooldown = cooldown
        self.max_steps = max_steps
        self.time_passed = keras.Variable(0.0, trainable=False, name="time_passed")

    def __call__(self, step: int | Tensor) -> Tensor:
        step = ops.cast(step, "float32")
        passed = ops.convert_to_tensor(self.time_passed)
        if self.max_steps is not None:
            passed = ops.maximum(passed, step / self.max_steps)
        height = ops.maximum((step + 1.0) / self.warmup_steps, passed / _MOST_WARMUP)
        if self.cooldown:
            height = ops.minimum(height, (1.0 - passed) / self.cooldown)
        return self.peak * ops.clip(height, 0.0, 1.0)

    def get_config(self) -> dict[str, Any]:
        return {
            "peak": self.peak,
            "warmup_steps": self.warmup_steps,
            "cooldown": self.cooldown,
            "max_steps": self.max_steps,
        }
