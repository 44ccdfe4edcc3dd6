"""`info` of runs and exports, most of them made by an earlier version."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from untrained_run import untrained_run

from keras_transformer.commands.facts import facts_of
from keras_transformer.commands.info import as_text
from keras_transformer.commands.main import main
from keras_transformer.export import tflite
from keras_transformer.export.formats import MARKS
from keras_transformer.export.saved_model import export_saved_model
from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.run import open_run
from keras_transformer.runs.size import count_parameters
from keras_transformer.translation.opening import open_runs

ROOT = Path(__file__).parents[2]
ARCHIVE = ROOT / "tests" / "made_before" / "version_0.1.0.tar.xz"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made_before")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


def joined(text):
    """The words of a text without its line breaks."""
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("name", "vocabulary"),
    [("joint", {"source": 300, "target": 300}), ("separate", {"source": 200, "target": 300})],
)
def test_a_run(made, name, vocabulary):
    facts, run = facts_of(made / name), open_run(made / name)
    assert (facts["kind"], facts["family"], facts["task"]) == ("run", "transformer", "translation")
    assert facts["vocabulary"] == vocabulary
    assert facts["languages"] == {"source": "en", "target": "de"}
    assert facts["ranking"] == list(run.config.ranking)
    best = run.checkpoints.best()
    assert facts["parameters"] == best.load().count_params()
    [checkpoint] = facts["checkpoints"]
    assert checkpoint["best"]
    assert checkpoint["metrics"] == best.metrics
    assert (facts["epochs"], facts["steps"]) == (1, best.step)
    assert json.loads(json.dumps(facts)) == facts
    text = joined(as_text(facts))
    for words in (
        "a run of the family transformer, for translation",
        "en to de",
        f"{facts['parameters']:,}",
        "num_layers 1, d_model 16, d_ff 32",
        f"source {vocabulary['source']}, target {vocabulary['target']}",
        f"{best.path.name}, the best: epoch 1; val_bleu",
        f"{best.step} steps",
        "tensorflow 2.",
    ):
        assert words in text


def test_the_best_of_several_and_the_average(tmp_path):
    run = untrained_run(tmp_path / "run", bleu=(20.0, 31.0, 25.0))
    model = run.checkpoints.latest().load()
    run.checkpoints.save_average(model, run.checkpoints.newest(2), {"val_bleu": 30.0})
    facts = facts_of(run.path)
    best = {checkpoint["name"]: checkpoint["best"] for checkpoint in facts["checkpoints"]}
    steps = {"step-00000001": False, "step-00000002": True, "step-00000003": False}
    assert best == {**steps, "average": False}
    assert "average, the mean of steps 2, 3: epoch 3; val_bleu 30" in joined(as_text(facts))


def test_a_run_without_a_checkpoint(made, tmp_path):
    shutil.copytree(made / "joint", tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    facts = facts_of(tmp_path / "run")
    assert (facts["parameters"], facts["steps"], facts["checkpoints"]) == (None, 0, [])
    assert "checkpoint none" in joined(as_text(facts))


@pytest.mark.parametrize(
    ("name", "export_format", "quantization"),
    [
        ("saved_model", "saved_model", "float32"),
        ("half", "saved_model", "float16"),
        ("tflite", "tflite", "float32"),
    ],
)
def test_an_export(made, name, export_format, quantization):
    folder = made / "exports" / name
    facts = facts_of(folder)
    assert facts == facts_of(folder / "1")
    metadata = json.loads((folder / "1" / "metadata.json").read_text())
    metadata.pop("files", None)  # The names, of TFLite; here are the sizes as well.
    assert facts == {**facts, **metadata}
    assert (facts["format"], facts["quantization"]) == (export_format, quantization)
    assert facts["files"]["metadata.json"] == (folder / "1" / "metadata.json").stat().st_size
    text = as_text(facts)
    assert max(map(len, text.splitlines()[1:])) < 80
    for words in ("max_length 32", "beam_size 2", "joint, epoch 1", "en to de", quantization):
        assert words in joined(text)
    assert ("signature" in text) == (export_format == "saved_model")


def test_signatures_of_a_saved_model(made):
    signatures = facts_of(made / "exports" / "saved_model")["signatures"]
    assert {*signatures} == {"serving_default", "translate", "nbest", "score", "attention"}
    assert signatures["translate"]["inputs"] == {
        "text": "string [batch]",
        "max_length": "int32 [batch]",
        "length_penalty": "float32 [batch]",
    }
    assert signatures["nbest"]["outputs"]["scores"] == "float32 [batch, 2]"
    assert signatures["score"]["outputs"]["token_log_probs"] == "float32 [batch, ?]"


def test_an_export_to_ctranslate2(made):
    facts = facts_of(made / "exports" / "ctranslate2")
    assert facts["format"] == "ctranslate2"
    assert facts["vocabulary"] == {"source": 300, "target": 300}
    assert facts["config"]["add_source_eos"] is True
    assert {"model.bin", "config.json", "source.model"} <= {*facts["files"]}
    assert "model.bin, 108,836 bytes" in as_text(facts)


def test_a_new_export_tells_family_and_shape(tmp_path):
    run = untrained_run(tmp_path / "run")
    facts = facts_of(export_saved_model(open_runs([run.path]), tmp_path / "exports"))
    [origin] = facts["training"]
    assert (origin["family"], origin["task"]) == ("transformer", "translation")
    assert origin["model"]["d_model"] == 16
    assert "transformer, for translation" in joined(as_text(facts))
    assert facts["for_serving"] is False


def test_files_that_tell_the_format():
    assert MARKS["tflite"] == tflite.IDS_MODEL


def test_neither_a_run_nor_an_export(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"must be a run directory, which has a run\.json"):
        facts_of(tmp_path)


def test_parameters_without_the_states_of_random_numbers(made):
    path = open_run(made / "joint").checkpoints.latest().path / "model.keras"
    assert count_parameters(path) == Checkpoints(path.parents[1]).latest().load().count_params()
    with pytest.raises(OSError, match="must be a model that Keras saved"):
        count_parameters(path.with_name("state.json"))


def test_text_or_json(made, capsys):
    main(["info", str(made / "joint")])
    assert capsys.readouterr().out == as_text(facts_of(made / "joint")) + "\n"
    main(["info", str(made / "joint"), "--json"])
    assert json.loads(capsys.readouterr().out) == facts_of(made / "joint")


def test_it_is_quick_and_ends_quietly_when_nobody_reads(made):
    """In a process of its own, whose output has no reader any more."""
    reader, writer = os.pipe()
    os.close(reader)
    code = (
        "import sys; from keras_transformer.commands.main import main\n"
        "try: main()\n"
        "finally: assert not {'keras', 'tensorflow'} & {*sys.modules}"
    )
    with open(writer, "wb") as pipe:
        done = subprocess.run(
            [sys.executable, "-c", code, "info", str(made / "joint")],
            cwd=ROOT,
            stdout=pipe,
            stderr=subprocess.PIPE,
        )
    assert (done.returncode, done.stderr) == (141, b"")
