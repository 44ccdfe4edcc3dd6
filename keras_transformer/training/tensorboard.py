"""What a scoring has to show, for TensorBoard: texts and pictures beside Keras's scalars."""

import os
import textwrap
from pathlib import Path
from typing import Any

import keras

from keras_transformer.console import say
from keras_transformer.training.task import Scoring


class LogSamples(keras.callbacks.Callback):
    """Writes the report of a scoring as text, and its pictures, after each epoch.

    Comes before whoever shows the report and forgets it. A picture that fails is told, and costs
    the training nothing: its checkpoint is still to come.

    Args:
        folder: Where TensorBoard looks, with Keras's folder "validation" in it.
        scoring: What measures the model.

    Example:
        >>> callbacks = [keras.callbacks.TensorBoard("logs"), LogSamples("logs", Scoring())]
    """

    def __init__(self, folder: str | os.PathLike[str], scoring: Scoring) -> None:
        super().__init__()
        self.scoring = scoring
        self._folder = Path(folder) / "validation"
        self._writer: Any = None

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        import tensorflow as tf

        if self._writer is None:
            self._writer = tf.summary.create_file_writer(str(self._folder))
        with self._writer.as_default(step=epoch):
            if self.scoring.report:
                # A block of code in Markdown, which TensorBoard shows as it is.
                tf.summary.text("samples", textwrap.indent(self.scoring.report, "    "))
            try:
                for name, png in self.scoring.pictures().items():
                    tf.summary.image(name, tf.image.decode_png(png)[tf.newaxis])
            except Exception as error:
                say(f"No picture for TensorBoard after epoch {epoch + 1}: {error}")
        self._writer.flush()
