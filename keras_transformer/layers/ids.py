"""Ids that no row of a vocabulary belongs to are an error, where that can be seen for free.

Where it is compiled, a lookup of such an id ends in the backend's own words on a CPU. On an
accelerator it gives something else without a word: zeros by TensorFlow, NaN by JAX.
"""

import keras
import numpy as np
from keras import ops

from keras_transformer.tensors import Tensor


def checked_ids(ids: Tensor, vocab_size: int) -> Tensor:
    """Returns ids as they can be looked up.

    The check costs nothing where a graph is traced: there the dtype alone is known.

    Args:
        ids: What should be int ids.
        vocab_size: How many ids there are.

    Returns:
        The ids, int32 or int64.

    Raises:
        ValueError: If they are no integers, or if they have values and one is not in the
            vocabulary.

    Example:
        >>> ids = checked_ids(np.array([[5, 3, 0]], "uint16"), vocab_size=1000)
    """
    dtype = keras.backend.standardize_dtype(ids.dtype)
    if "int" not in dtype:
        raise ValueError(
            f"Token ids must be integers; convert them, as by `ids.astype('int32')`. Received: "
            f"dtype={dtype}"
        )
    require_in_vocabulary("Token ids", ids, vocab_size)
    # TensorFlow looks up no uint8 or uint16, in which corpora of ids are often stored.
    return ids if dtype in ("int32", "int64") else ops.cast(ids, "int32")


def require_in_vocabulary(name: str, ids: Tensor, vocab_size: int) -> None:
    """Checks ids of any dtype that have values.

    Args:
        name: What they are.
        ids: The ids; while a graph is traced they have no values, and are not checked.
        vocab_size: How many ids there are.

    Raises:
        ValueError: If one is not in the vocabulary.

    Example:
        >>> require_in_vocabulary("`y_true`", np.array([[5.0, 3.0, 0.0]]), vocab_size=1000)
    """
    try:
        values = np.asarray(ids)
    except (NotImplementedError, TypeError, ValueError):
        # A tensor of TensorFlow's graphs, of JAX's traces, or of Keras's functional models.
        return
    if values.size and not 0 <= values.min() <= values.max() < vocab_size:
        raise ValueError(
            f"{name} must be from 0 to {vocab_size - 1}, the ids of the vocabulary; encode the "
            "text with the tokenizer that the model was made for. Received: ids from "
            f"{values.min()} to {values.max()}"
        )
