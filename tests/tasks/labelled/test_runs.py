"""Runs of labelled examples: trained, resumed, begun with another, exported and predicted with."""

import dataclasses
import json
from unittest import mock

import keras
import numpy as np
import pytest
import tensorflow as tf
import thorough
from random_models import vary

from keras_transformer import BertConfig
from keras_transformer.commands.main import main
from keras_transformer.config.choices import Choices
from keras_transformer.config.labelled import (
    FINE_TUNING,
    ClassificationConfig,
    ClassificationDataConfig,
    PairsConfig,
    PairsDataConfig,
    SpansConfig,
    SpansDataConfig,
    TagsConfig,
    TagsDataConfig,
)
from keras_transformer.export.opening import open_translator
from keras_transformer.export.predictions import export_predictions, open_predictor
from keras_transformer.models.token_normalized import TokenNormalizedModel
from keras_transformer.runs.progress import Progress
from keras_transformer.runs.run import open_run
from keras_transformer.tasks import task_of, train

MODEL = BertConfig(
    vocab_size=220, num_layers=1, d_model=16, d_ff=24, num_heads=2, dropout=0.2, max_length=48
)
TRAINING = dataclasses.replace(FINE_TUNING, epochs=2, peak_learning_rate=0.01, warmup_steps=5)
DATA = ClassificationDataConfig("phrasebook:tense:train:100", "phrasebook:tense:valid:20", 16)
CONFIG = ClassificationConfig(model=MODEL, data=DATA, training=TRAINING)


def made_with(config, **changes):
    return dataclasses.replace(config, training=dataclasses.replace(config.training, **changes))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return train(tmp_path_factory.mktemp("runs") / "tense", CONFIG, "none")


def test_a_run_keeps_its_labels_and_ranks_by_its_scores(trained):
    run = open_run(trained.path)
    assert run.config.data.labels == ("modal", "past", "perfect", "present", "progressive")
    scores = [checkpoint.metrics for checkpoint in run.checkpoints.all() if checkpoint.metrics]
    assert {"val_accuracy", "val_f1", "val_matthews", "val_loss"} <= {*scores[0]}
    best = max(scores, key=lambda one: (one["val_accuracy"], -one["val_loss"]))
    assert run.checkpoints.best().metrics == best
    history = (run.path / "history.csv").read_text()
    assert "val_matthews" in history.splitlines()[0]


def test_a_run_goes_on_in_the_midst_of_an_epoch(trained, tmp_path):
    train(tmp_path / "run", made_with(CONFIG, max_steps=10), "none")  # Of 7 an epoch.
    resumed = train(tmp_path / "run", CONFIG, "none")
    for one, other in zip(
        trained.checkpoints.latest().load().get_weights(),
        resumed.checkpoints.latest().load().get_weights(),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_a_run_begins_with_the_encoder_of_another(trained, tmp_path):
    config = PairsConfig(data=PairsDataConfig("phrasebook:follows:train:50", None))
    task, nothing_asked_for = task_of(config), Choices(frozenset())
    completed = task.completed(config, trained.path, nothing_asked_for)
    assert completed.model == MODEL
    data = task.fingerprints(completed)
    run = task.prepare(tmp_path, completed, data, str(trained.path), nothing_asked_for)
    assert run.tokenizers[0].pieces == trained.tokenizers[0].pieces
    model = task.model(run.config)
    head = [weight.copy() for weight in model.head.get_weights()]
    task.inherit_weights(model, run, trained)
    start = trained.checkpoints.best().load()
    for one, other in zip(model.bert.get_weights(), start.bert.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(model.head.get_weights()[0], head[0])
    another = dataclasses.replace(completed, model=dataclasses.replace(MODEL, d_ff=48))
    with pytest.raises(ValueError, match=r"leave its options out.*d_ff: 24 there, 48 now"):
        task.prepare(tmp_path, another, data, str(trained.path), nothing_asked_for)


CONFIGS = {
    "spans": SpansConfig(
        data=SpansDataConfig("phrasebook:questions:train:40", None, stride=6, threshold=-1e6)
    ),
    "tags": TagsConfig(data=TagsDataConfig("phrasebook:words:train:40", None)),
    "pairs": PairsConfig(data=PairsDataConfig("phrasebook:translation:train:40", None)),
}
LINES = {
    "spans": [b"Who sings?\tAnna sings in K\xc3\xb6ln. Paul sleeps.", b"\t"],
    "tags": [b"Anna sings.", b""],
    "pairs": [b"Anna sings.\tAnna singt.", b"\t"],
}


@pytest.mark.parametrize("kind", thorough.number(["spans"], list(CONFIGS)))
def test_an_export_predicts_as_its_run(kind, tmp_path):
    config = dataclasses.replace(CONFIGS[kind], model=MODEL, training=TRAINING)
    with mock.patch.object(TokenNormalizedModel, "fit"):
        run = train(tmp_path / "run", config, "none")
    model = vary(task_of(config).model(run.config), seed=1)
    run.checkpoints.save(model, Progress(step=1, epoch=1), {"loss": 1.0})
    path = export_predictions(run, tmp_path / "export")
    found = open_predictor(run.path).of_lines(LINES[kind])
    exported = open_predictor(tmp_path / "export").of_lines(LINES[kind])
    for one, other in zip(found, exported, strict=True):
        assert one.keys() == other.keys()
        for name, value in one.items():
            near = isinstance(value, float) or name == "probabilities"
            assert other[name] == (pytest.approx(value, abs=1e-5) if near else value)
    columns = json.loads((path / "metadata.json").read_text())["columns"]
    texts = LINES[kind][0].split(b"\t")
    inputs = {name: tf.constant([text]) for name, text in zip(columns, texts, strict=True)}
    vectors = tf.saved_model.load(path).signatures["features"](**inputs)
    assert sorted(vectors) == ["pieces", "sentence", "tokens"]
    assert vectors["tokens"].shape == (1, vectors["pieces"].shape[1], MODEL.d_model)
    with pytest.raises(ValueError, match="keras-transformer predict"):
        open_translator(path)


def test_predictions_of_the_command_line(trained, tmp_path, capfdbinary):
    (tmp_path / "in.txt").write_bytes(b"Anna has sung\n\nPaul can sing")
    with (tmp_path / "in.txt").open("rb") as lines, mock.patch("sys.stdin") as stdin:
        stdin.buffer, stdin.isatty = lines, lambda: False
        main(["predict", str(trained.path)])
    found = [line.split(b"\t") for line in capfdbinary.readouterr().out.splitlines()]
    assert len(found) == 3
    expected = open_predictor(trained.path)(["Anna has sung", "", "Paul can sing"])
    assert [label.decode() for label, _ in found] == [one["label"] for one in expected]
    assert all(
        float(share) == pytest.approx(max(one["probabilities"]), abs=1e-4)
        for (_, share), one in zip(found, expected, strict=True)
    )


def test_who_does_what_with_a_run(trained, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["export", str(trained.path), "--output", str(tmp_path), "--format", "serving"])
    assert ended.value.code == 1
    assert "--format saved_model" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"keras-transformer predict.*task 'classification'"):
        open_translator(trained.path)
    with pytest.raises(FileNotFoundError, match=r"must be a run directory"):
        open_predictor("runs/none")


@pytest.mark.parametrize(
    ("data", "training", "message"),
    [
        ({"valid": "phrasebook:negation:valid:20"}, {}, "affirmative, negative, beside modal"),
        ({"train": "phrasebook:mood"}, {}, "a kind of"),
        ({"valid": None}, {"patience": 2}, "`patience` needs examples"),
        ({}, {"label_smoothing": 0.1}, "`label_smoothing` must be 0"),
    ],
)
def test_what_cannot_be_trained(data, training, message, tmp_path):
    config = dataclasses.replace(CONFIG, data=dataclasses.replace(DATA, **data))
    with pytest.raises(ValueError, match=message):
        train(tmp_path / "run", made_with(config, **training), "none")
    assert not (tmp_path / "run" / "run.json").exists()


def test_texts_that_could_not_be_told_apart():
    """An imported model may have one segment, and texts of two would be read beyond its table."""
    model = dataclasses.replace(MODEL, num_segments=1)
    task_of(CONFIG).check(dataclasses.replace(CONFIG, model=model))
    for config in (CONFIGS["pairs"], CONFIGS["spans"]):
        with pytest.raises(ValueError, match=r"`model\.num_segments` must be at least 2"):
            task_of(config).check(dataclasses.replace(config, model=model))


def test_a_training_that_leaves_the_micro_batches_open_has_a_batch_to_try():
    config = task_of(CONFIG).completed(CONFIG, None, Choices())
    task = task_of(config)
    inputs, labels = task.example_batch(config, shape := mock.Mock(batch=3, source=16, target=1))
    model = task.model(config)
    assert tuple(model(inputs).shape) == (3, 1, 6)
    assert float(task.loss(config)(labels, model(inputs))) > 0
    assert task.floats_of(config, shape) > 0
    assert keras.ops.shape(labels) == (3, 1)
