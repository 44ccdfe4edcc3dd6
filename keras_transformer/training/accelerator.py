"""The accelerator that a training has, as far as its defaults depend on it."""

import dataclasses

from keras_transformer.config import Precision

# Compute capability from which on a GPU multiplies in bfloat16, and in float16.
_BFLOAT16, _FLOAT16 = (8, 0), (7, 0)


@dataclasses.dataclass(frozen=True)
class Accelerator:
    """What steps are computed on beside the CPU.

    Args:
        name: What people call it.
        precision: In which it is fast.

    Example:
        >>> Accelerator("NVIDIA A100", "mixed_bfloat16").precision
        'mixed_bfloat16'
    """

    name: str
    precision: Precision


def find_accelerator() -> Accelerator | None:
    """Returns the accelerator that TensorFlow finds; None where there are CPUs alone.

    Example:
        >>> accelerator = find_accelerator()
    """
    import tensorflow as tf

    if tf.config.list_logical_devices("TPU"):
        return Accelerator("TPU", "mixed_bfloat16")
    for device in tf.config.list_physical_devices("GPU"):
        details = tf.config.experimental.get_device_details(device)
        name = details.get("device_name", "GPU")
        return Accelerator(name, precision_for(details.get("compute_capability", (0, 0))))
    return None


def precision_for(compute_capability: tuple[int, int]) -> Precision:
    """Returns the precision in which a GPU is fast.

    Args:
        compute_capability: NVIDIA's number of what it can do; (0, 0) if it is unknown.

    Example:
        >>> precision_for((8, 6)), precision_for((7, 5)), precision_for((6, 1))
        ('mixed_bfloat16', 'mixed_float16', 'float32')
    """
    if compute_capability >= _BFLOAT16:
        return "mixed_bfloat16"
    return "mixed_float16" if compute_capability >= _FLOAT16 else "float32"
