"""A model becomes the bytes of a file, in which vectors that are the same are stored once.

A matrix of integers has a scale and a zero point for each row, twelve bytes, and each loop that
multiplies by it says them again. The converter writes all of them.
"""

import hashlib

import flatbuffers
import numpy as np
from tensorflow.lite.python import schema_py_generated as schema

# Of all vectors, because the schema asks for it for what kernels read.
_ALIGNMENT = 16


def share(content: bytes) -> bytes:
    """Stores vectors of a file that are the same once.

    Args:
        content: A file of the converter.

    Example:
        >>> from keras_transformer.export.tflite import export_tflite
        >>> path = export_tflite(translator, "exports/app", quantization="int8")
        >>> content = (path / "translator_ids.tflite").read_bytes()
        >>> len(share(content)) == len(content)  # It has been done already.
        True
    """
    return pack(schema.ModelT.InitFromPackedBuf(content))


def pack(model: schema.ModelT) -> bytes:
    """Writes a model, each vector once.

    Args:
        model: The model.
    """
    builder = _Sharing()
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


class _Sharing(flatbuffers.Builder):
    """Gives a vector that is there already the place that it has."""

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[tuple[str, bytes], int] = {}

    def CreateNumpyVector(self, x: np.ndarray) -> int:  # noqa: N802  the name in flatbuffers
        key = x.dtype.str, hashlib.sha256(x.tobytes()).digest()
        if key not in self._places:
            self.Prep(_ALIGNMENT, x.nbytes)
            self._places[key] = super().CreateNumpyVector(x)
        return self._places[key]
