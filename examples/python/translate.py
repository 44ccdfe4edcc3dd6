"""Translates sentences with an exported SavedModel.

Needs only tensorflow and tensorflow_text, not keras_transformer:
`python translate.py exports/demo/1 "The dog sleeps."`, or sentences on standard input.
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
import tensorflow_text  # noqa: F401  registers the tokenizer's ops


def main() -> None:
    """Prints a translation for each sentence."""
    if len(sys.argv) < 2:
        sys.exit("usage: translate.py SAVED_MODEL [SENTENCE ...]")
    path, *sentences = sys.argv[1:]
    sys.stdout.reconfigure(encoding="utf-8")
    sentences = sentences or [
        line.decode(errors="replace").rstrip("\r\n") for line in sys.stdin.buffer
    ]
    translate = tf.saved_model.load(path).signatures["serving_default"]
    outputs = translate(text=tf.constant(sentences, tf.string))
    for sentence, translation in zip(sentences, outputs["translation"].numpy(), strict=True):
        print(f"{sentence}\n  -> {translation.decode()}")


if __name__ == "__main__":
    main()
