"""Translates sentences with `translator.tflite`, the tokenizer inside.

Needs ai-edge-litert alone, no TensorFlow:
`python translate_tflite.py exports/app/1/translator.tflite "The dog sleeps."`, or sentences on
standard input.
"""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter


class Translator:
    """Translates with a file.

    Args:
        path: The file.
    """

    def __init__(self, path: str) -> None:
        self._translate = Interpreter(path).get_signature_runner("serving_default")
        self._text = np.zeros(self._translate.get_input_details()["text"]["shape"], np.uint8)

    def __call__(self, sentence: str) -> tuple[str, bool]:
        """Returns the translation, and whether the sentence or it was cut."""
        read = np.frombuffer(sentence.encode(errors="replace"), np.uint8)
        kept = read[: self._text.size]
        self._text[: kept.size] = kept
        outputs = self._translate(text=self._text, length=np.array([read.size], np.int32))
        translation = outputs["translation"][: outputs["length"][0]]
        return translation.tobytes().decode(), bool(outputs["truncated"][0])


def main() -> None:
    """Prints a translation for each sentence."""
    if len(sys.argv) < 2:
        sys.exit("usage: translate_tflite.py MODEL.tflite [SENTENCE ...]")
    path, *sentences = sys.argv[1:]
    sys.stdout.reconfigure(encoding="utf-8")
    sentences = sentences or [
        line.decode(errors="replace").rstrip("\r\n") for line in sys.stdin.buffer
    ]
    translate = Translator(path)
    for sentence in sentences:
        translation, truncated = translate(sentence)
        note = "  (cut: too long for the model)" if truncated else ""
        print(f"{sentence}\n  -> {translation}{note}")


if __name__ == "__main__":
    main()
