"""Beyond the paper: recurrence, of which Keras has the cells and the loop.

Hidden states are lists of `[batch, queries, units]`, as long as the cells need: one tensor for each
layer of GRUs, two for each of LSTMs. `queries` is 1 in training, where a loop runs over a
sentence's positions, and the number of hypotheses in a search, which makes a step at a time.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
from keras import ops

from keras_transformer.config.recurrent import RecurrentConfig
from keras_transformer.layers.rows import on_rows
from keras_transformer.layers.serialization import register
from keras_transformer.tensors import Shape, Tensor

_CELLS = {"gru": keras.layers.GRUCell, "lstm": keras.layers.LSTMCell}


class RecurrentPart(keras.layers.Layer):
    """A layer whose sizes come from a `RecurrentConfig`.

    Args:
        config: The configuration, or a mapping of its fields as a saved layer gives.
    """

    def __init__(self, config: RecurrentConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.config = RecurrentConfig.of(config)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}

    def _dense(self, units: int, activation: str | None, name: str) -> keras.layers.Dense:
        return keras.layers.Dense(units, activation, dtype=self.dtype_policy, name=name)


@register
class RecurrentStack(RecurrentPart):
    """One step of the decoder's cells, of which the first reads the input.

    Args:
        config: `RecurrentConfig`.

    Call arguments:
        x: float `[batch, queries, width]`.
        states: The hidden states before the step.

    Returns:
        The output of the last layer, float `[batch, queries, decoder_units]`, and the hidden states
        after the step.

    Example:
        >>> stack = RecurrentStack(RecurrentConfig(cell="lstm", num_layers=2, decoder_units=64))
        >>> states = [keras.ops.zeros((1, 3, 64))] * stack.num_states
        >>> output, states = stack(keras.ops.ones((1, 3, 32)), states)

    Reference:
        Of the residual connections: "Google's Neural Machine Translation System", arXiv 1609.08144.
        The GRU is that of cuDNN, which resets what a state contributes after its product with a
        matrix and not before.
    """

    def __init__(self, config: RecurrentConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.cells = [
            _CELLS[self.config.cell](
                self.config.decoder_units, dtype=self.dtype_policy, name=f"layer_{i}"
            )
            for i in range(self.config.num_layers)
        ]

    @property
    def states_of_cell(self) -> int:
        """Tensors that a cell keeps, of which the first is its output."""
        return 2 if self.config.cell == "lstm" else 1

    @property
    def num_states(self) -> int:
        """Tensors that all cells keep."""
        return self.states_of_cell * self.config.num_layers

    def build(self, x_shape: Shape, states_shape: Sequence[Shape] | None = None) -> None:
        width = x_shape[-1]
        for cell in self.cells:
            cell.build((None, width))
            width = self.config.decoder_units

    def call(self, x: Tensor, states: Sequence[Tensor]) -> tuple[Tensor, list[Tensor]]:
        after: list[Tensor] = []
        for index, cell in enumerate(self.cells):
            own = list(states[len(after) : len(after) + self.states_of_cell])
            output, new = on_rows(cell, x, own)
            after += new
            x = output + x if self.config.residual and index else output
        return x, after

    def last_output(self, states: Sequence[Tensor]) -> Tensor:
        """Returns what of the hidden states is the last cell's output."""
        return states[-self.states_of_cell]


def recur(
    step: Callable[[Tensor, list[Tensor]], tuple[Tensor, list[Tensor]]],
    x: Tensor,
    states: Sequence[Tensor],
) -> Tensor:
    """Runs a step over the positions of a sentence, in the loop of Keras's recurrent layers.

    A cell that Keras is given has variables alone. A step may read tensors as well, such as the
    annotations of the sentence that is translated.

    Args:
        step: Takes the input of a position, `[batch, 1, width]`, and hidden states; returns an
            output `[batch, 1, ...]` and the next states.
        x: float `[batch, length, width]`.
        states: The first states, of any dtypes: hidden states `[batch, 1, units]`, and whatever
            else a step hands to the next one.

    Returns:
        The outputs, `[batch, length, ...]`.

    Example:
        >>> def add(x, states):
        ...     return x + states[0], [x + states[0]]
        >>> sums = recur(add, keras.ops.ones((1, 4, 1)), [keras.ops.zeros((1, 1, 1))])
        >>> keras.ops.convert_to_numpy(sums)[0, :, 0].tolist()
        [1.0, 2.0, 3.0, 4.0]
    """
    dtype = keras.backend.standardize_dtype(x.dtype)
    loop = keras.layers.RNN(_Step(step, states), return_sequences=True, dtype=dtype)
    outputs = loop(ops.expand_dims(x, 2), initial_state=list(states))
    return ops.squeeze(outputs, 2)


class _Step:
    """A step as Keras's loop takes it: a cell."""

    # States are taken as they are: a position is no float.
    compute_dtype = None

    def __init__(self, step: Callable[..., Any], states: Sequence[Tensor]) -> None:
        self.call = step
        self.state_size = [state.shape[-1] for state in states]

    def __call__(self, x: Tensor, states: Sequence[Tensor]) -> Any:
        return self.call(x, list(states))
