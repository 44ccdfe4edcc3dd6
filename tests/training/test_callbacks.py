"""Throughput by a clock that is told the time, and translations at the end of an epoch."""

import itertools
import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer import TrainingConfig, Transformer, TransformerConfig, compile_model
from keras_transformer.evaluation import score_corpus
from keras_transformer.training.callbacks import SaveCheckpoints, Throughput, ValidationBleu
from keras_transformer.training.checkpoints import Checkpoints


@pytest.fixture(scope="module")
def model():
    config = TransformerConfig(20, None, 1, 8, 8, 1, max_length=8)
    return compile_model(Transformer(config), TrainingConfig())


@pytest.fixture(scope="module")
def batches():
    """Five batches that have different numbers of real tokens."""
    ids = np.random.default_rng(0).integers(4, 20, (5, 3, 6), "int32")
    for batch, length in zip(ids, (6, 5, 4, 3, 2), strict=True):
        batch[0, length:] = 0
        batch[1, length - 1 :] = 0
    return ids


def dataset_of(ids):
    def inputs(batch):
        return {"source": batch, "target": batch}, batch

    return tf.data.Dataset.from_tensor_slices(ids).map(inputs)


def clock(seconds):
    """A clock that goes on by so many seconds each time it is read."""
    readings = itertools.count()
    return lambda: next(readings) * seconds


@pytest.mark.parametrize("validate", [False, True])
@pytest.mark.parametrize("seconds", [2.0, 0.4, 0.001], ids=["slow", "middle", "fast"])
def test_throughput(model, batches, seconds, validate):
    """Each step takes so many seconds, from the start of the epoch to the end of its last step."""
    history = model.fit(
        dataset_of(batches),
        epochs=2,
        validation_data=dataset_of(batches[:2]) if validate else None,
        callbacks=[Throughput(clock(seconds))],
        shuffle=False,
        verbose=0,
    ).history
    expected = np.count_nonzero(batches) / (len(batches) * seconds)
    assert history["tokens_per_second"] == pytest.approx([expected, expected])


def test_throughput_so_far_is_shown_without_reading_the_count_each_step(model, batches):
    """The count is read after the first step, and then once a second."""
    shown = []
    show = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: shown.append(logs["tokens_per_second"])
    )
    model.fit(
        dataset_of(batches), callbacks=[Throughput(clock(0.4)), show], shuffle=False, verbose=0
    )
    tokens = np.cumsum([np.count_nonzero(batch) for batch in batches])
    first, fourth = tokens[0] / 0.4, tokens[3] / (4 * 0.4)
    assert shown == pytest.approx([first, first, first, fourth, fourth])


def test_throughput_needs_a_count_of_tokens():
    model = keras.Sequential([keras.Input([1]), keras.layers.Dense(1)])
    model.compile(loss="mse")
    with pytest.raises(ValueError, match=r"compile the model with TokenAccuracy.*Received"):
        model.fit(
            np.ones([2, 1]), np.ones([2, 1]), callbacks=[Throughput()], shuffle=False, verbose=0
        )


PAIRS = [("a dog sleeps here", "ein Hund schläft hier"), ("a cat", "eine Katze"), ("a", "ein")]


def test_validation_bleu(capsys):
    given = []

    def translate(sentences):
        given.append(sentences)
        return ["ein Hund schläft dort", "eine Katze", "ein"]

    callback = ValidationBleu(translate, PAIRS, samples=2)
    logs = {"loss": 1.0}
    callback.on_epoch_end(0, logs)
    assert given == [["a dog sleeps here", "a cat", "a"]]
    # Unigrams 6 of 7, bigrams 3 of 4, trigrams 1 of 2, and no 4-gram of 1, smoothed to a half.
    precisions = [6 / 7, 3 / 4, 1 / 2, 1 / 2]
    bleu = 100 * math.exp(sum(map(math.log, precisions)) / 4)
    assert logs == {"loss": 1.0, "val_bleu": pytest.approx(bleu), "val_chrf": logs["val_chrf"]}
    assert 50 < logs["val_chrf"] < 100
    assert capsys.readouterr().out.strip().splitlines() == [
        f"valid: {score_corpus(translate(0), [reference for _, reference in PAIRS])}",
        "  source      a dog sleeps here",
        "  reference   ein Hund schläft hier",
        "  translation ein Hund schläft dort",
        "  source      a cat",
        "  reference   eine Katze",
        "  translation eine Katze",
    ]


def test_validation_bleu_of_the_references(capsys):
    logs = {}
    callback = ValidationBleu(lambda _: [reference for _, reference in PAIRS], PAIRS, samples=0)
    callback.on_epoch_end(0, logs)
    assert logs == {"val_bleu": pytest.approx(100), "val_chrf": pytest.approx(100)}
    assert "source" not in capsys.readouterr().out


def test_checkpoints_have_the_metrics_of_the_callbacks_before(model, batches, tmp_path):
    checkpoints = Checkpoints(tmp_path)
    bleus = iter([["x"], ["ein"]])
    validate = ValidationBleu(lambda _: next(bleus), [("a", "ein")], samples=0)
    callbacks = [Throughput(clock(1.0)), validate, SaveCheckpoints(checkpoints)]
    history = model.fit(
        dataset_of(batches),
        initial_epoch=3,
        epochs=5,
        callbacks=callbacks,
        shuffle=False,
        verbose=0,
    ).history
    assert [checkpoint.epoch for checkpoint in checkpoints.all()] == [4, 5]
    for i, checkpoint in enumerate(checkpoints.all()):
        assert checkpoint.metrics == {name: pytest.approx(v[i]) for name, v in history.items()}
    assert {"loss", "val_bleu", "tokens_per_second"} <= {*checkpoint.metrics}
