"""Export to a SavedModel that takes strings and gives strings.

What is saved owns the model's variables and the tokenizers' resources, and nothing else: no
optimizer, no Keras. It loads where only TensorFlow and TensorFlow Text are installed.
"""

import os
from pathlib import Path

import tensorflow as tf

from keras_transformer.export.translator import Translator
from keras_transformer.export.versions import version_path
from keras_transformer.files import atomic_directory


def export_saved_model(
    translator: Translator, directory: str | os.PathLike, version: int | None = None
) -> Path:
    """Writes `directory/<version>/`, whole or not at all.

    Its signature `serving_default` takes `text`, string `[batch]`, and gives `translation`, string
    `[batch]`, and `score`, float32 `[batch]`; see `Translator.translate`.

    Args:
        translator: What to export.
        directory: Folder of the versions, as TF Serving watches it.
        version: Number of this version; None for the next free one.

    Returns:
        The folder of this version.

    Raises:
        FileExistsError: If the version exists.
        ValueError: If `version` is not positive.

    Example:
        >>> path = export_saved_model(translator, "exports/demo")
        >>> loaded = tf.saved_model.load(path)
        >>> outputs = loaded.signatures["serving_default"](text=tf.constant(["a small dog"]))
        >>> sorted(outputs)
        ['score', 'translation']
    """
    path = version_path(directory, version)
    module = _ServingModule(translator)
    with atomic_directory(path) as folder:
        tf.saved_model.save(module, folder, signatures={"serving_default": module.serve})
    return path


class _ServingModule(tf.Module):
    """Tracks what the graph captures: a SavedModel keeps tracked objects only."""

    def __init__(self, translator: Translator):
        super().__init__(name="translator")
        self.weights = [
            variable.value for model in translator.models for variable in model.variables
        ]
        self.tokenizers = [translator.source_tokenizer, translator.target_tokenizer]
        self.serve = translator.serve
