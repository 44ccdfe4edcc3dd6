"""Texts that are longer than is read of them, cut in graph."""

import tensorflow as tf


def cut_bytes(text: tf.Tensor, most: int | None) -> tuple[tf.Tensor, tf.Tensor]:
    """Cuts texts at so many bytes, between two characters.

    Args:
        text: string `[batch]`, any bytes.
        most: Most bytes; None for any number.

    Returns:
        The texts, and whether each was cut, bool `[batch]`.

    Example:
        >>> text, is_cut = cut_bytes(tf.constant(["a dog", "ein B\u00e4r"]), most=6)
        >>> text.numpy().tolist(), is_cut.numpy().tolist()
        ([b'a dog', b'ein B'], [False, True])
    """
    if most is None:
        return text, tf.zeros(tf.shape(text), tf.bool)
    is_long = tf.strings.length(text) > most
    # Not the first bytes of a character that goes on behind the cut.
    kept = tf.strings.unicode_transcode(
        tf.strings.substr(text, 0, most), "UTF-8", "UTF-8", errors="ignore"
    )
    return tf.where(is_long, kept, text), is_long
