"""What every model that reads a source and a target is to Keras, whatever it computes.

Its inputs are checked by name and shape, and its call can be exported without having been made.
"""

import os
from collections.abc import Mapping
from typing import Any, NoReturn

import keras

from keras_transformer.models.token_normalized import TokenNormalizedModel
from keras_transformer.tensors import Tensor

NAMES = ("source", "target")


def unpack_source_and_target(inputs: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Returns the source and the target of a model's inputs.

    Raises:
        ValueError: If they are no dict of both, no batches of ids, or of unlike batch sizes.

    Example:
        >>> ids = np.array([[5, 6, 3]])
        >>> source, target = unpack_source_and_target({"source": ids, "target": ids})
    """
    if not isinstance(inputs, Mapping) or not {*NAMES} <= {*inputs}:
        got = sorted(inputs) if isinstance(inputs, Mapping) else type(inputs).__name__
        raise ValueError(
            '`inputs` must be a dict of two: {"source": ids, "target": ids}. Received: '
            f"inputs={got}"
        )
    shapes = {name: tuple(inputs[name].shape) for name in NAMES}
    for name, shape in shapes.items():
        if len(shape) != 2:
            raise ValueError(
                f"`{name}` must be a batch of ids, `[batch, length]`. Received: shape={shape}"
            )
    rows = {shape[0] for shape in shapes.values()}
    if len(rows) > 1 and None not in rows:
        raise ValueError(f"`source` and `target` must have as many rows. Received: shapes={shapes}")
    return inputs["source"], inputs["target"]


class SourceTargetModel(TokenNormalizedModel):
    """A model whose inputs are a dict of "source" and "target", each int `[batch, length]`."""

    def export(
        self,
        filepath: str | os.PathLike[str],
        format: str = "tf_saved_model",
        verbose: bool | None = None,
        input_signature: Any = None,
        **kwargs: Any,
    ) -> None:
        """Exports the call: ids in, logits out. Keras's own way, and so without a search.

        `export.py` and `keras_transformer.export` write what takes strings and gives translations.

        Args:
            filepath: Where to write.
            format: As Keras names it.
            verbose: Whether to print what was written.
            input_signature: Of the inputs; None for int32 of any batch size and any lengths.
            **kwargs: Of the format.

        Example:
            >>> model.export("logits", verbose=False)
            >>> ids = tf.constant([[5, 6, 3]])
            >>> exported = tf.saved_model.load("logits")
            >>> logits = exported.serve({"source": ids, "target": ids})
        """
        if input_signature is None:
            ids = {name: keras.InputSpec("int32", (None, None), name=name) for name in NAMES}
            input_signature = [ids]
        super().export(filepath, format, verbose, input_signature, **kwargs)

    def quantize(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuses.

        Keras would quantize the projections alone, and what it saves of them it could not load.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(
            "`quantize` is not supported: it would leave embeddings and logits as they are, and "
            "the model could not be saved and loaded again. Quantize an export in place of it, by "
            "export.py RUN --quantization int8 --format tflite, or ctranslate2."
        )
