"""Translates sentences with `translator_ids.tflite`, the tokenizer beside it.

Needs ai-edge-litert and sentencepiece alone, no TensorFlow:
`python translate_tflite_ids.py exports/app/1 "The dog sleeps."`, or sentences on standard input.
"""

import sys
from pathlib import Path

import numpy as np
import sentencepiece
from ai_edge_litert.interpreter import Interpreter


def main() -> None:
    """Prints a translation for each sentence."""
    if len(sys.argv) < 2:
        sys.exit("usage: translate_tflite_ids.py FOLDER [SENTENCE ...]")
    folder, *sentences = sys.argv[1:]
    sys.stdout.reconfigure(encoding="utf-8")
    sentences = sentences or [
        line.decode(errors="replace").rstrip("\r\n") for line in sys.stdin.buffer
    ]
    translate = Interpreter(str(Path(folder) / "translator_ids.tflite")).get_signature_runner()
    source, target = (
        sentencepiece.SentencePieceProcessor(str(Path(folder) / f"{side}.model"))
        for side in ("source", "target")
    )
    for sentence in sentences:
        ids = np.array([[*source.encode(sentence), source.eos_id()]], np.int32)
        outputs = translate(source=ids)
        note = "  (cut: too long for the model)" if outputs["truncated"][0] else ""
        print(f"{sentence}\n  -> {target.decode(outputs['target'].tolist())}{note}")


if __name__ == "__main__":
    main()
