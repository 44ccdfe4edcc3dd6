"""Translates sentences with `translator.tflite`, the tokenizer inside.

Needs ai-edge-litert and, for the tokenizer's operations, tensorflow_text; not keras_transformer:
`python translate_tflite.py exports/app/1/translator.tflite "The dog sleeps."`, or sentences on
standard input.
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
from ai_edge_litert.interpreter import InterpreterWithCustomOps
from tensorflow_text import tflite_registrar


def main() -> None:
    """Prints a translation for each sentence."""
    if len(sys.argv) < 2:
        sys.exit("usage: translate_tflite.py MODEL.tflite [SENTENCE ...]")
    path, *sentences = sys.argv[1:]
    sys.stdout.reconfigure(encoding="utf-8")
    sentences = sentences or [line.decode().rstrip("\r\n") for line in sys.stdin.buffer]
    interpreter = InterpreterWithCustomOps(
        model_path=path, custom_op_registerers=tflite_registrar.SELECT_TFTEXT_OPS
    )
    translate = interpreter.get_signature_runner()
    for sentence in sentences:
        outputs = translate(text=np.array([sentence.encode()], dtype=object))
        note = "  (cut: too long for the model)" if outputs["truncated"][0] else ""
        print(f"{sentence}\n  -> {outputs['translation'][0].decode()}{note}")


if __name__ == "__main__":
    main()
