"""The signatures of a SavedModel, read from its file without loading it.

They are made in `saved_model.py`.
"""

from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2


def signature_definitions(folder: Path) -> dict[str, Any]:
    """Returns the `SignatureDef`s that take inputs: one that takes none initializes the graph.

    Args:
        folder: Folder of the SavedModel.

    Example:
        >>> from keras_transformer.export.saved_model import export_saved_model
        >>> folder = export_saved_model(translator, "exports/demo")
        >>> sorted(signature_definitions(folder))
        ['attention', 'nbest', 'score', 'serving_default', 'translate']
    """
    saved = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    [graph] = saved.meta_graphs
    return {key: value for key, value in graph.signature_def.items() if value.inputs}


def describe_signatures(folder: Path) -> dict[str, dict[str, dict[str, str]]]:
    """Returns the inputs and the outputs of each signature, with type and shape in words.

    Args:
        folder: Folder of the SavedModel.

    Example:
        >>> from keras_transformer.export.saved_model import export_saved_model
        >>> folder = export_saved_model(translator, "exports/demo")
        >>> describe_signatures(folder)["serving_default"]["inputs"]
        {'text': 'string [batch]'}
    """
    return {
        name: {
            "inputs": {key: _described(info) for key, info in sorted(definition.inputs.items())},
            "outputs": {key: _described(info) for key, info in sorted(definition.outputs.items())},
        }
        for name, definition in sorted(signature_definitions(folder).items())
    }


def _described(info: Any) -> str:
    sizes = [str(size.size) if size.size >= 0 else "?" for size in info.tensor_shape.dim]
    if sizes[:1] == ["?"]:
        sizes[0] = "batch"
    return f"{tf.as_dtype(info.dtype).name} [{', '.join(sizes)}]"
