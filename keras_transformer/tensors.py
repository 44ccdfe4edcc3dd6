"""The types of tensors in annotations: Keras has none that all of its backends share."""

from typing import Any

# A tensor of the backend, a KerasTensor, or what Keras makes one of.
Tensor = Any
# The sizes of a tensor's axes, None where only a batch tells.
Shape = tuple[Any, ...]
