"""A corpus becomes a folder of shards, in several processes; what a kill leaves is gone on with."""

import concurrent.futures
import contextlib
import functools
import itertools
import json
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from keras_transformer.console import progress_bar, say
from keras_transformer.data.corpora import Corpus
from keras_transformer.data.prepared.origin import Origin
from keras_transformer.data.prepared.reading import PreparedCorpus
from keras_transformer.data.prepared.shards import write_shard
from keras_transformer.files import atomic_directory, written_once
from keras_transformer.streams.chunking import chunked

if TYPE_CHECKING:
    from keras_transformer.text.tokenizer import SubwordTokenizer

# A few seconds of work of one process, which is what a kill costs.
_SHARD_PAIRS = 100_000
# One process reads the text for all, which is enough for about as many.
_MOST_PROCESSES = 16

# What makes a tokenizer in another process: the vocabulary, and what cuts text if that is another.
Models = Sequence[tuple[bytes, bytes | None]]


def prepare(
    corpus: Corpus,
    origin: Origin,
    cache: str | os.PathLike[str],
    *,
    processes: int | None = None,
    shard_pairs: int = _SHARD_PAIRS,
) -> PreparedCorpus:
    """Opens a prepared corpus, which is made if it is not there.

    The text is read by this process and tokenized by others, each of which writes whole shards. A
    corpus that fits in one shard is tokenized here.

    Args:
        corpus: The pairs of lines, without those that are held out.
        origin: What they and their ids depend on.
        cache: The folder of prepared corpora.
        processes: Processes that tokenize; None for one on each core, 16 at most. A script that
            prepares with several needs Python's usual `if __name__ == "__main__":`.
        shard_pairs: Pairs in a shard.

    Raises:
        CorpusError: If the corpus is malformed; the shards that are whole are kept.
        OSError: If the folder cannot be written, or a process is ended from outside.
        ValueError: If what is there is damaged.

    Example:
        >>> prepared = prepare(corpus, origin, "cache")
        >>> len(prepared) == corpus.size
        True
    """
    folder = Path(cache) / origin.key
    if not (folder / "index").exists():
        say(f"Preparing the token ids of {corpus.name} in {folder}")
        folder.mkdir(parents=True, exist_ok=True)
        models = [(tokenizer.model, tokenizer.segmentation) for tokenizer in origin.tokenizers]
        processes = processes or min(len(os.sched_getaffinity(0)), _MOST_PROCESSES)
        with progress_bar(origin.fingerprint.pairs, " pairs") as bar:
            for written in _write_shards(corpus, folder, models, processes, shard_pairs):
                bar.update(written)
        # Another training may have prepared the same corpus in the meantime.
        with written_once(folder / "index"):
            _write_index(folder, {**origin.described(), "shard_pairs": shard_pairs})
    return PreparedCorpus(folder)


def _write_shards(
    corpus: Corpus, folder: Path, models: Models, processes: int, shard_pairs: int
) -> Iterator[int]:
    """Writes those shards that are missing; yields the number of pairs of each that is there."""
    numbered = enumerate(chunked(corpus, shard_pairs))
    shards = ((folder / f"shard-{number:05}", pairs, models) for number, pairs in numbered)
    begin = list(itertools.islice(shards, 2))
    if processes == 1 or len(begin) == 1:
        yield from itertools.starmap(_write_shard, itertools.chain(begin, shards))
        return
    with _workers(processes) as workers:
        running: deque[concurrent.futures.Future[int]] = deque()
        for shard in itertools.chain(begin, shards):
            running.append(workers.submit(_write_shard, *shard))
            # The text of no more shards than these is in memory.
            if len(running) == 2 * processes:
                yield running.popleft().result()
        for last in running:
            yield last.result()


def _write_shard(path: Path, pairs: Sequence[tuple[str, str]], models: Models) -> int:
    return write_shard(path, pairs, list(itertools.starmap(_tokenizer, models)))


@functools.lru_cache(maxsize=2)
def _tokenizer(model: bytes, segmentation: bytes | None) -> "SubwordTokenizer":
    from keras_transformer.text.tokenizer import SubwordTokenizer

    return SubwordTokenizer(model, segmentation)


@contextlib.contextmanager
def _workers(processes: int) -> Iterator[concurrent.futures.Executor]:
    # Not forked: TensorFlow's threads would not be there in the copy.
    context = multiprocessing.get_context("spawn")
    workers = concurrent.futures.ProcessPoolExecutor(processes, context, _begin_worker)
    try:
        yield workers
    except concurrent.futures.BrokenExecutor as error:
        raise OSError(
            "A process that tokenizes has ended before its work was done: ended from outside, as "
            "the system does when memory is short, in which case the same call goes on with what "
            'is finished; or begun by a script without `if __name__ == "__main__":`, which each of '
            f"them runs anew. Received: {processes} processes ({error})"
        ) from error
    finally:
        workers.shutdown(cancel_futures=True)


def _begin_worker() -> None:
    """Leaves devices, signals and cores to others, and ends with the process that began this."""
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    # Waiting for work that nobody will send, a worker would stay for ever.
    os._exit(1)


def _write_index(folder: Path, about: dict[str, object]) -> None:
    shards = sorted(folder.glob("shard-*"))
    parts = [np.load(shard / "lengths.npy", mmap_mode="r") for shard in shards]
    with atomic_directory(folder / "index") as index:
        pairs = sum(map(len, parts))
        make = functools.partial(np.lib.format.open_memmap, mode="w+")
        bounds = make(index / "bounds.npy", dtype=np.int64, shape=(pairs + 1, 2))
        lengths = make(index / "lengths.npy", dtype=np.int32, shape=(pairs, 2))
        first = 0
        for part in parts:
            own = slice(first, first := first + len(part))
            lengths[own] = part
            bounds[own.start + 1 : first + 1] = bounds[own.start] + np.cumsum(part, 0, np.int64)
        bounds.flush()
        lengths.flush()
        if (shards[0] / "weights.npy").exists():
            weights: list[npt.NDArray[np.float32]] = [np.load(s / "weights.npy") for s in shards]
            np.save(index / "weights.npy", np.concatenate(weights))
        (index / "about.json").write_text(json.dumps(about, indent=2), "utf-8")
