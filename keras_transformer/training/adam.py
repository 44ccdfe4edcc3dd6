"""Adam with TensorFlow's fused update kernel."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_transformer.layers.serialization import register
from keras_transformer.tensors import Tensor


@register
class FusedAdam(keras.optimizers.Adam):
    """`keras.optimizers.Adam` whose update is one op a variable instead of about thirty.

    The same formula on the same variables, so that checkpoints are interchangeable. The single pass
    over memory makes the update of a large model several times faster, and the smaller graph
    shortens the time to the first step. On another backend it is `keras.optimizers.Adam`, so that a
    model saved under one can be trained on under the other.

    Args:
        **kwargs: Of `keras.optimizers.Adam`, without `amsgrad`.

    Raises:
        ValueError: If `amsgrad` is set, which the kernel does not know.

    Example:
        >>> optimizer = FusedAdam(learning_rate=1e-3, beta_2=0.98, epsilon=1e-9)
    """

    def __init__(self, *args: Any, name: str = "adam", **kwargs: Any) -> None:
        super().__init__(*args, name=name, **kwargs)
        if self.amsgrad:
            raise ValueError(
                "`amsgrad` is not supported; use keras.optimizers.Adam. Received: amsgrad=True"
            )

    def apply(
        self,
        grads: Sequence[Tensor | None],
        trainable_variables: Sequence[keras.Variable] | None = None,
    ) -> None:
        if keras.backend.backend() == "tensorflow":
            import tensorflow as tf

            # Adds up the repeated rows of an embedding's sparse gradient. Keras clips by a norm
            # that it takes without that.
            grads = [None if grad is None else tf.convert_to_tensor(grad) for grad in grads]
            # Taken here once: in the kernel's terms it would be two powers for each variable.
            step = ops.cast(self.iterations + 1, "float32")
            self._bias_correction = ops.sqrt(1 - self.beta_2**step) / (1 - self.beta_1**step)
        super().apply(grads, trainable_variables)

    def update_step(
        self, gradient: Tensor, variable: keras.Variable, learning_rate: Tensor
    ) -> None:
        if keras.backend.backend() != "tensorflow":
            super().update_step(gradient, variable, learning_rate)
            return
        import tensorflow as tf

        index = self._get_variable_index(variable)

        def scalar(value: float | Tensor) -> Tensor:
            return ops.cast(value, variable.dtype)

        tf.raw_ops.ResourceApplyAdam(
            var=_handle(variable),
            m=_handle(self._momentums[index]),
            v=_handle(self._velocities[index]),
            beta1_power=scalar(0.0),
            beta2_power=scalar(0.0),
            lr=scalar(learning_rate * self._bias_correction),
            beta1=scalar(self.beta_1),
            beta2=scalar(self.beta_2),
            epsilon=scalar(self.epsilon),
            grad=scalar(gradient),
            use_locking=False,
            use_nesterov=False,
        )


def _handle(variable: Any) -> Tensor:
    """Returns the resource of a Keras or TensorFlow variable; in a replica, that replica's."""
    if isinstance(variable, keras.Variable):
        variable = variable.value
    return variable.handle
