"""Throughput by a clock that is told the time, and translations at the end of an epoch."""

import functools
import itertools
import json
import math
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer import TrainingConfig, Transformer, TransformerConfig, compile_model
from keras_transformer.data.batches import TranslationBatches
from keras_transformer.evaluation import score_corpus
from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.progress import Progress
from keras_transformer.tasks.translation import Translation
from keras_transformer.tasks.translation.bleu_callback import ValidationBleu
from keras_transformer.tasks.translation.validation import in_stretches
from keras_transformer.training.callbacks import (
    SaveCheckpoints,
    StopAtNonFinite,
    Throughput,
    TrackProgress,
    ValidateAverage,
)
from keras_transformer.training.interruption import Interruption
from keras_transformer.training.moving_average import MovingAverage
from keras_transformer.training.non_finite import NonFiniteError, NonFiniteGuard
from keras_transformer.training.state import TrainingState
from keras_transformer.training.strategy import ONE_DEVICE, Replicas
from keras_transformer.training.time_limit import TimeLimit


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
    """The count is read after the first step, and then ten times a second."""
    shown = []
    show = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: shown.append(logs["tokens_per_second"])
    )
    model.fit(
        dataset_of(batches), callbacks=[Throughput(clock(0.04)), show], shuffle=False, verbose=0
    )
    tokens = np.cumsum([np.count_nonzero(batch) for batch in batches])
    first, fourth = tokens[0] / 0.04, tokens[3] / (4 * 0.04)
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
    assert capsys.readouterr().out == ""
    assert callback.report.splitlines() == [
        f"valid: {score_corpus(translate(0), [reference for _, reference in PAIRS])}",
        "  source      a dog sleeps here",
        "  reference   ein Hund schläft hier",
        "  translation ein Hund schläft dort",
        "  source      a cat",
        "  reference   eine Katze",
        "  translation eine Katze",
    ]


def test_validation_bleu_with_another_tokenizer():
    pairs = [("a dog", "我们在家里看书"), ("a cat", "小狗睡觉")]
    translations = ["我们在家里读书", "小狗睡觉"]
    callback = ValidationBleu(lambda sentences: translations, pairs, samples=0, tokenize="zh")
    expected = score_corpus(translations, [reference for _, reference in pairs], "zh")
    assert callback.score()["val_bleu"] == expected.bleu


def test_validation_bleu_of_the_references():
    logs = {}
    callback = ValidationBleu(lambda _: [reference for _, reference in PAIRS], PAIRS, samples=0)
    callback.on_epoch_end(0, logs)
    assert logs == {"val_bleu": pytest.approx(100), "val_chrf": pytest.approx(100)}
    assert "source" not in callback.report


def fit(model, data, state, config, *others, epochs=1, **options):
    """Two places for callbacks: what tracks comes first, what saves comes last."""
    options = {"score_to_improve": Translation().score_to_improve, **options}
    save = SaveCheckpoints(state, config, **options)
    return model.fit(
        data,
        initial_epoch=state.progress.epoch,
        epochs=epochs,
        callbacks=[TrackProgress(state), *others, save],
        shuffle=False,
        verbose=0,
    ).history


@pytest.fixture
def state(model, tmp_path):
    return TrainingState(model, Checkpoints(tmp_path, keep=20), Interruption())


def test_checkpoints_have_the_metrics_of_the_callbacks_before(model, batches, state):
    line = "ein Hund schläft hier"
    translations = iter([["x"], [line]])
    validate = ValidationBleu(lambda _: next(translations), [("a", line)], samples=0)
    state.progress = Progress(step=15, epoch=3)
    config = TrainingConfig(checkpoint_minutes=None)
    history = fit(model, dataset_of(batches), state, config, Throughput(), validate, epochs=5)
    found = state.checkpoints.all()
    assert [(c.step, c.epoch, c.progress.batch) for c in found] == [(20, 4, 0), (25, 5, 0)]
    for i, checkpoint in enumerate(found):
        assert checkpoint.metrics == {name: pytest.approx(v[i]) for name, v in history.items()}
    assert {"loss", "val_bleu", "tokens_per_second"} <= {*checkpoint.metrics}
    # BLEU has improved in the second of them.
    assert [c.progress.waited for c in found] == [0, 0]
    assert found[1].progress.best_score == found[1].metrics["val_bleu"] > 0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"checkpoint_minutes": None}, [(5, True)]),
        # A clock of 25 seconds a reading: read once at the start, at each step, and at each save.
        ({"checkpoint_minutes": 1.0}, [(3, False), (5, True)]),
        ({"checkpoint_minutes": None, "checkpoint_steps": 2}, [(2, True), (4, True), (5, True)]),
        ({"checkpoint_minutes": None, "max_steps": 3}, [(3, True)]),
        # The last step of the epoch is scored once more, when its validation is there.
        ({"checkpoint_minutes": None, "checkpoint_steps": 5}, [(5, True)]),
    ],
    ids=str,
)
def test_when_checkpoints_are_written(model, batches, tmp_path, options, expected):
    written = []

    class Recorder(Checkpoints):
        def save(self, model, progress, metrics=None, arrays=None):
            super().save(model, progress, metrics, arrays)
            written.append((progress.step, bool(self.latest().metrics)))

    state = TrainingState(model, Recorder(tmp_path, keep=20), Interruption())
    config = TrainingConfig(**options)
    score = {"val_bleu": 1.0}.copy
    fit(model, dataset_of(batches), state, config, score=score, clock=clock(25))
    assert sorted(dict(written).items()) == expected
    progress = state.checkpoints.latest().progress
    done = options.get("max_steps") is None
    assert (progress.epoch, progress.batch) == ((1, 0) if done else (0, 3))


def test_checkpoints_within_an_epoch_have_the_mean_so_far(model, batches, state):
    seen = []
    see = keras.callbacks.LambdaCallback(on_train_batch_end=lambda b, logs: seen.append(dict(logs)))
    config = TrainingConfig(checkpoint_minutes=None, checkpoint_steps=2)
    fit(model, dataset_of(batches), state, config, see, score=lambda: {"val_bleu": 7.0})
    second, fourth, _ = state.checkpoints.all()
    for checkpoint, logs in ((second, seen[1]), (fourth, seen[3])):
        assert checkpoint.metrics == {
            **{n: pytest.approx(v) for n, v in logs.items()},
            "val_bleu": 7,
        }


class ByTheClock:
    """A model that is trained by a clock of which each step takes 5 s.

    Args:
        replicas: Stands in for those that must agree.
    """

    def __init__(self, folder, replicas=ONE_DEVICE):
        self.config = TrainingConfig(
            minutes=1.0, schedule="trapezoid", warmup_steps=1, cooldown=0.5, checkpoint_minutes=None
        )
        shape = TransformerConfig(20, None, 1, 8, 8, 1, max_length=8)
        model = compile_model(Transformer(shape), self.config)
        self.now, self.rates = 0.0, []
        limit = TimeLimit(1.0, clock=lambda: self.now)
        self.state = TrainingState(
            model, Checkpoints(folder), Interruption(), replicas=replicas, limit=limit
        )

    def fit(self, batches):
        def step(batch, logs):
            self.rates.append(float(self.state.model.optimizer.learning_rate))
            self.now += 5.0

        watch = keras.callbacks.LambdaCallback(on_train_batch_begin=step)
        data, epochs = dataset_of(batches).repeat(3), self.state.progress.epoch + 1
        fit(self.state.model, data, self.state, self.config, watch, epochs=epochs)

    def expected_rates(self, passed):
        """Those of a trapezoid whose shares of time have passed before each step."""
        peak = (8 * 1) ** -0.5
        return pytest.approx([peak * min(1.0, 2 * (1 - share)) for share in passed])


def test_the_learning_rate_and_the_end_follow_the_clock(batches, tmp_path):
    """60 s: 5 s before the steps begin, when the first one is done; and 5 s for the end."""
    training = ByTheClock(tmp_path)
    training.fit(batches)
    latest = training.state.checkpoints.latest()
    # 50 s of steps after the first one, of 5 s each, and no further one in a corpus of 15.
    assert (latest.step, latest.epoch, latest.progress.batch) == (11, 0, 11)
    assert training.rates == training.expected_rates([0.0, *(share / 10 for share in range(10))])


def test_a_training_by_the_clock_goes_on_where_it_was(batches, tmp_path):
    training = ByTheClock(tmp_path)
    training.fit(batches[:1])  # Three steps, of which the last two have taken a fifth of the time.
    resumed = ByTheClock(tmp_path)
    resumed.now = 7.5  # Before it has its state back.
    resumed.state.restore(resumed.state.checkpoints.latest())
    assert resumed.state.time_passed == pytest.approx((10 + 7.5) / 50)
    resumed.fit(batches)
    steps = [(10 + 7.5 + 5 * step) / 50 for step in range(7)]
    assert resumed.rates == resumed.expected_rates(steps)
    assert resumed.state.checkpoints.latest().step == 3 + 7


def test_workers_agree_on_the_time(batches, tmp_path):
    """The other one is a tenth of the time ahead, and takes part until this one is done too."""

    class Two(Replicas):
        def mean(self, value):
            return (value + min(1.0, value + 0.1)) / 2

        def agree(self, wish):
            return wish

    training = ByTheClock(tmp_path, Two("two workers", workers=2))
    training.fit(batches)
    shares = [(share + min(10, share + 1)) / 20 for share in range(10)]
    assert training.rates == training.expected_rates([0.0, *shares])


def test_early_stopping_counts_epochs_without_a_better_one():
    progress = Progress()
    waited = []
    for score in (1.0, 3.0, 2.0, 3.0, math.nan, 4.0, None):
        progress = progress.after_epoch(score)
        waited.append(progress.waited)
    assert waited == [0, 0, 1, 2, 3, 0, 0]
    assert (progress.best_score, progress.epoch) == (4.0, 7)


def test_scores_of_another_kind_are_not_compared():
    """BLEU of 30 is more than any loss below zero."""
    progress = Progress().after_epoch(30.0, "score").after_epoch(20.0, "score")
    assert (progress.best_score, progress.waited) == (30.0, 1)
    progress = progress.after_epoch(-2.0, "loss")
    assert (progress.best_score, progress.waited) == (-2.0, 0)
    progress = progress.after_epoch(-2.5, "loss")
    assert (progress.best_score, progress.waited) == (-2.0, 1)
    # A run of an earlier version does not say what its scores are.
    progress = Progress(best_score=30.0).after_epoch(29.0, "score")
    assert (progress.best_score, progress.waited) == (30.0, 1)


class Lines:
    """Stands in for a tokenizer."""

    def detokenize(self, ids):
        return tf.constant([" ".join(map(str, row)) for row in np.asarray(ids)])


def test_a_loss_that_is_not_finite(model, batches, tmp_path):
    """One weight that is infinite from the third batch on."""
    weight = model.trainable_variables[0]
    before = weight.numpy()

    def batch_at(epoch, index):
        return {"source": batches[index], "target": batches[index]}, batches[index]

    preprocess = SimpleNamespace(tokenizers=(Lines(), Lines()))
    corpus = SimpleNamespace(batch_at=batch_at, preprocess=preprocess)
    described = functools.partial(TranslationBatches.described, corpus)
    guard = NonFiniteGuard(tmp_path / "non_finite", described)
    state = TrainingState(model, Checkpoints(tmp_path / "c"), Interruption(), guard.require)
    state.progress = Progress(step=100, epoch=2)
    break_it = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda b, logs: b == 2 and weight.assign(np.full_like(before, np.inf))
    )
    config = TrainingConfig(checkpoint_steps=1, keep_checkpoints=9)
    with pytest.raises(NonFiniteError, match=r"loss is not finite at step 103, batch 3 of epoch 3"):
        fit(model, dataset_of(batches), state, config, StopAtNonFinite(state), break_it, epochs=9)
    assert [c.step for c in state.checkpoints.all()] == [101, 102]
    # A model that cannot be used is not saved either.
    with pytest.raises(NonFiniteError, match="model is not finite"):
        state.save()
    # Told before the epoch counts as over.
    with pytest.raises(NonFiniteError, match="model is not finite at step 103, batch 3 of epoch 3"):
        state.end_epoch(None)
    assert state.checkpoints.latest().step == 102
    content = json.loads((tmp_path / "non_finite" / "step-00000103.json").read_text())
    assert (content["step"], content["epoch"]) == (103, 2)
    assert [batch["batch"] for batch in content["batches"]] == [1, 2]
    for batch in content["batches"]:
        ids = batches[batch["batch"]].tolist()
        assert batch["source_ids"] == batch["target_ids"] == ids
        assert batch["source"] == batch["target"] == [" ".join(map(str, row)) for row in ids]
    weight.assign(before)


@pytest.mark.parametrize("precision", ["float32", "mixed_float16"])
def test_the_moving_average_is_swapped_exactly(batches, precision):
    """Validation sees the average, training goes on from the weights, and so it is after `fit`."""
    config = TransformerConfig(20, None, 1, 8, 8, 1, max_length=8)
    training = TrainingConfig(ema_momentum=0.5, warmup_steps=2)
    model = compile_model(Transformer(config, dtype=precision), training)
    inner = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    weights, validated = [], []

    def read():
        return [variable.numpy() for variable in model.trainable_variables]

    average = MovingAverage(model.optimizer)
    watch = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda b, logs: weights.append(read())
    )
    watch.on_test_batch_end = lambda batch, logs=None: validated.append(read())
    model.fit(
        dataset_of(batches),
        validation_data=dataset_of(batches[:1]),
        callbacks=[ValidateAverage(average), watch],
        shuffle=False,
        verbose=0,
    )
    expected = weights[0]
    for now in weights[1:]:
        expected = [0.5 * mean + 0.5 * new for mean, new in zip(expected, now, strict=True)]
    averages = [variable.numpy() for variable in inner._model_variables_moving_average]
    for found, value, seen, last, kept in zip(
        averages, expected, validated[0], weights[-1], read(), strict=True
    ):
        np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(seen, found)
        np.testing.assert_array_equal(kept, last)
    with average.in_model(), average.in_model():
        for one, other in zip(read(), averages, strict=True):
            np.testing.assert_array_equal(one, other)
    for one, other in zip(read(), weights[-1], strict=True):
        np.testing.assert_array_equal(one, other)


def test_translation_in_stretches():
    calls = []

    def translate(lines):
        calls.append(lines)
        return [line.upper() for line in lines]

    checks = []
    lines = ["a", "long", "the", "xy", "longer"]
    found = in_stretches(translate, lines, lambda: checks.append(len(calls)), size=2)
    assert found == ["A", "LONG", "THE", "XY", "LONGER"]
    assert calls == [["longer", "long"], ["the", "xy"], ["a"]]
    assert checks == [0, 1, 2]
