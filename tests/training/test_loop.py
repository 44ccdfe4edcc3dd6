"""Training as a user calls it: what a run leaves, how it continues, and what errors look like."""

import csv
import dataclasses
import os
import runpy
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer import (
    DataConfig,
    DecodingConfig,
    RunConfig,
    TrainingConfig,
    Transformer,
    TransformerConfig,
    ValidationConfig,
)
from keras_transformer.runs.run import open_run
from keras_transformer.tasks import train
from keras_transformer.tasks.translation.bleu_callback import ValidationBleu
from keras_transformer.training.callbacks import SaveCheckpoints
from keras_transformer.training.reporting import ReportProgress
from keras_transformer.translation.opening import open_runs

ROOT = Path(__file__).parents[2]
METRICS = ["accuracy", "loss", "perplexity"]


def config_of(epochs):
    """Dropout is on: what is random must be the same in each run, too."""
    return RunConfig(
        model=TransformerConfig(
            vocab_size=300, num_layers=1, d_model=32, d_ff=64, num_heads=2, max_length=48
        ),
        data=DataConfig("phrasebook:train:400", "phrasebook:valid:20", batch_tokens=512),
        training=TrainingConfig(epochs=epochs, warmup_steps=50),
        validation=ValidationConfig(bleu_sentences=5, samples=2),
        decoding=DecodingConfig(max_extra_tokens=10),
    )


@pytest.fixture(scope="module")
def traces():
    """For each training so far, how often Keras traced the training step."""
    return []


@pytest.fixture(scope="module")
def train_and_watch(traces):
    """`train`, with a count of the calls of the step's Python function: each one is a trace."""

    def run(path, config):
        step, calls = Transformer.train_step, []

        def counted(model, data):
            calls.append(data)
            return step(model, data)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Transformer, "train_step", counted)
            found = train(path, config)
        traces.append(len(calls))
        return found

    return run


@pytest.fixture(scope="module")
def runs(train_and_watch, tmp_path_factory):
    """A run of two epochs without a break, and one that was stopped after the first."""
    folder = tmp_path_factory.mktemp("runs")
    whole = train_and_watch(folder / "whole", config_of(epochs=2))
    train_and_watch(folder / "stopped", config_of(epochs=1))
    written = (folder / "stopped" / "joint.model").stat().st_mtime_ns
    resumed = train_and_watch(folder / "stopped", config_of(epochs=2))
    # Not written again, let alone trained again.
    assert (folder / "stopped" / "joint.model").stat().st_mtime_ns == written
    return whole, resumed


def history_of(run):
    with open(run.path / "history.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_what_a_run_leaves(runs):
    run, _ = runs
    names = sorted(path.name for path in run.path.iterdir())
    assert names == ["checkpoints", "history.csv", "joint.model", "logs", "run.json"]
    checkpoints = sorted(path.name for path in (run.path / "checkpoints").iterdir())
    steps = [checkpoint.step for checkpoint in run.checkpoints.all()]
    assert checkpoints == [f"step-{step:08d}" for step in steps]
    assert [checkpoint.epoch for checkpoint in run.checkpoints.all()] == [1, 2]
    assert open_run(run.path).config == run.config == config_of(epochs=2)
    assert run.source_tokenizer is run.target_tokenizer
    assert run.source_tokenizer.vocab_size == 300


def test_history(runs):
    for run in runs:
        history = history_of(run)
        names = [*METRICS, *(f"val_{name}" for name in [*METRICS, "bleu", "chrf"])]
        assert sorted(history[0]) == sorted(["epoch", "tokens_per_second", *names])
        assert [row["epoch"] for row in history] == ["0", "1"]
        for row in history:
            assert all(np.isfinite(float(value)) for value in row.values())
            assert float(row["tokens_per_second"]) > 0
        assert float(history[1]["loss"]) < float(history[0]["loss"])
        assert float(history[1]["val_loss"]) < float(history[0]["val_loss"])


def test_checkpoints_keep_the_metrics(runs):
    run, _ = runs
    for checkpoint, row in zip(run.checkpoints.all(), history_of(run), strict=True):
        assert checkpoint.epoch == int(row["epoch"]) + 1
        for name in ("loss", "val_loss", "val_bleu", "val_chrf"):
            assert checkpoint.metrics[name] == pytest.approx(float(row[name]))


def test_tensorboard_shows_training_and_validation(runs):
    run, _ = runs
    for part in ("train", "validation"):
        tags = set()
        for path in (run.path / "logs" / part).glob("events.out.tfevents.*"):
            for event in tf.compat.v1.train.summary_iterator(str(path)):
                tags.update(value.tag for value in event.summary.value)
        assert "epoch_loss" in tags


def test_a_seed_gives_the_same_run(runs):
    """The first epoch of two runs in two directories, with dropout."""
    whole, resumed = (history_of(run)[0] for run in runs)
    for name in {*whole} - {"tokens_per_second"}:
        assert whole[name] == resumed[name], name
    assert runs[0].source_tokenizer.model == runs[1].source_tokenizer.model
    assert runs[0].plan == runs[1].plan


def test_a_resumed_run_is_the_run_without_a_break(runs):
    whole, resumed = (history_of(run)[1] for run in runs)
    for name in {*whole} - {"tokens_per_second"}:
        assert whole[name] == resumed[name], name
    one, other = (run.checkpoints.latest() for run in runs)
    assert one.progress == other.progress
    assert one.arrays()["optimizer/0"] == one.step > 20
    for weight, same in zip(one.load().get_weights(), other.load().get_weights(), strict=True):
        np.testing.assert_array_equal(weight, same)


def test_one_trace_for_all_batch_shapes(runs, traces):
    assert len(runs[0].plan.shapes) > 5
    assert traces[:3] == [1, 1, 1]


def test_a_finished_run_is_left_as_it_is(runs, train_and_watch, capsys):
    _, run = runs
    before = [path.stat().st_mtime_ns for path in sorted((run.path / "checkpoints").rglob("*"))]
    history = history_of(run)
    train_and_watch(run.path, config_of(epochs=2))
    assert ", epoch 2\n" in capsys.readouterr().out
    after = [path.stat().st_mtime_ns for path in sorted((run.path / "checkpoints").rglob("*"))]
    assert after == before
    assert history_of(run) == history


def test_export_of_a_run(runs, tmp_path, script):
    run, _ = runs
    code, output, _ = script("export.py", run.path, "--output", tmp_path, "--checkpoint", "latest")
    assert code == 0
    assert f"(latest checkpoint) to {tmp_path / '1'}" in output
    loaded = tf.saved_model.load(tmp_path / "1")
    outputs = loaded.signatures["serving_default"](text=tf.constant(["the dog", ""]))
    [expected] = open_runs([run.path], "latest").nbest(["the dog"])
    assert outputs["translation"].numpy().tolist() == [expected[0].text.encode(), b""]
    np.testing.assert_allclose(outputs["score"][0], expected[0].log_prob, rtol=1e-4)

    code, output, error = script("export.py", tmp_path, "--output", tmp_path / "exports")
    assert code == 1
    assert error.startswith("export.py: error: `path` must be a run directory")
    assert not (tmp_path / "exports").exists()


def test_separate_vocabularies_without_validation(tmp_path, monkeypatch):
    """Everything but the steps: two tokenizers, no validation, and what `fit` is given."""
    given = {}
    monkeypatch.setattr(keras.Model, "fit", lambda model, data, **options: given.update(options))
    config = config_of(epochs=1)
    config = dataclasses.replace(
        config,
        model=dataclasses.replace(config.model, source_vocab_size=150, vocab_size=200),
        data=dataclasses.replace(config.data, valid=None),
    )
    run = train(tmp_path / "run", config)
    assert sorted(path.name for path in run.path.glob("*.model")) == [
        "source.model",
        "target.model",
    ]
    assert (run.source_tokenizer.vocab_size, run.target_tokenizer.vocab_size) == (150, 200)
    assert given["validation_data"] is None
    assert not [c for c in given["callbacks"] if isinstance(c, ValidationBleu)]
    order = [type(callback) for callback in given["callbacks"]]
    assert order.index(SaveCheckpoints) < order.index(ReportProgress), "a checkpoint before talk"
    assert given["verbose"] == 0, "Keras talks before it"


# Errors, as a user sees them.


@pytest.fixture
def script(monkeypatch, capsys):
    """Runs a script of the root in this process: its exit code, output and errors."""

    def run(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        capsys.readouterr()
        code = 0
        try:
            runpy.run_path(str(ROOT / name), run_name="__main__")
        except SystemExit as error:
            code = error.code
        output, errors = capsys.readouterr()
        if isinstance(code, str):  # Python prints it and exits with 1.
            code, errors = 1, errors + code
        return code, output, errors

    return run


SMALL = ["--preset=tiny", "--model.num_layers=1", "--model.vocab_size=60", "--data.valid=null"]


@pytest.fixture
def corpus(tmp_path):
    """Parallel files of five short lines."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "train.en").write_text("a dog\na cat\nthe dog\nthe cat\na house\n")
    (folder / "train.de").write_text("ein Hund\neine Katze\nder Hund\ndie Katze\nein Haus\n")
    return folder / "train"


def test_a_missing_corpus(tmp_path):
    """In a process of its own: no traceback, and an exit code that a shell sees."""
    command = [sys.executable, str(ROOT / "train.py"), *SMALL, "--output", str(tmp_path / "run")]
    done = subprocess.run(
        [*command, "--data.train", str(tmp_path / "missing")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    [message] = [line for line in done.stderr.splitlines() if line.startswith("train.py: error:")]
    assert "no such corpus file" in message
    assert f"{tmp_path}/missing.en" in message
    assert not (tmp_path / "run").exists()


def test_files_of_different_lengths(tmp_path, corpus, script):
    with open(f"{corpus}.de", "a") as file:
        file.write("noch ein Satz\n")
    code, _, error = script(
        "train.py", *SMALL, "--data.train", corpus, "--output", tmp_path / "run"
    )
    assert code == 1
    assert error.startswith("train.py: error: The files of a parallel corpus must have one")
    assert f"5 lines in {corpus}.en, 6 lines in {corpus}.de" in error
    assert not (tmp_path / "run").exists()


def test_a_vocabulary_that_is_too_large(tmp_path, corpus, script):
    arguments = [*SMALL, "--model.vocab_size=900", "--data.train", corpus]
    code, _, error = script("train.py", *arguments, "--output", tmp_path / "run")
    assert code == 1
    assert error.startswith("train.py: error: `vocab_size` is larger than the ")
    assert error.endswith(
        f"Received: vocab_size=900 (--model.vocab_size, for the text of {corpus})\n"
    )
    assert not (tmp_path / "run").exists()


def test_an_unknown_preset(tmp_path, script):
    code, _, error = script("train.py", "--preset", "huge", "--output", tmp_path / "run")
    assert code == 2
    assert "preset" in error
    assert "huge" in error
    assert "base_dk16" in error, "the message lists what there is"
    assert not (tmp_path / "run").exists()


def test_a_directory_with_another_configuration(runs, script):
    _, run = runs
    before = (run.path / "run.json").read_bytes()
    code, _, error = script(
        "train.py", *SMALL, "--data.train=phrasebook:train:9", "--output", run.path
    )
    assert code == 1
    assert error.startswith("train.py: error: `output` holds a run with another configuration")
    assert "model.d_model: 32 there, 128 now" in error
    assert (run.path / "run.json").read_bytes() == before


def test_a_corpus_of_files_trains(tmp_path, corpus, script, monkeypatch):
    """Two files by the command line, up to the first step; the message says what comes next."""
    seen = []

    def fit(model, data, **options):
        seen.extend(data.as_numpy_iterator())

    monkeypatch.setattr(keras.Model, "fit", fit)
    paths = f'["{corpus}.en", "{corpus}.de"]'
    arguments = [*SMALL, "--training.epochs=1", "--data.train", paths]
    code, output, error = script("train.py", *arguments, "--output", tmp_path / "run")
    assert code == 0, error
    assert sum(len(labels) for _, labels in seen) == 5
    next_command = f"python export.py {tmp_path}/run --output exports/run"
    assert output.rstrip().endswith(next_command)


def test_precision_is_the_model_s_alone(tmp_path):
    base = config_of(epochs=1)
    training = dataclasses.replace(base.training, precision="mixed_bfloat16")
    data = dataclasses.replace(base.data, valid=None)
    run = train(tmp_path / "half", dataclasses.replace(base, data=data, training=training))
    model = run.checkpoints.latest().load()
    policies = {layer.dtype_policy.name for layer in model._flatten_layers() if layer.weights}
    assert policies == {"mixed_bfloat16"}
    assert keras.config.dtype_policy().name == "float32"
    assert float(history_of(run)[0]["loss"]) < np.log(300)


def test_early_stopping_across_a_resume_and_an_average_at_the_end(tmp_path, monkeypatch, capsys):
    """BLEU is the best in the second epoch; training stops two after it."""
    # Of three epochs and their mean, and of one more and the mean that is made anew.
    bleus = iter([10.0, 30.0, 20.0, 25.0, 30.0, 31.0])
    monkeypatch.setattr(ValidationBleu, "score", lambda self: {"val_bleu": next(bleus)})

    def config(epochs):
        base = config_of(epochs)
        training = dataclasses.replace(base.training, patience=2, average_checkpoints=2)
        data = dataclasses.replace(base.data, train="phrasebook:train:60")
        return dataclasses.replace(base, training=training, data=data)

    run = train(tmp_path / "run", config(epochs=3))
    assert run.checkpoints.latest().progress.waited == 1
    run = train(tmp_path / "run", config(epochs=9))
    output = capsys.readouterr().out
    progress = run.checkpoints.latest().progress
    assert (progress.epoch, progress.waited, progress.best_score) == (4, 2, 30.0)
    assert "No better score for 2 epochs" in output
    assert [row["val_bleu"] for row in history_of(run)] == ["10.0", "30.0", "20.0", "30.0"]
    # The mean of the newest, made anew when training went on, is scored and is the best.
    newest = run.checkpoints.newest(2)
    average = run.checkpoints.average()
    assert average.averaged == tuple(checkpoint.step for checkpoint in newest)
    assert {"val_loss", "val_bleu"} <= {*average.metrics}
    assert run.checkpoints.best() == average
    weights = [checkpoint.load().get_weights()[0] for checkpoint in newest]
    expected = np.mean(weights, axis=0, dtype="float64").astype("float32")
    np.testing.assert_array_equal(average.load().get_weights()[0], expected)


def test_tokenizer_of_bleu_is_known_before_anything_is_made(tmp_path):
    base = config_of(epochs=1)
    validation = dataclasses.replace(base.validation, bleu_tokenize="moses")
    with pytest.raises(ValueError, match=r"`tokenize` must be one of .*Received: 'moses'"):
        train(tmp_path / "run", dataclasses.replace(base, validation=validation))
    assert not (tmp_path / "run").exists()


def test_patience_without_anything_to_wait_for(tmp_path):
    base = config_of(epochs=1)
    config = dataclasses.replace(
        base,
        training=dataclasses.replace(base.training, patience=1),
        validation=dataclasses.replace(base.validation, bleu_sentences=0),
    )
    with pytest.raises(ValueError, match=r"`patience` needs a validation corpus.*bleu_sentences=0"):
        train(tmp_path / "run", config)


def test_a_run_that_begins_with_another(runs, tmp_path):
    """Fine-tuned with a larger vocabulary and a frozen encoder, in parts, on drawn pieces."""
    whole, _ = runs
    base = config_of(epochs=1)
    config = dataclasses.replace(
        base,
        model=dataclasses.replace(base.model, vocab_size=330),
        data=dataclasses.replace(
            base.data, valid=None, subword_dropout=0.1, mix={"phrasebook:test:30": 0.1}
        ),
        training=dataclasses.replace(
            base.training, freeze=("encoder",), micro_batches=2, learning_rate_factor=0.3
        ),
    )
    run = train(tmp_path / "tuned", config, init_from=whole.path)
    assert run.init_from == str(whole.path)
    assert run.source_tokenizer.vocab_size == 330
    old, new = (r.checkpoints.best().load() for r in (whole, run))
    for before, after in zip(old.encoder.get_weights(), new.encoder.get_weights(), strict=True):
        np.testing.assert_array_equal(before, after)
    for before, after in zip(old.decoder.get_weights(), new.decoder.get_weights(), strict=True):
        assert not np.array_equal(before, after)
        # A run from random weights would be further away.
        assert np.corrcoef(before.ravel(), after.ravel())[0, 1] > 0.9 or before.ndim == 1

    with pytest.raises(
        ValueError, match=f"began otherwise.*init_from='elsewhere', and '{whole.path}'"
    ):
        train(run.path, config, init_from="elsewhere")


def test_another_backend(monkeypatch, tmp_path):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(ValueError, match=r"trained on the TensorFlow backend.*KERAS_BACKEND=jax"):
        train(tmp_path / "run", config_of(epochs=1))
