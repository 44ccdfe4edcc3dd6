"""One exported model in a process of its own, for `export.py`: what it holds is its memory alone.

`python exported.py KIND PATH THREADS BEAM LENGTH`: reads a JSON object a line, `{"lines", "size"}`,
sentences and how many of them go into a call; answers each with one, `{"seconds", "outputs",
"peak"}`, the last in MiB. The first answer, without a question, is for the load. LENGTH is of the
output, in tokens, where the weights are random; 0 lets sentences end.
"""

import json
import os
import re
import sys
import time
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"


def saved_model(path, threads, beam, length):
    """The SavedModel, with TensorFlow and TF Text."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  registers the tokenizer's ops

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    yield
    loaded = tf.saved_model.load(path)
    translate = loaded.signatures["serving_default"]
    yield lambda lines: [
        line.decode() for line in translate(text=tf.constant(lines))["translation"].numpy()
    ]
    del loaded


def tflite(path, threads, beam, length):
    """The TFLite model with the tokenizer inside, which takes one sentence a call."""
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter

    yield
    interpreter = Interpreter(model_path=f"{path}/translator.tflite", num_threads=threads)
    translate = interpreter.get_signature_runner()
    room = np.zeros(translate.get_input_details()["text"]["shape"], np.uint8)

    def one(line):
        read = np.frombuffer(line.encode(), np.uint8)[: room.size]
        room[: read.size] = read
        outputs = translate(text=room, length=np.array([read.size], np.int32))
        return outputs["translation"][: outputs["length"][0]].tobytes().decode()

    yield lambda lines: [one(line) for line in lines]


def tflite_ids(path, threads, beam, length):
    """The TFLite model that takes ids, with the SentencePiece library and without TensorFlow."""
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter

    yield
    interpreter = Interpreter(model_path=f"{path}/translator_ids.tflite", num_threads=threads)
    translate = interpreter.get_signature_runner()
    source, target = tokenizers(path)

    def one(line):
        ids = np.array([[*source.encode(line), source.eos_id()]], np.int32)
        return target.decode(translate(source=ids)["target"].tolist())

    yield lambda lines: [one(line) for line in lines]


def ctranslate2(path, threads, beam, length):
    """CTranslate2 with the SentencePiece library; no length penalty, as in the others."""
    import ctranslate2

    yield
    engine = ctranslate2.Translator(path, intra_threads=threads, inter_threads=1)
    source, target = tokenizers(path)

    def translate(lines):
        results = engine.translate_batch(
            [source.encode(line, out_type=str) for line in lines],
            beam_size=beam,
            length_penalty=0,
            max_decoding_length=length or 256,
            min_decoding_length=length or 1,
        )
        return [target.decode(result.hypotheses[0]) for result in results]

    yield translate


def tokenizers(path):
    """The source's and the target's, by the SentencePiece library."""
    import sentencepiece

    return [
        sentencepiece.SentencePieceProcessor(f"{path}/{side}.model")
        for side in ("source", "target")
    ]


def main() -> None:
    """Answers until standard input ends."""
    kind, path, *numbers = sys.argv[1:]
    # What is imported for a model is not its load; what opens a model is.
    opening = globals()[kind](path, *map(int, numbers))
    next(opening)
    answers = sys.stdout
    sys.stdout = sys.stderr
    start = time.perf_counter()
    translate = next(opening)
    answer(answers, time.perf_counter() - start, [])
    for question in map(json.loads, sys.stdin):
        lines, size = question["lines"], question["size"]
        start = time.perf_counter()
        outputs = []
        for i in range(0, len(lines), size):
            outputs += translate(lines[i : i + size])
        answer(answers, time.perf_counter() - start, outputs)


def answer(file, seconds, outputs):
    """Writes one answer."""
    # Not `getrusage`, whose peak begins with that of the parent.
    status = Path("/proc/self/status").read_text()
    peak = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024
    json.dump({"seconds": seconds, "outputs": outputs, "peak": peak}, file)
    file.write("\n")
    file.flush()


if __name__ == "__main__":
    main()
