"""The moving average of the weights, which is validated and saved in their place."""

import contextlib
from collections.abc import Iterator

import keras
import numpy as np
from keras import ops


class MovingAverage:
    """Swaps the weights with the moving average that the optimizer keeps, and back, exactly.

    Keras would put the average into the model at the end of `fit`, and lose the weights; that is
    turned off here, so that training can go on.

    Args:
        optimizer: A built optimizer; without `use_ema` there is nothing to swap.

    Example:
        >>> average = MovingAverage(model.optimizer)
        >>> with average.in_model():
        ...     model.save("average.keras")
    """

    def __init__(self, optimizer: keras.optimizers.Optimizer) -> None:
        inner = getattr(optimizer, "inner_optimizer", optimizer)
        averages = inner._model_variables_moving_average if inner.use_ema else []
        self._pairs = list(zip(inner._trainable_variables, averages, strict=bool(averages)))
        self._swapped = False
        inner.finalize_variable_values = lambda variables: None

    @contextlib.contextmanager
    def in_model(self) -> Iterator[None]:
        """Has the average in the model, and the weights in the optimizer, within the block."""
        if self._swapped:
            yield
            return
        self.swap()
        try:
            yield
        finally:
            self.swap()

    def swap(self) -> None:
        """Swaps the two."""
        self._swapped = not self._swapped
        for weight, average in self._pairs:
            value = np.array(ops.convert_to_numpy(weight))
            weight.assign(ops.convert_to_numpy(average))
            average.assign(value)
