"""What a path holds: runs with the options of a caller, or an export as it is."""

import numpy as np
import pytest
import tensorflow as tf
from random_models import vary
from untrained_run import untrained_run

from keras_transformer import DecodingConfig, Transformer
from keras_transformer.export.opening import open_translator
from keras_transformer.export.saved_model import export_saved_model
from keras_transformer.translation.opening import open_runs

LINES = [b"the dog", b"", b"a small cat", b"\xff"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The first checkpoint is the better one."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    options = dict(beam_size=2, max_extra_tokens=3, batch_size=3)
    return untrained_run(folder, bleu=(20.0, 10.0), **options)


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory):
    translator = open_runs([run.path], "best", {})
    return export_saved_model(translator, tmp_path_factory.mktemp("exports"))


def test_options_differ_from_those_of_the_run_where_they_are_given(run):
    translator = open_runs([run.path], "best", {"beam_size": 5, "banned_pieces": ["\u2581the"]})
    assert translator.config == DecodingConfig(
        beam_size=5, max_extra_tokens=3, batch_size=3, banned_pieces=("\u2581the",)
    )


@pytest.mark.parametrize(("checkpoint", "epoch"), [("best", 1), ("latest", 2)])
def test_checkpoint(run, checkpoint, epoch):
    [model] = open_runs([str(run.path)], checkpoint, {}).models
    expected = vary(Transformer(run.config.model), seed=epoch)
    for one, other in zip(model.get_weights(), expected.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_several_runs_decide_together(run):
    assert len(open_runs([run.path, run.path], "best", {}).models) == 2


def test_a_run_is_opened_with_options(run):
    translator = open_translator([run.path], "best", {"num_hypotheses": 2, "batch_size": 7})
    assert translator.batch_size == 7
    assert [len(found) for found in translator.nbest(LINES)] == [2] * len(LINES)


def test_an_export_translates_as_the_run(run, exported):
    translator = open_translator([run.path], "best", {})
    assert translator.batch_size == 3
    expected = translator.nbest(LINES)
    for path in (exported, exported.parent):
        translator = open_translator([path], "best", {"batch_size": 2})
        assert translator.batch_size == 2
        for found, same in zip(translator.nbest(LINES), expected, strict=True):
            assert [translation.text for translation in found] == [same[0].text]
            assert found[0].log_prob == pytest.approx(same[0].log_prob, rel=1e-4)
    assert open_translator([exported], "best", {}).batch_size == DecodingConfig().batch_size


@pytest.mark.parametrize(
    ("count", "options", "words"),
    [(1, {"beam_size": 8, "batch_size": 4}, "options: beam_size$"), (2, {}, "options: none$")],
)
def test_an_export_takes_no_options_and_no_company(exported, count, options, words):
    with pytest.raises(ValueError, match=f"as it was exported.*{exported}.*{words}"):
        open_translator([exported] * count, "best", options)


def test_what_is_neither(tmp_path):
    with pytest.raises(FileNotFoundError, match=f"run directory.*{tmp_path}"):
        open_translator([tmp_path], "best", {})


def test_an_option_that_is_out_of_its_range(run):
    with pytest.raises(ValueError, match="`beam_size` must be positive"):
        open_translator([run.path], "best", {"beam_size": 0})


def test_a_run_among_exports_is_refused(run, exported):
    """In whatever order: an export cannot decide together with a run."""
    for paths in ([exported, run.path], [run.path, exported]):
        with pytest.raises((ValueError, FileNotFoundError)):
            open_translator(paths, "best", {})


def test_an_export_is_loaded_once_and_stays(exported, monkeypatch):
    nbest = open_translator([exported], "best", {}).nbest
    monkeypatch.setattr(tf.saved_model, "load", None)
    assert nbest(LINES[:1]) == nbest(LINES[:1])
