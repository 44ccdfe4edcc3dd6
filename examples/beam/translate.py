"""Translates or scores files of any size with an exported SavedModel, as an Apache Beam pipeline.

    pip install -r examples/beam/requirements.txt
    python examples/beam/translate.py --model exports/demo/1 --input 'text/*.en' --output out
    cat out/news.en-*        # a line for each line of text/news.en

A shard is a block of lines of one file that follow each other: `out/news.en-00003` has, in their
order, the outputs for the lines of the fourth block of `news.en`, and is there only once it is
complete. So a pipeline that is started again does what is missing. A line that fails is empty
there, and `out/failed/news.en-00003` has its number and the error.

It does not need keras_transformer. All of it is in one file, which Beam sends to its workers as it
is; a runner in the cloud takes its own options, as Beam's pages tell.
"""

import argparse
import json
import posixpath
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.metrics import Metrics
from apache_beam.ml.inference.base import KeyedModelHandler, ModelHandler, RunInference
from apache_beam.options.pipeline_options import PipelineOptions, SetupOptions

# --- Lines and shards

# The name of a shard, and the number of its first line.
Shard = tuple[str, int]
# What a line becomes, empty if it failed; and why it failed, None if it did not. Plain values:
# workers in other processes cannot send instances of the classes of this file.
Output = tuple[str, str | None]


class ReadLines(beam.DoFn):
    """Reads a file, and gives the lines of those shards that are not there, a shard at a time.

    Args:
        output: The folder of the shards.
        lines: Lines of a shard.
    """

    def __init__(self, output: str, lines: int) -> None:
        self._output = output
        self._lines = lines
        self._skipped = Metrics.counter("shards", "there before")

    def process(self, path: str) -> Iterator[tuple[Shard, list[bytes]]]:
        name = posixpath.basename(path)
        [match] = FileSystems.match([f"{self._output}/{name}-*"])
        there = {posixpath.basename(found.path) for found in match.metadata_list}
        with FileSystems.open(path) as stream:
            for number, block in enumerate(_blocks(stream, self._lines)):
                shard = f"{name}-{number:05}"
                if shard in there:
                    self._skipped.inc()
                else:
                    yield (shard, number * self._lines + 1), block


def _blocks(stream: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    block: list[bytes] = []
    for line in stream:
        block.append(line.rstrip(b"\r\n"))
        if len(block) == size:
            yield block
            block = []
    if block:
        yield block


def is_missing(element: tuple[Shard, list[bytes]], output: str) -> bool:
    """Tells whether a shard is to be done: of a bundle that a runner tries again a part is there.

    Args:
        element: The shard, and its lines.
        output: The folder of the shards.
    """
    (shard, _), _ = element
    return not FileSystems.exists(f"{output}/{shard}")


class WriteShards(beam.DoFn):
    """Writes a shard, and what went wrong with some of its lines.

    Args:
        output: The folder of the shards.
    """

    def __init__(self, output: str) -> None:
        self._output = output
        self._written = Metrics.counter("shards", "written")
        self._failed = Metrics.counter("lines", "failed")

    def process(self, element: tuple[Shard, list[Output]]) -> None:
        (shard, first), outputs = element
        failed = [
            f"{number}\t{error}\n"
            for number, (_, error) in enumerate(outputs, first)
            if error is not None
        ]
        of_failures = f"{self._output}/failed/{shard}"
        if failed:
            _write(of_failures, failed)
        elif FileSystems.exists(of_failures):  # Of a worker that was killed before the next line.
            FileSystems.delete([of_failures])
        _write(f"{self._output}/{shard}", (f"{line}\n" for line, _ in outputs))
        self._failed.inc(len(failed))
        self._written.inc()


def _write(path: str, lines: Iterable[str]) -> None:
    """Writes a file that gets its name once it is whole; of several that do so, any may be it."""
    folder, name = posixpath.split(path)
    temporary = f"{folder}/.{name}.{uuid.uuid4().hex}"
    with FileSystems.create(temporary, "text/plain") as file:
        for line in lines:
            file.write(line.encode())
    if FileSystems.exists(path):
        FileSystems.delete([path])
    FileSystems.rename([temporary], [path])


# --- Models


class SavedModelHandler(ModelHandler[list[bytes], list[Output], Any]):
    """Runs a signature of an export on the lines of a shard; a subclass tells which.

    Lines of like lengths are computed together, which leaves little padding. A batch that fails is
    computed again line by line, so that only those lines fail that do so by themselves.

    Args:
        path: The export, such as "exports/demo/1", in a folder that the workers see.
        batch_size: Lines that are computed together.
    """

    def __init__(self, path: str, batch_size: int) -> None:
        # A shard by itself, which is then written: nothing waits for the other ones.
        super().__init__(min_batch_size=1, max_batch_size=1)
        self._path = path
        self._batch_size = batch_size

    def load_model(self) -> Any:
        import tensorflow as tf
        import tensorflow_text  # noqa: F401  registers the tokenizer's ops

        return tf.saved_model.load(self._path)

    def run_inference(
        self,
        batch: Sequence[list[bytes]],
        model: Any,
        inference_args: Mapping[str, Any] | None = None,
    ) -> list[list[Output]]:
        return [self._outputs(lines, model) for lines in batch]

    def _outputs(self, lines: list[bytes], model: Any) -> list[Output]:
        outputs: dict[int, Output] = {}
        order = sorted(range(len(lines)), key=lambda place: len(lines[place]))
        for start in range(0, len(order), self._batch_size):
            places = order[start : start + self._batch_size]
            found = self._together([lines[place] for place in places], model)
            outputs.update(zip(places, found, strict=True))
        return [outputs[place] for place in range(len(lines))]

    def _together(self, batch: list[bytes], model: Any) -> list[Output]:
        try:
            return self.compute(batch, model)
        except Exception:
            return [self._alone(line, model) for line in batch]

    def _alone(self, line: bytes, model: Any) -> Output:
        try:
            [output] = self.compute([line], model)
        except Exception as error:
            return "", " ".join(f"{type(error).__name__}: {error}".split())
        return output

    def compute(self, batch: Sequence[bytes], model: Any) -> list[Output]:
        """Returns the outputs of lines.

        Args:
            batch: The lines.
            model: From `load_model`.
        """
        raise NotImplementedError


class Translating(SavedModelHandler):
    """Translates each line, as `keras-transformer translate` writes it."""

    def compute(self, batch: Sequence[bytes], model: Any) -> list[Output]:
        import tensorflow as tf

        outputs = model.signatures["serving_default"](text=tf.constant(batch, tf.string))
        texts = (text.decode("utf-8", "replace") for text in outputs["translation"].numpy())
        return [(" ".join(text.split()), None) for text in texts]


class Scoring(SavedModelHandler):
    """Gives each line's log-probability, as `keras-transformer score` writes it.

    A line is a source and a translation, which a tab parts.
    """

    def compute(self, batch: Sequence[bytes], model: Any) -> list[Output]:
        import tensorflow as tf

        pairs = [line.split(b"\t") for line in batch]
        if any(len(pair) != 2 for pair in pairs):
            raise ValueError("a line must be a source and a translation, parted by one tab")
        source, target = (tf.constant(side, tf.string) for side in zip(*pairs, strict=True))
        outputs = model.signatures["score"](source=source, target=target)
        rows = zip(outputs["log_prob"].numpy(), outputs["truncated"].numpy(), strict=True)
        return [("too long" if cut else f"{log_prob:.4f}", None) for log_prob, cut in rows]


_TASKS = {"translate": Translating, "score": Scoring}


# --- The pipeline


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the pipeline, and says how many shards it wrote.

    Args:
        arguments: The command line; None for that of the process. What this program does not know
            goes to Beam and its runner.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--model", required=True, help="The export: the folder of a version.")
    parser.add_argument("--input", required=True, help="A pattern of UTF-8 files.")
    parser.add_argument("--output", required=True, help="A folder; what is there is not done anew.")
    parser.add_argument(
        "--task",
        choices=list(_TASKS),
        default="translate",
        help="Translate each line, or score the source and the translation that a tab parts.",
    )
    parser.add_argument("--batch_size", type=int, default=64, help="Lines computed together.")
    parser.add_argument(
        "--shard_lines",
        type=int,
        default=2000,
        help="Lines of an output file, which one worker makes.",
    )
    given, others = parser.parse_known_args(arguments)
    for name in ("batch_size", "shard_lines"):
        if (value := getattr(given, name)) < 1:
            parser.error(f"--{name} must be at least 1. Received: {value}")
    [match] = FileSystems.match([given.input])
    paths = [found.path for found in match.metadata_list]
    if len({*map(posixpath.basename, paths)}) != len(paths) or not paths:
        parser.error(f"--input must be of files, each with a name of its own. Received: {paths}")
    decisive = {name: getattr(given, name) for name in ("model", "task", "shard_lines")}
    # A shard that is there is not looked into: it has to be of these files.
    decisive["inputs"] = {found.path: found.size_in_bytes for found in match.metadata_list}
    if (before := _claimed(given.output, decisive)) != decisive:
        parser.error(
            f"--output must be new for other options or inputs. Received: {before}, now {decisive}"
        )
    handler = KeyedModelHandler(_TASKS[given.task](given.model, given.batch_size))
    options = PipelineOptions(others)
    options.view_as(SetupOptions).save_main_session = True
    pipeline = beam.Pipeline(options=options)
    _ = (
        pipeline
        | beam.Create(paths)
        | "read" >> beam.ParDo(ReadLines(given.output, given.shard_lines))
        | beam.Reshuffle()  # A file is read in one place, and its shards are computed in many.
        | beam.Filter(is_missing, given.output)
        | RunInference(handler)
        | "write" >> beam.ParDo(WriteShards(given.output))
    )
    result = pipeline.run()
    result.wait_until_finish()
    for counter in result.metrics().query()["counters"]:
        if counter.key.metric.namespace in ("shards", "lines"):
            print(f"{counter.key.metric.namespace} {counter.key.metric.name}: {counter.committed}")


def _claimed(output: str, decisive: dict[str, Any]) -> dict[str, Any]:
    """Returns what the shards of a folder are made by; of a new folder that is `decisive`."""
    for folder in (output, f"{output}/failed"):
        if not FileSystems.exists(folder):
            FileSystems.mkdirs(folder)
    path = f"{output}/pipeline.json"
    if not FileSystems.exists(path):
        _write(path, [json.dumps(decisive)])
    with FileSystems.open(path) as file:
        return json.loads(file.read())


if __name__ == "__main__":
    main()
