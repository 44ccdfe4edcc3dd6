"""A family and a task that nobody in the package knows go all the way.

Each is trained, stopped in the midst of an epoch and continued, averaged, evaluated, translated
with and exported. So nothing on that way asks which family or task it is.
"""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf
from toy_family import FAMILY, Toy, ToyConfig
from toy_task import Reversal, ReversalConfig, corpus_of

from keras_transformer import (
    DataConfig,
    DecodingConfig,
    RunConfig,
    TrainingConfig,
    TransformerConfig,
    ValidationConfig,
)
from keras_transformer.config.run import RUN_CONFIGS
from keras_transformer.data.bucketing import Shape
from keras_transformer.data.corpora import open_corpus
from keras_transformer.evaluation import score_corpus
from keras_transformer.export.opening import open_translator
from keras_transformer.export.saved_model import export_saved_model
from keras_transformer.models.families import FAMILIES
from keras_transformer.runs.run import open_run
from keras_transformer.tasks import TASKS, train
from keras_transformer.tasks.trial_step import _train_two_steps
from keras_transformer.translation.opening import open_runs

TRAINING = TrainingConfig(
    epochs=3,
    warmup_steps=10,
    learning_rate_factor=0.3,
    ema_momentum=0.8,
    keep_checkpoints=3,
    average_checkpoints=2,
    checkpoint_minutes=None,
)
TRANSLATION = RunConfig(
    ToyConfig(),
    data=DataConfig("phrasebook:train:300", "phrasebook:valid:20", batch_tokens=512),
    training=TRAINING,
    decoding=DecodingConfig(beam_size=3, coverage_penalty=0.2, max_extra_tokens=4),
    validation=ValidationConfig(bleu_sentences=10, samples=0),
)
REVERSAL = ReversalConfig(
    TransformerConfig(
        vocab_size=36, num_layers=1, d_model=32, d_ff=64, num_heads=2, max_length=16, dropout=0.1
    ),
    training=dataclasses.replace(TRAINING, label_smoothing=0.3),
    decoding=DecodingConfig(beam_size=2, max_extra_tokens=4),
)
CONFIGS = {"family": TRANSLATION, "task": REVERSAL}
LINES = ["red blue green", "The dog sleeps.", ""]


@pytest.fixture(scope="module", autouse=True)
def _tables():
    """The one line for each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(FAMILIES, FAMILY.name, FAMILY)
        patch.setitem(RUN_CONFIGS, ReversalConfig.task, ReversalConfig)
        patch.setitem(TASKS, Reversal.name, Reversal())
        yield


@pytest.fixture(scope="module", params=CONFIGS)
def runs(request, tmp_path_factory):
    """A run without a break, and the same one stopped after four steps and continued."""
    folder, config = tmp_path_factory.mktemp(request.param), CONFIGS[request.param]
    whole = train(folder / "whole", config)
    four = dataclasses.replace(config.training, max_steps=4)
    train(folder / "resumed", dataclasses.replace(config, training=four))
    return whole, train(folder / "resumed", config)


def test_what_run_json_names(runs):
    run, _ = runs
    content = json.loads((run.path / "run.json").read_text())
    expected = ("toy", "translation") if run.config is TRANSLATION else ("transformer", "reversal")
    assert (content["family"], content["task"]) == expected
    opened = open_run(run.path)
    assert opened.config == run.config
    assert type(opened.config.model) is type(run.config.model)


def test_a_resumed_run_is_the_run_without_a_break(runs):
    whole, resumed = (run.checkpoints.latest() for run in runs)
    assert whole.progress == resumed.progress
    assert whole.step > 4
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, resumed.arrays()[name], err_msg=name)
    for one, other in zip(whole.load().get_weights(), resumed.load().get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_it_learns_and_is_judged_by_its_own_measure(runs):
    run, _ = runs
    first, *_, last = run.checkpoints.all()
    assert last.metrics["val_loss"] < first.metrics["val_loss"]
    name = "val_bleu" if run.config is TRANSLATION else "val_right"
    assert ("val_perplexity" in last.metrics) == (run.config is TRANSLATION)
    best = max(run.checkpoints.all(), key=lambda checkpoint: checkpoint.metrics[name])
    found = run.checkpoints.best()
    assert found.metrics[name] >= best.metrics[name]
    improves = TASKS[run.config.task].score_to_improve
    scores = [improves(checkpoint.metrics) for checkpoint in run.checkpoints.all()]
    assert last.progress.best_score == pytest.approx(max(scores))


def test_the_average(runs):
    run, _ = runs
    average, newest = run.checkpoints.average(), run.checkpoints.newest(2)
    assert average.averaged == tuple(checkpoint.step for checkpoint in newest)
    weights = [checkpoint.load().get_weights()[0] for checkpoint in newest]
    expected = np.mean(weights, axis=0, dtype="float64").astype("float32")
    np.testing.assert_array_equal(average.load().get_weights()[0], expected)
    assert {"val_loss"} < {*average.metrics}


def test_translating_scoring_and_an_ensemble(runs):
    run, _ = runs
    translator = open_runs([run.path])
    found = translator.nbest(LINES)
    assert found[2][0] == ("", 0.0)
    # Force decoding, all positions at once.
    [score] = translator.score(["red blue green"], ["green blue red"])
    assert score.log_prob == pytest.approx(sum(score.piece_log_probs), rel=1e-4)
    assert score.log_prob < 0
    [attention, *_] = translator.attend(LINES[:1])
    assert attention.weights.shape == (len(attention.target), len(attention.source))
    together = open_runs([run.path, run.path])
    np.testing.assert_allclose(
        [best.log_prob for best, *_ in together.nbest(LINES)],
        [best.log_prob for best, *_ in found],
        rtol=1e-4,
    )


def test_evaluating_gives_what_training_measured(runs):
    """The newest checkpoint, opened as a user does, on the same lines."""
    run, _ = runs
    measured = run.checkpoints.latest().metrics
    if run.config is REVERSAL:
        pairs = list(corpus_of(20, seed=2))
        found = open_runs([run.path], "latest")([source for source, _ in pairs])
        right = [text == target for text, (_, target) in zip(found, pairs, strict=True)]
        assert measured["val_right"] == sum(right) / 20
        return
    pairs = list(open_corpus("phrasebook:valid:10", "en", "de"))
    greedy = {"beam_size": 1}
    found = open_runs([run.path], "latest", greedy)([source for source, _ in pairs])
    score = score_corpus(found, [target for _, target in pairs])
    assert measured["val_bleu"] == pytest.approx(score.bleu)
    assert measured["val_chrf"] == pytest.approx(score.chrf)


def test_an_export_translates_as_the_run(runs, tmp_path):
    run, _ = runs
    translator = open_runs([run.path])
    path = export_saved_model(translator, tmp_path)
    metadata = json.loads((path / "metadata.json").read_text())
    data = run.config.data
    languages = {"source": data.source_language, "target": data.target_language}
    assert metadata["languages"] == languages
    expected = translator.nbest(LINES)
    for [found], [best, *_] in zip(open_translator([path]).nbest(LINES), expected, strict=True):
        assert found.text == best.text
        assert found.log_prob == pytest.approx(best.log_prob, rel=1e-4)
    attention = tf.saved_model.load(path).signatures["attention"](text=tf.constant(LINES))
    assert attention["weights"].shape[0] == len(LINES)


def test_other_weights_do_not_start_it(runs, tmp_path):
    run, _ = runs
    other = CONFIGS["task" if run.config is TRANSLATION else "family"]
    config = dataclasses.replace(other, training=TRAINING)
    with pytest.raises(ValueError, match=r"`model` must be of the family|`init_from` must be None"):
        train(tmp_path / "run", config, init_from=run.path)


def test_a_trial_step_for_its_memory():
    """What `micro_batches=0` tries in another process, in this one."""
    for config in CONFIGS.values():
        task = TASKS[config.task]
        shape = open_shape(config)
        assert task.floats_of(config, shape) > 0
        # How much that is in a process of its own is for `test_memory.py`.
        assert _train_two_steps(config, 1, shape) >= 0


def open_shape(config):
    return Shape(2, config.model.max_length, config.model.max_length)


def test_a_directory_of_another_family_is_refused(runs):
    run, _ = runs
    if run.config is not TRANSLATION:
        pytest.skip("the same question with another pair of families")
    other = dataclasses.replace(run.config, model=TransformerConfig.preset("tiny"))
    with pytest.raises(ValueError, match=r"family: 'toy' there, 'transformer' now"):
        train(run.path, other)


def test_a_run_of_a_family_that_is_not_there(runs, monkeypatch):
    run, _ = runs
    name = "toy" if run.config is TRANSLATION else "transformer"
    monkeypatch.delitem(FAMILIES, name)
    with pytest.raises(ValueError, match=f"a family that this version does not know.*{name}"):
        open_run(run.path)


def test_the_model_is_what_the_table_says(runs):
    run, _ = runs
    model = run.checkpoints.best().load()
    assert isinstance(model, Toy) == (run.config is TRANSLATION)
