"""Run directories: what they hold, and which configurations may continue them."""

import dataclasses
import importlib.metadata
import json
import platform

import pytest

from keras_transformer import DataConfig, RunConfig, TrainingConfig, TransformerConfig
from keras_transformer.data.bucketing import BucketPlan
from keras_transformer.runs.run import (
    Run,
    exists,
    log_header,
    open_run,
    require_same_data,
    resume_run,
)
from keras_transformer.text.tokenizer import SubwordTokenizer

PLAN = BucketPlan(((4, 8, 8), (8, 4, 4)))
JOINT = RunConfig(
    model=TransformerConfig.preset("tiny", vocab_size=20, key_dim=5),
    data=DataConfig(train=["a.en", "a.de"], valid=None),
    training=TrainingConfig(clip_norm=1.5, keep_checkpoints=7, keep_best=2),
)
DATA = {"train": {"pairs": 2, "sha256": "ab12"}, "valid": {"pairs": 1, "sha256": "cd34"}}
SEPARATE = dataclasses.replace(JOINT, model=dataclasses.replace(JOINT.model, source_vocab_size=16))


@pytest.fixture(scope="module")
def tokenizers():
    lines = ["the cat sat", "the dog ran"]
    return {size: SubwordTokenizer.train(lines, size) for size in (16, 20)}


@pytest.fixture
def write_run(tokenizers, tmp_path):
    def write(config):
        source = tokenizers[config.model.source_vocab_size or config.model.vocab_size]
        target = tokenizers[config.model.vocab_size]
        run = Run(tmp_path / "runs" / "a", config, (source, target), PLAN, DATA)
        run.write()
        return run

    return write


def replaced(config, section, **values):
    changed = dataclasses.replace(getattr(config, section), **values)
    return dataclasses.replace(config, **{section: changed})


@pytest.mark.parametrize(
    ("config", "models"),
    [(JOINT, ["joint.model"]), (SEPARATE, ["source.model", "target.model"])],
    ids=["joint", "separate"],
)
def test_round_trip(write_run, config, models):
    written = write_run(config)
    assert sorted(path.name for path in written.path.iterdir()) == sorted([*models, "run.json"])
    run = open_run(str(written.path))
    assert run.path == written.path
    assert run.config == config
    assert run.plan == PLAN
    assert run.source_tokenizer.model == written.source_tokenizer.model
    assert run.target_tokenizer.model == written.target_tokenizer.model
    assert (run.source_tokenizer is run.target_tokenizer) == (len(models) == 1)
    assert run.source_tokenizer.vocab_size == (20 if config is JOINT else 16)
    assert run.checkpoints.directory == run.path / "checkpoints"
    assert (run.checkpoints.keep, run.checkpoints.keep_best) == (7, 2)
    assert run.tokenizers == (run.source_tokenizer, run.target_tokenizer)
    assert run.data == DATA


def test_content_of_run_json(write_run):
    content = json.loads((write_run(JOINT).path / "run.json").read_text())
    names = ["chosen", "config", "data", "family", "init_from", "machine", "plan", "task"]
    assert sorted(content) == [*names, "versions"]
    assert (content["family"], content["task"]) == ("transformer", "translation")
    sections = ["data", "decoding", "model", "tokenizer", "training", "validation"]
    assert sorted(content["config"]) == sections
    assert content["config"]["model"]["key_dim"] == 5
    assert content["config"]["data"]["train"] == ["a.en", "a.de"]
    assert RunConfig.from_dict(content["config"]) == JOINT
    # The smaller shape comes first, whatever the order it was given in.
    assert content["plan"] == [[8, 4, 4], [4, 8, 8]]
    assert content["data"] == DATA
    for package in ("keras", "tensorflow", "tensorflow-text", "sentencepiece", "numpy"):
        assert content["versions"][package] == importlib.metadata.version(package)


def test_every_field_comes_back():
    assert RunConfig.from_dict(json.loads(json.dumps(SEPARATE.to_dict()))) == SEPARATE
    with pytest.raises(TypeError, match="depth"):
        RunConfig.from_dict({"model": {"depth": 3}})


def test_a_directory_without_a_run(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        assert not exists(path)
        with pytest.raises(FileNotFoundError, match=rf"no run\.json. Received: {path}"):
            open_run(path)


def test_a_run_is_there_once_it_is_whole(write_run, tmp_path, monkeypatch):
    """`run.json` comes last, so that a process that dies before has made no run."""

    def full_disk(*arguments):
        raise OSError("no space left on device")

    monkeypatch.setattr("keras_transformer.runs.run.write_atomically", full_disk)
    with pytest.raises(OSError, match="no space"):
        write_run(JOINT)
    assert not exists(tmp_path / "runs" / "a")
    monkeypatch.undo()
    assert exists(write_run(JOINT).path)


def test_the_same_configuration_continues(write_run):
    run = resume_run(open_run(write_run(JOINT).path), JOINT)
    assert run.config == JOINT


def test_the_log_says_what_a_result_depends_on(write_run):
    header = log_header(write_run(JOINT))
    for package in ("keras", "tensorflow", "numpy"):
        assert f"{package} {importlib.metadata.version(package)}" in header
    assert f"python {platform.python_version()}" in header
    assert platform.machine() in header
    assert "seed 0" in header.splitlines()
    assert "train: pairs 2, sha256 ab12" in header.splitlines()


def test_a_corpus_that_has_changed_is_refused(write_run):
    run = write_run(JOINT)
    require_same_data(run, DATA)
    changed = {"train": {"pairs": 3, "sha256": "ef56"}, "mix c": {"pairs": 1, "sha256": "aa"}}
    with pytest.raises(ValueError, match="goes on with the corpora") as raised:
        require_same_data(run, changed)
    assert str(raised.value).split("Received: ")[1] == (
        f"{run.path} with mix c: none there, pairs 1, sha256 aa now; "
        "train: pairs 2, sha256 ab12 there, pairs 3, sha256 ef56 now; "
        "valid: pairs 1, sha256 cd34 there, none now"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"epochs": 99},
        {"max_steps": 10, "patience": 2, "early_stopping": "loss"},
        {"keep_checkpoints": 1, "keep_best": 0, "average_checkpoints": 1},
        {"average_checkpoints": 2, "average_best": True},
        {"checkpoint_steps": 5, "checkpoint_minutes": None, "micro_batches": 2},
    ],
    ids=str,
)
def test_how_long_and_what_to_keep_may_change(write_run, change):
    config = replaced(JOINT, "training", **change)
    path = write_run(JOINT).path
    assert resume_run(open_run(path), config).config == config
    assert open_run(path).config == JOINT


def test_files_as_a_tuple_are_the_same(write_run):
    path = write_run(JOINT).path
    assert resume_run(open_run(path), replaced(JOINT, "data", train=("a.en", "a.de")))


def test_another_configuration_is_refused(write_run):
    path = write_run(JOINT).path
    other = replaced(JOINT, "model", d_ff=64, key_dim=None)
    other = replaced(other, "training", epochs=99, seed=3)
    other = replaced(other, "data", train="phrasebook")
    with pytest.raises(ValueError, match="`output` holds a run with another") as raised:
        resume_run(open_run(path), other)
    _, received = str(raised.value).split("Received: ")
    assert received == (
        f"{path} with data.train: ['a.en', 'a.de'] there, 'phrasebook' now; "
        "model.d_ff: 256 there, 64 now; "
        "model.key_dim: 5 there, None now; "
        "training.seed: 0 there, 3 now"
    )
