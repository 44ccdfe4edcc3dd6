"""Language tags in graph: a text may begin with the one it wants (`text/tags.py`)."""

from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from keras_transformer.export.tflite.vectors import shifted
from keras_transformer.text.tags import tag_of
from keras_transformer.text.vocabulary import PAD_ID, UNK_ID


class Tags:
    """Parts texts from the tags that they begin with.

    Args:
        ids: Of the tag of each language.

    Example:
        >>> tag, rest = Tags({"fra": 4}).cut_off(tf.constant([*b">>fra<< A dog.", 0]))
        >>> int(tag), bytes(rest.numpy().tolist())
        (4, b' A dog.\\x00')
    """

    def __init__(self, ids: Mapping[str, int]):
        texts = [tag_of(language).encode() for language in ids]
        self._ids = np.array([*ids.values()], np.int32)
        # Each tag in a row, and -1 for what may follow it.
        self._texts = np.full((len(texts), max(map(len, texts), default=0)), -1, np.int32)
        for row, text in zip(self._texts, texts, strict=True):
            row[: len(text)] = [*text]

    def cut_off(self, text: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Parts a text from its tag.

        Args:
            text: int32 `[bytes + 1]`, of which the last one is 0.

        Returns:
            The id of the tag, int32 scalar: unk for one that is not known, pad for none; and the
            rest, like `text`.
        """
        if not len(self._ids):
            return tf.constant(PAD_ID), text
        longest = self._texts.shape[1]
        begin = tf.reshape(tf.pad(text, [[0, longest]])[:longest], [longest])
        # By numbers: the converter cannot join truth values of what it does not know the size of.
        others = tf.abs(self._texts - begin) * (self._texts >= 0).astype(np.int32)
        is_it = tf.reduce_max(others, 1) == 0
        places = tf.range(tf.size(text))
        closes = (text == ord("<")) & (shifted(text, -1) == ord("<")) & (places >= 2)
        end = tf.reduce_min(tf.where(closes, places + 2, tf.size(text)))
        opens = tf.reduce_all(begin[:2] == [*b">>"])
        has_tag = opens & (end < tf.size(text))
        known = tf.reduce_max(tf.where(is_it, self._ids, UNK_ID))
        return tf.where(has_tag, known, PAD_ID), text[tf.where(has_tag, end, 0) :]
