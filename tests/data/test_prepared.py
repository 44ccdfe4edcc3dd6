"""Prepared ids give the batches that the text gives; nothing outdated or half-written is read."""

import dataclasses
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import thorough

from keras_transformer import DataConfig, RunConfig
from keras_transformer.commands.main import run as run_command
from keras_transformer.data import batches as batches_module
from keras_transformer.data import fingerprint as fingerprint_module
from keras_transformer.data.batches import TranslationBatches
from keras_transformer.data.corpora import Corpus, CorpusError, open_corpus
from keras_transformer.data.fingerprint import fingerprint, remembered_fingerprint
from keras_transformer.data.mixing import Mixture, corpora_of
from keras_transformer.data.planning import fit_plan
from keras_transformer.data.prepared import preparing
from keras_transformer.data.prepared.origin import Origin
from keras_transformer.data.prepared.pairs import PreparedPairs, places_of
from keras_transformer.data.prepared.preparing import prepare
from keras_transformer.data.prepared.reading import PreparedCorpus
from keras_transformer.data.prepared.shards import write_shard
from keras_transformer.data.preprocessing import PairPreprocessor
from keras_transformer.data.sharing import Sharing
from keras_transformer.data.weights import WeightedPair
from keras_transformer.runs.run import open_run, resume_run
from keras_transformer.tasks.translation import Translation
from keras_transformer.tasks.translation.inputs import training_batches
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.training.strategy import ONE_DEVICE, Replicas

WORDS = ["the", "a", "dog", "cat", "tree", "house", "runs", "sees", "under", "big", "small", "and"]
_rng = random.Random(1706)
PAIRS = [
    tuple(f"{' '.join(_rng.choices(WORDS, k=_rng.randint(1, 9)))} {place}" for _ in range(2))
    for place in range(150)
]
# Empty, too long, uneven, of unknown characters, and none of this.
PAIRS += [("", "a dog"), ("dog " * 90, "cat " * 90), ("the big cat " * 4, "cat"), ("Ω 🙂", "cat")]
OTHERS = [pair[::-1] for pair in PAIRS[::2]]


@pytest.fixture(scope="module")
def tokenizer():
    return SubwordTokenizer.train((line for pair in PAIRS for line in pair), 80)


@pytest.fixture
def stored(tokenizer, tmp_path):
    """Prepares each corpus of a mixture, in shards of 40 pairs."""

    def stored(corpus):
        return [
            prepare(
                one,
                Origin(one.name, fingerprint(one), (tokenizer, tokenizer)),
                tmp_path / "cache",
                processes=1,
                shard_pairs=40,
            )
            for one in corpora_of(corpus)
        ]

    return stored


def corpus_of(pairs, name="a corpus"):
    return Corpus(name, lambda: iter(pairs), weighted=isinstance(pairs[0], WeightedPair))


def weighed(pairs):
    return [WeightedPair(pair, place % 4 / 3) for place, pair in enumerate(pairs)]


CORPORA = {
    "one": corpus_of(PAIRS),
    "weights": corpus_of(weighed(PAIRS)),
    "mixture": Mixture(corpus_of(PAIRS), [(corpus_of(OTHERS, "others"), 0.7)]),
    "weights in a mixture": Mixture(
        corpus_of(PAIRS), [(corpus_of(OTHERS, "others"), 2.5), (corpus_of(weighed(OTHERS)), 0.1)]
    ),
}


def arrays(epoch):
    """Takes batches apart into comparable values, types and all."""
    return [
        [(part.dtype, part.shape, part.tobytes()) for part in (*inputs.values(), *others)]
        for inputs, *others in epoch
    ]


# The same batches


@pytest.mark.parametrize(
    ("name", "shuffle_buffer"), [*((name, 30) for name in CORPORA), ("one", 0), ("mixture", 1000)]
)
def test_equal_batches(name, shuffle_buffer, stored, tokenizer):
    corpus = CORPORA[name]
    preprocess = PairPreprocessor((tokenizer, tokenizer), max_length=60, max_ratio=3)
    usable = preprocess.new_filter()
    assert list(preprocess(corpus, usable))
    assert all(usable.counts.values()), "there is something of everything"
    found = stored(corpus)
    of_places = (places_of(corpus, found), PreparedPairs(found, preprocess))
    plan, summary = fit_plan(corpus, preprocess, batch_tokens=128, sample=100)
    assert fit_plan(*of_places, batch_tokens=128, sample=100) == (plan, summary)
    for sharing in (Sharing(), Sharing(1, 2), Sharing(0, 2, replicas=2, static_shapes=True)):
        options = dict(shuffle_buffer=shuffle_buffer, seed=3, sharing=sharing, pairs=154)
        text = TranslationBatches(corpus, preprocess, plan, **options)
        ids = TranslationBatches(*of_places, plan, **options)
        for epoch in range(3):
            expected = arrays(text.epoch(epoch))
            assert arrays(ids.epoch(epoch)) == expected
            assert ids.filter_summary == text.filter_summary
            assert ids.epoch_length == text.epoch_length
        for first in (1, len(expected) - 1, len(expected)):
            assert arrays(ids.epoch(2, first)) == expected[first:]
            assert ids.epoch_length == text.epoch_length


def test_what_is_passed_over_is_not_made(stored, tokenizer, monkeypatch):
    corpus = CORPORA["one"]
    preprocess = PairPreprocessor((tokenizer, tokenizer), max_length=60)
    plan, _ = fit_plan(corpus, preprocess, batch_tokens=128)
    found = stored(corpus)
    # What has ids needs no tokenizer.
    untold = dataclasses.replace(preprocess, tokenizers=(None, None))
    ids = TranslationBatches(places_of(corpus, found), PreparedPairs(found, untold), plan)
    count = len(list(ids.epoch(0)))
    made, make = [], batches_module._arrays
    monkeypatch.setattr(batches_module, "_arrays", lambda *a: made.append(a) or make(*a))
    assert len(list(ids.dataset(0, count - 2))) == len(made) == 2


def test_a_run_has_the_same_batches_from_its_cache(tmp_path, monkeypatch, capsys):
    """With what is held out and mixed in, prepared by the command, for each of two workers."""
    monkeypatch.chdir(tmp_path)
    for name, pairs in (("train", PAIRS), ("others", OTHERS)):
        text = "".join(f"{source}\t{target}\n" for source, target in pairs)
        Path(f"{name}.tsv").write_text(text)
    options = ["--data.train=train.tsv", "--data.mix={others.tsv: 0.5}", "--preset=tiny"]
    options += ["--model.vocab_size=80", "--model.max_length=60", "--data.batch_tokens=128"]
    run_command("prepare", [*options, "--output=run", "--data.cache=cache"])
    assert "Next: train with the same options" in capsys.readouterr().out
    run = open_run("run")
    assert run.checkpoints.latest() is None
    assert len(list(Path("cache").glob("*/index/bounds.npy"))) == 2
    without = dataclasses.replace(run.config, data=dataclasses.replace(run.config.data, cache=None))
    without = resume_run(open_run("run"), without)
    replicas = [ONE_DEVICE, *(Replicas("a worker", worker=i, workers=2) for i in (0, 1))]
    for one in replicas:
        for epoch in (0, 1):
            expected = arrays(training_batches(without, one).epoch(epoch))
            assert arrays(training_batches(run, one).epoch(epoch)) == expected
    assert "Preparing" not in capsys.readouterr().out, "it is there"


def test_ids_of_large_vocabularies(tmp_path):
    class Large:
        vocab_size = 2**16 + 1

        def tokenize(self, lines):
            return tf.ragged.constant([[2**16, 3] for _ in lines], tf.int32)

    class Small(Large):
        vocab_size = 2**16

        def tokenize(self, lines):
            return tf.ragged.constant([[2**16 - 1, len(line), 3] for line in lines], tf.int32)

    assert write_shard(tmp_path / "shard", [("ab", "c"), ("", "")], (Large(), Small())) == 2
    source, target, lengths = (
        np.load(tmp_path / "shard" / f"{name}.npy") for name in ("source", "target", "lengths")
    )
    assert source.tolist() == [2**16, 3, 2**16, 3]
    assert target.tolist() == [2**16 - 1, 1, 3, 2**16 - 1, 0, 3]
    assert lengths.tolist() == [[2, 3], [2, 3]]
    assert (source.itemsize, target.itemsize) == (4, 2)


# Nothing outdated


def test_an_origin_is_called_by_all_that_decides(tokenizer):
    other = SubwordTokenizer.train((line for pair in PAIRS for line in pair), 81)
    plain = SubwordTokenizer.train((source for source, _ in PAIRS), 80, normalization="identity")
    cut = SubwordTokenizer(tokenizer.model, segmentation=other.model)
    whole = fingerprint(PAIRS)
    origins = [
        Origin("a", whole, (tokenizer, tokenizer)),
        Origin("a", fingerprint(PAIRS[::-1]), (tokenizer, tokenizer)),
        Origin("a", whole, (tokenizer, other)),
        Origin("a", whole, (other, tokenizer)),
        Origin("a", whole, (plain, plain)),
        Origin("a", whole, (tokenizer, cut)),
        Origin("a", whole, (tokenizer, tokenizer), PAIRS[:1]),
        Origin("a", whole, (tokenizer, tokenizer), PAIRS[:2]),
    ]
    assert len({origin.key for origin in origins}) == len(origins)
    again = SubwordTokenizer(tokenizer.model)
    same = Origin("another name", whole, (again, again), PAIRS[1::-1])
    assert same.key == origins[-1].key


def test_a_fingerprint_is_remembered_until_a_file_changes(tmp_path, monkeypatch):
    paths = [tmp_path / "pairs.en", tmp_path / "pairs.de"]
    for path in paths:
        path.write_text("a\nb\n")
    corpus = open_corpus(tmp_path / "pairs", "en", "de")
    read, calls = fingerprint, []
    monkeypatch.setattr(fingerprint_module, "fingerprint", lambda c: calls.append(c) or read(c))
    for _ in range(2):
        assert remembered_fingerprint(corpus, tmp_path / "cache") == read(corpus)
    assert len(calls) == 1
    # As large as before, and as old, as far as a program can say so.
    before = paths[1].stat()
    paths[1].write_text("a\nc\n")
    os.utime(paths[1], ns=(before.st_atime_ns, before.st_mtime_ns))
    assert remembered_fingerprint(corpus, tmp_path / "cache") == read(corpus) != read([("a", "a")])
    assert len(calls) == 2
    in_memory = CORPORA["one"]
    for _ in range(2):
        assert remembered_fingerprint(in_memory, tmp_path / "cache") == read(PAIRS)
    assert len(calls) == 4, "what comes from no file is always read"


def test_weights_are_part_of_what_is_remembered(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("a\tb\t0.5\n")
    weighted = open_corpus(path, "en", "de", weights=True)
    assert weighted.files == (path,)
    assert remembered_fingerprint(weighted, tmp_path) == fingerprint(weighted)
    unweighted = dataclasses.replace(weighted, read=lambda: iter([("a", "b")]), weighted=False)
    assert remembered_fingerprint(unweighted, tmp_path) == fingerprint([("a", "b")])


def test_no_cache_with_drawn_pieces():
    with pytest.raises(ValueError, match=r"`cache` must be None with `subword_dropout`.*'ids'"):
        DataConfig(cache="ids", subword_dropout=0.1)


def test_no_cache_at_an_address():
    config = RunConfig(data=DataConfig(cache="gs://bucket/ids"))
    with pytest.raises(ValueError, match=r"`cache` must be a folder of this machine"):
        Translation().check(config)


def test_prepare_needs_a_cache(capsys):
    with pytest.raises(SystemExit):
        run_command("prepare", ["--data.train=train.tsv", "--output=run"])
    assert "argument --data.cache: must be a folder" in capsys.readouterr().err


# Nothing half-written


def test_finished_shards_are_kept(tokenizer, tmp_path):
    malformed = True

    def read():
        yield from PAIRS[:100]
        if malformed:
            raise CorpusError("line 101")
        yield from PAIRS[100:]

    corpus = Corpus("a corpus", read)
    origin = Origin("a corpus", fingerprint(PAIRS), (tokenizer, tokenizer))
    options = dict(processes=1, shard_pairs=40)
    with pytest.raises(CorpusError, match="line 101"):
        prepare(corpus, origin, tmp_path, **options)
    folder = tmp_path / origin.key
    assert sorted(path.name for path in folder.iterdir()) == ["shard-00000", "shard-00001"]
    kept = {path: path.stat().st_ino for path in folder.glob("*/*")}
    malformed = False
    assert len(prepare(corpus, origin, tmp_path, **options)) == len(PAIRS)
    assert all(path.stat().st_ino == inode for path, inode in kept.items())
    about = json.loads((folder / "index" / "about.json").read_text())
    assert (about["corpus"], about["shard_pairs"]) == ("a corpus", 40)


def test_of_two_that_write_a_shard_one_comes_first(tokenizer, tmp_path):
    path = tmp_path / "shard"

    class Slow:
        vocab_size = tokenizer.vocab_size

        def tokenize(self, lines):
            write_shard(path, PAIRS[:3], (tokenizer, tokenizer))
            return tokenizer.tokenize(lines)

    write_shard(path, PAIRS[:3], (Slow(), tokenizer))
    assert [entry.name for entry in tmp_path.iterdir()] == ["shard"]
    expected = tokenizer.tokenize([source for source, _ in PAIRS[:3]]).values.numpy().tolist()
    assert np.load(path / "source.npy").tolist() == expected


def test_of_two_that_prepare_a_corpus_one_comes_first(tokenizer, tmp_path):
    origin = Origin("a corpus", fingerprint(PAIRS), (tokenizer, tokenizer))
    options = dict(processes=1, shard_pairs=40)

    def slow():
        yield from PAIRS
        prepare(Corpus("a corpus", lambda: iter(PAIRS)), origin, tmp_path, **options)

    assert len(prepare(Corpus("a corpus", slow), origin, tmp_path, **options)) == len(PAIRS)
    assert not list(tmp_path.glob("**/.*")), "nothing half-written is left"


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: os.truncate(folder / "shard-00001" / "target.npy", 300),
        lambda folder: np.save(folder / "shard-00001" / "source.npy", np.zeros(9, np.uint16)),
        lambda folder: (folder / "shard-00003" / "source.npy").unlink(),
        lambda folder: (folder / "index" / "about.json").write_text("{"),
        lambda folder: os.truncate(folder / "index" / "bounds.npy", 200),
    ],
)
def test_what_is_damaged_is_not_read(damage, stored, tmp_path):
    stored(CORPORA["one"])
    [folder] = (tmp_path / "cache").iterdir()
    damage(folder)
    with pytest.raises(ValueError, match=r"remove the folder.*Received: .*cache"):
        PreparedCorpus(folder)


def test_processes_write_what_one_writes(stored, tokenizer, tmp_path):
    """More shards than are in work at once."""
    corpus = CORPORA["weights"]
    [alone] = stored(corpus)
    origin = Origin("a corpus", fingerprint(corpus), (tokenizer, tokenizer))
    together = prepare(corpus, origin, tmp_path / "other", processes=2, shard_pairs=20)
    places = np.arange(len(PAIRS))
    for one, other in zip(alone.pairs(places), together.pairs(places), strict=True):
        assert [ids.tolist() for ids in one] == [ids.tolist() for ids in other]
        assert one.weight == other.weight


PREPARED_SLOWLY = """
import sys
from keras_transformer.data.corpora import open_corpus
from keras_transformer.data.fingerprint import fingerprint
from keras_transformer.data.prepared import preparing
from keras_transformer.data.prepared.origin import Origin
from keras_transformer.data.prepared.preparing import prepare
from keras_transformer.text.tokenizer import SubwordTokenizer

if __name__ == "__main__":
    corpus, model, cache = sys.argv[1:]
    tokenizer, corpus = SubwordTokenizer.load(model), open_corpus(corpus, "en", "de")
    origin = Origin("a corpus", fingerprint(corpus), (tokenizer, tokenizer))
    prepare(corpus, origin, cache, processes=2, shard_pairs=200)
"""


@thorough.only
def test_a_killed_process_leaves_whole_shards_and_no_workers(tokenizer, tmp_path):
    corpus, script = tmp_path / "pairs.tsv", tmp_path / "script.py"
    pairs = itertools.islice(itertools.cycle(PAIRS), 30_000)
    corpus.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    tokenizer.save(tmp_path / "joint.model")
    script.write_text(PREPARED_SLOWLY)
    command = [sys.executable, script, corpus, tmp_path / "joint.model", tmp_path / "cache"]
    process = subprocess.Popen(command, start_new_session=True)
    while len(shards := list(tmp_path.glob("cache/*/shard-*"))) < 5:
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    for _ in range(100):
        if not members(process.pid):
            break
        time.sleep(0.1)
    assert not members(process.pid), "the workers are gone"
    kept = {path: path.stat().st_ino for path in shards}
    assert not list(tmp_path.glob("cache/*/index"))
    subprocess.run(command, check=True)
    assert all(path.stat().st_ino == inode for path, inode in kept.items())
    [folder] = (tmp_path / "cache").iterdir()
    assert len(PreparedCorpus(folder)) == 30_000


@thorough.only
def test_a_worker_that_is_killed_is_told():
    with (
        pytest.raises(OSError, match=r"ended from outside.*Received: 1 processes"),
        preparing._workers(1) as workers,
    ):
        workers.submit(os._exit, 1).result()


def members(session):
    """Returns the processes of a session."""
    found = subprocess.run(["pgrep", "-s", str(session)], capture_output=True, text=True)
    return found.stdout.split()
