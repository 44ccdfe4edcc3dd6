"""A function of columns, as a served model has several: what a request names as its signature."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

# Arrays `[batch, ...]` by the names of inputs or outputs.
Columns = dict[str, npt.NDArray[Any]]


@dataclasses.dataclass(frozen=True, eq=False)
class Signature:
    """A graph with names for its inputs and outputs, all of which have the batch first.

    Args:
        name: Its name.
        inputs: Type and shape of each input.
        outputs: Type and shape of each output.
        function: Takes tensors by name, gives them by name.

    Example:
        >>> def spec(dtype, name):
        ...     return tf.TensorSpec([None], dtype, name)
        >>> lengths = tf.function(
        ...     lambda text: {"length": tf.strings.length(text)}, [spec(tf.string, "text")]
        ... )
        >>> signature = Signature.of("lengths", lengths.get_concrete_function())
        >>> signature({"text": np.array([b"dog", b""], object)})["length"].tolist()
        [3, 0]
    """

    name: str
    inputs: Mapping[str, tf.TensorSpec]
    outputs: Mapping[str, tf.TensorSpec]
    function: Callable[..., Mapping[str, tf.Tensor]]

    @classmethod
    def of(cls, name: str, function: Any) -> "Signature":
        """Makes one of a `tf.ConcreteFunction`, as a SavedModel has them."""
        positional, named = function.structured_input_signature
        # An argument that is left to its default is there as well, and no input.
        specs = [spec for spec in (*positional, *named.values()) if isinstance(spec, tf.TensorSpec)]
        outputs = {
            key: tf.TensorSpec(output.shape, output.dtype)
            for key, output in function.structured_outputs.items()
        }
        return cls(name, {spec.name: spec for spec in specs}, outputs, function)

    def __call__(self, columns: Columns) -> Columns:
        """Computes the outputs of a batch."""
        tensors = {
            name: tf.constant(columns[name], spec.dtype) for name, spec in self.inputs.items()
        }
        return {name: output.numpy() for name, output in self.function(**tensors).items()}


def join_columns(parts: Sequence[Columns]) -> Columns:
    """Joins batches along their first dimension; rows are filled up to those of the longest part.

    They are filled as our graphs fill them: strings with "", places, which are integers, with -1,
    weights with 0.

    Example:
        >>> parts = [{"starts": np.array([[0, 4, 9]])}, {"starts": np.array([[0, 5]])}]
        >>> join_columns(parts)["starts"].tolist()
        [[0, 4, 9], [0, 5, -1]]
    """
    return {name: _joined([part[name] for part in parts]) for name in parts[0]}


def _joined(arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    longest = [max(sizes) for sizes in zip(*(array.shape[1:] for array in arrays), strict=True)]
    fill: Any = {"O": b"", "i": -1}.get(arrays[0].dtype.kind, 0)

    def filled_up(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        more = [most - size for most, size in zip(longest, array.shape[1:], strict=True)]
        return np.pad(array, [(0, 0), *((0, n) for n in more)], constant_values=fill)

    return np.concatenate([filled_up(array) for array in arrays])
