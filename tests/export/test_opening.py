"""What a path holds: runs with the options of a caller, or an export as it is."""

import shutil

import numpy as np
import pytest
import tensorflow as tf
from random_models import vary
from untrained_run import untrained_run

from keras_transformer import DecodingConfig, Transformer
from keras_transformer.commands.facts import facts_of
from keras_transformer.commands.info import as_text
from keras_transformer.config.search_shapes import SearchShape
from keras_transformer.export.ctranslate2 import export_ctranslate2
from keras_transformer.export.opening import languages_of, open_translator
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
    # Of a blank line there is one.
    assert [len(found) for found in translator.nbest(LINES)] == [2, 1, 2, 2]


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
        named = f"{paths[0]}, {paths[1]}, of which exports: {exported}, "
        with pytest.raises(ValueError, match=f"alone and with its own options.*{named}"):
            open_translator(paths, "best", {})


def test_an_export_that_was_not_made_to_be_compiled(exported):
    with pytest.raises(ValueError, match=rf"made with --compile.*Received: {exported}$"):
        open_translator([exported], shapes=())


def test_an_export_is_compiled_for_its_own_shapes(tmp_path):
    (tmp_path / "saved_model.pb").touch()
    (tmp_path / "metadata.json").write_text('{"compiled_shapes": ["1x32", "1x64"]}')
    with pytest.raises(ValueError, match=r"compiled for 1x32 1x64 and nothing.*Received: 8x64$"):
        open_translator([tmp_path], shapes=[SearchShape(8, 64)])


def test_an_export_has_one_checkpoint(exported):
    with pytest.raises(ValueError, match=r"options: checkpoint$"):
        open_translator([exported], "latest", {})


def test_an_export_that_was_moved_to_where_tensorflow_finds_no_weights(tmp_path, exported):
    moved = tmp_path / "[1]"
    shutil.copytree(exported, moved)
    with pytest.raises(ValueError, match=r"rename it\. Received: .*\[1\]"):
        open_translator([moved])


def test_a_run_and_an_engine_in_any_folder(tmp_path):
    """Brackets, backslashes and spaces are letters to all but TensorFlow's loader."""
    run = untrained_run(tmp_path / "[1]\\ *" / "run")
    [best] = open_translator([run.path], "best", {"beam_size": 1}).nbest(LINES[:1])[0]
    path = export_ctranslate2(open_runs([run.path]), tmp_path / "[2]\\ *")
    [found] = open_translator([path], "best", {"beam_size": 1}).nbest(LINES[:1])[0]
    assert found.text == best.text
    assert languages_of(path.parent) == languages_of(run.path) == ("en", "de")
    facts = facts_of(path)
    assert facts["format"] == "ctranslate2"
    assert facts["parameters"] == facts_of(run.path)["parameters"]
    assert "en to de" in as_text(facts)


def test_an_export_is_loaded_once_and_stays(exported, monkeypatch):
    nbest = open_translator([exported], "best", {}).nbest
    monkeypatch.setattr(tf.saved_model, "load", None)
    assert nbest(LINES[:1]) == nbest(LINES[:1])
