"""Pre-training as a run: it learns, resumes, is started from, and says what is wrong."""

import dataclasses
import json
import math
from collections import Counter

import numpy as np
import pytest

from keras_transformer import (
    BertConfig,
    DocumentsConfig,
    MaskedLMConfig,
    PiecesConfig,
    TransformerConfig,
)
from keras_transformer.config.masked_lm import BERT_TRAINING
from keras_transformer.data.bucketing import Shape
from keras_transformer.data.corpora import CorpusError
from keras_transformer.data.documents import open_documents
from keras_transformer.runs.run import open_run
from keras_transformer.tasks import TASKS, train
from keras_transformer.tasks.trial_step import _train_two_steps
from keras_transformer.text.wordpiece import WordPieceTokenizer

CONFIG = MaskedLMConfig(
    BertConfig(vocab_size=200, num_layers=1, d_model=32, d_ff=64, num_heads=2, max_length=64),
    data=DocumentsConfig(
        "phrasebook:train:100", "phrasebook:valid:20", length=48, batch_tokens=1024
    ),
    training=dataclasses.replace(
        BERT_TRAINING,
        # One that the end of the training does not change.
        schedule="inverse_sqrt",
        max_steps=30,
        peak_learning_rate=1e-2,
        warmup_steps=5,
        checkpoint_minutes=None,
    ),
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run without a break, and the same one stopped in the midst of an epoch and continued."""
    folder = tmp_path_factory.mktemp("masked_lm")
    whole = train(folder / "whole", CONFIG)
    few = dataclasses.replace(CONFIG.training, max_steps=10)
    train(folder / "resumed", dataclasses.replace(CONFIG, training=few))
    return whole, train(folder / "resumed", CONFIG)


def test_it_learns_how_frequent_pieces_are(runs):
    """The loss on other documents is about the entropy of pieces by themselves."""
    run, _ = runs
    metrics = run.checkpoints.latest().metrics
    lines = list(open_documents("phrasebook:train:100").sentences())
    counts = Counter(run.tokenizers[0].tokenize(lines).flat_values.numpy().tolist())
    shares = np.array(list(counts.values())) / counts.total()
    entropy = -(shares * np.log(shares)).sum()
    assert metrics["val_masked_loss"] < entropy + 0.1 < math.log(200) - 0.3
    total = metrics["val_masked_loss"] + metrics["val_next_loss"]
    assert metrics["val_loss"] == pytest.approx(total, rel=1e-4)
    assert 0.4 < metrics["val_next_accuracy"] <= 1
    assert TASKS["masked_lm"].score_to_improve(metrics) == -metrics["val_loss"]


def test_what_a_run_keeps(runs):
    run, _ = runs
    content = json.loads((run.path / "run.json").read_text())
    assert (content["family"], content["task"]) == ("bert", "masked_lm")
    opened = open_run(run.path)
    assert opened.config == run.config
    assert opened.tokenizers[0].pieces == run.tokenizers[0].pieces
    assert (run.path / "vocab.txt").read_text().splitlines() == run.tokenizers[0].pieces


def test_a_resumed_run_is_the_run_without_a_break(runs):
    whole, resumed = (run.checkpoints.latest() for run in runs)
    assert whole.progress == resumed.progress
    assert whole.progress.epoch == 2  # Of fourteen steps.
    assert {**whole.metrics, "tokens_per_second": 0} == {**resumed.metrics, "tokens_per_second": 0}
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, resumed.arrays()[name], err_msg=name)
    for one, other in zip(whole.load().get_weights(), resumed.load().get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_second_phase_begins_with_the_first(runs, tmp_path):
    """Longer inputs, the same vocabulary and positions, and no head of next sentences."""
    first, _ = runs
    config = dataclasses.replace(
        CONFIG,
        data=dataclasses.replace(CONFIG.data, length=64, next_sentence=False, valid=None),
        training=dataclasses.replace(CONFIG.training, max_steps=1, peak_learning_rate=1e-9),
    )
    second = train(tmp_path / "second", config, init_from=first.path)
    assert second.tokenizers[0].pieces == first.tokenizers[0].pieces
    assert {"masked_accuracy", "masked_loss"} < {*second.checkpoints.latest().metrics}
    found, start = (run.checkpoints.best().load() for run in (second, first))
    for one, other in zip(found.bert.get_weights(), start.bert.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert found.next_sentence is None
    other = dataclasses.replace(CONFIG, model=dataclasses.replace(CONFIG.model, d_ff=32))
    with pytest.raises(ValueError, match=r"`model` must be that of .* d_ff: 64 there, 32 now"):
        train(tmp_path / "other", other, init_from=first.path)


def test_a_vocabulary_that_is_given(runs, tmp_path):
    run, _ = runs
    path = str(run.path / "vocab.txt")
    task, data = TASKS["masked_lm"], {"train": {"documents": 100}}
    given = dataclasses.replace(CONFIG, tokenizer=PiecesConfig(vocabulary=path))
    made = task.prepare(tmp_path, given, data, None)
    assert made.tokenizers[0].pieces == run.tokenizers[0].pieces
    assert made.tokenizers[0].lowercase
    (tmp_path / "cased.txt").write_text("\n".join([*run.tokenizers[0].pieces[:-1], "The"]))
    for asked, lowercase in ((None, False), (True, True)):
        pieces = PiecesConfig(vocabulary=str(tmp_path / "cased.txt"), lowercase=asked)
        made = task.prepare(tmp_path, dataclasses.replace(CONFIG, tokenizer=pieces), data, None)
        assert made.tokenizers[0].lowercase == lowercase
    wrong = dataclasses.replace(given, model=dataclasses.replace(CONFIG.model, vocab_size=300))
    with pytest.raises(ValueError, match=r"`vocab_size` must be that of `vocabulary`, 200"):
        task.prepare(tmp_path, wrong, data, None)
    (tmp_path / "vocab.txt").write_text("a\nb\n")
    bad = PiecesConfig(vocabulary=str(tmp_path / "vocab.txt"))
    with pytest.raises(ValueError, match=r"must have \[PAD\].*\[MASK\]"):
        task.prepare(tmp_path, dataclasses.replace(CONFIG, tokenizer=bad), data, None)


def test_what_is_refused(tmp_path):
    task = TASKS["masked_lm"]
    too_long = dataclasses.replace(CONFIG, data=dataclasses.replace(CONFIG.data, length=65))
    with pytest.raises(ValueError, match=r"`data.length` must be at most `model.max_length`"):
        task.check(too_long)
    one = dataclasses.replace(CONFIG, model=dataclasses.replace(CONFIG.model, num_segments=1))
    with pytest.raises(ValueError, match=r"`model\.num_segments` must be at least 2"):
        task.check(one)
    task.check(dataclasses.replace(one, data=DocumentsConfig(length=48, next_sentence=False)))
    training = dataclasses.replace(CONFIG.training, patience=2)
    waiting = dataclasses.replace(
        CONFIG, training=training, data=dataclasses.replace(CONFIG.data, valid=None)
    )
    with pytest.raises(ValueError, match="`patience` needs validation documents"):
        task.check(waiting)
    missing = dataclasses.replace(CONFIG, data=dataclasses.replace(CONFIG.data, train="no.txt"))
    with pytest.raises(CorpusError, match=r"no such file of documents.*Received: no\.txt"):
        train(tmp_path / "run", missing)
    other = dataclasses.replace(CONFIG, model=TransformerConfig())
    with pytest.raises(ValueError, match="`model` must be an encoder, of the families bert"):
        train(tmp_path / "run", other)


def test_a_trial_step_for_its_memory():
    task, shape = TASKS["masked_lm"], Shape(2, 48, 7)
    assert task.floats_of(CONFIG, shape) > 3 * 7 * 200
    assert _train_two_steps(CONFIG, 1, shape) >= 0


def test_words_are_named_where_a_batch_is_described(runs):
    run, _ = runs
    from keras_transformer.training.strategy import ONE_DEVICE

    described = TASKS["masked_lm"].batches(run, ONE_DEVICE).described(0, 0)
    assert "[MASK]" in described["text"][0]
    assert isinstance(run.tokenizers[0], WordPieceTokenizer)
