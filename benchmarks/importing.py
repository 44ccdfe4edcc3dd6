"""An imported model beside transformers: tokens, translations, scores; time and memory.

    python benchmarks/importing.py FOLDER --lines FILE [--sentences 1000] [--max_tokens 24]

FOLDER is a `MarianMTModel`. The tests have small ones at random:
`tar -xf tests/importing/marian_models.tar.xz`.
"""

import argparse
import itertools
import tempfile
import time
from pathlib import Path

import numpy as np
import tensorflow as tf

from keras_transformer.importing.runs import import_run
from keras_transformer.importing.vocabulary import read_file
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID
from keras_transformer.translation.opening import open_runs

BATCH = 100


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lines", type=Path, help="Sources; without, the import alone.")
    parser.add_argument("--sentences", type=int, default=1000, help="Sentences to translate.")
    parser.add_argument("--max_tokens", type=int, default=24, help="Most tokens of a translation.")
    parser.add_argument("--target_language", help="Of a model with language tags.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        run = imported(arguments.folder, Path(scratch) / "run", arguments.target_language)
        if arguments.lines is not None:
            compare(run, arguments)


def imported(folder, output, target_language):
    """Imports; says how long it took, and how much more memory than before."""
    before, start, cpu = peak_memory(), time.perf_counter(), time.process_time()
    run = import_run(folder, output, "en", target_language or "de")
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    weights = len(read_file(folder / "model.safetensors")) / 2**20
    print(
        f"import: {seconds:.1f} s, {cpu:.1f} s of a core; peak {peak_memory():.0f} MiB, "
        f"{before:.0f} before; weights {weights:.0f} MiB",
        flush=True,
    )
    return run


def peak_memory():
    """The most memory of this process so far, in MiB."""
    status = Path("/proc/self/status").read_text().splitlines()
    [line] = (line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def compare(run, arguments):
    original = Original(arguments.folder, run)
    tag = f">>{arguments.target_language}<< " if arguments.target_language else ""
    texts = [tag + text for text in arguments.lines.read_text("utf-8").split("\n")]
    rows = run.source_tokenizer.tokenize(texts).to_list()
    same = sum(ids == original.ids(text) for ids, text in zip(rows, texts, strict=True))
    print(f"tokens: {same:,} of {len(texts):,} lines", flush=True)
    most = run.config.model.max_length
    chosen = [i for i, row in enumerate(rows) if 1 < len(row) < most][: arguments.sentences]
    chosen.sort(key=lambda i: len(rows[i]))
    for beam_size in (1, 4):
        graph, start = open_runs(run, options={"beam_size": beam_size}).graph, time.perf_counter()
        ours = [
            result
            for batch in batches(chosen)
            for result in search(graph, [rows[i] for i in batch], arguments.max_tokens)
        ]
        middle = time.perf_counter()
        theirs = [
            result
            for batch in batches(chosen)
            for result in original.translate(
                [texts[i] for i in batch], beam_size, arguments.max_tokens
            )
        ]
        report(beam_size, ours, theirs, middle - start, time.perf_counter() - middle)


def batches(items):
    return [items[start : start + BATCH] for start in range(0, len(items), BATCH)]


def report(beam_size, ours, theirs, seconds, their_seconds):
    pairs = list(zip(ours, theirs, strict=True))
    same = sum(a == b for (a, _), (b, _) in pairs)
    scores = max(abs(a - b) for (_, a), (_, b) in pairs) if beam_size > 1 else 0.0
    different = len({tuple(ids) for ids, _ in ours})
    print(
        f"beam {beam_size}: {same:,} of {len(ours):,} translations, {different:,} of which differ "
        f"from each other; scores within {scores:.1g}; {seconds:.1f} s, transformers "
        f"{their_seconds:.1f} s",
        flush=True,
    )


def search(graph, rows, max_tokens):
    source = tf.ragged.constant(rows, tf.int32).to_tensor(PAD_ID)
    found = graph.search(
        source,
        max_tokens=tf.fill([len(rows)], max_tokens),
        alpha=tf.fill([len(rows)], graph.config.length_penalty),
    )
    ids = [[i for i in row if i != PAD_ID] for row in found.ids[:, 0].numpy().tolist()]
    return zip(ids, found.scores[:, 0].numpy().tolist(), strict=True)


class Original:
    """The model in transformers, in the ids of the run."""

    def __init__(self, folder, run):
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        self.torch = torch
        self.model = transformers.MarianMTModel.from_pretrained(folder).eval()
        self.tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
        target = {piece: number for number, piece in self.tokenizer.decoder.items()}
        self.source_ids = in_our_ids(self.tokenizer.encoder, run.source_tokenizer.pieces)
        self.target_ids = in_our_ids(target, run.target_tokenizer.pieces)
        self.target_ids[self.model.config.decoder_start_token_id] = BOS_ID

    def ids(self, text):
        return self.source_ids[self.tokenizer(text).input_ids].tolist()

    def translate(self, texts, beam_size, max_tokens):
        """Yields ids and score of each; greedy search has no score."""
        inputs = self.tokenizer(texts, return_tensors="pt", padding=True)
        with self.torch.no_grad():
            found = self.model.generate(
                **inputs,
                num_beams=beam_size,
                max_length=max_tokens + 1,
                # It would stop by a rule of thumb.
                early_stopping="never",
                return_dict_in_generate=True,
                output_scores=beam_size > 1,
            )
        scores = found.sequences_scores.tolist() if beam_size > 1 else [0.0] * len(texts)
        for row, score in zip(self.target_ids[found.sequences[:, 1:].numpy()], scores, strict=True):
            before = list(itertools.takewhile(lambda i: i != EOS_ID, row.tolist()))
            yield before + [EOS_ID] * (len(before) < len(row)), score


def in_our_ids(theirs, pieces):
    ids = {piece: number for number, piece in enumerate(pieces)}
    ours = np.zeros(len(theirs), np.int32)
    for piece, number in theirs.items():
        ours[number] = ids.get(piece, PAD_ID)
    return ours


if __name__ == "__main__":
    main()
