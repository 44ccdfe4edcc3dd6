"""Runs and exports that version 0.1.0 made open, resume and export as they did.

`tests/made_before/version_0.1.0.tar.xz` holds two runs of a few steps, one with a joint vocabulary
and one with separate ones; exports of the first; and `resumed.npz`, the weights that 0.1.0 came to
when it went on with the first for another epoch. `expected.json` is what 0.1.0 translated.
"""

import json
import tarfile
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.commands.train import parse_training_command
from keras_transformer.export.opening import open_translator
from keras_transformer.export.saved_model import export_saved_model
from keras_transformer.runs.run import open_run
from keras_transformer.tasks import train
from keras_transformer.translation.opening import open_runs

FOLDER = Path(__file__).parent / "made_before"
EXPECTED = json.loads((FOLDER / "expected.json").read_text("utf-8"))
SHORT = [("the dog", "der Hund"), ("Anna laughs.", "Anna lacht.")]
# The command of the joint run, in today's names of the options.
OPTIONS = [
    f"--{name}={value}"
    for name, value in {
        "model.vocab_size": 300,
        "model.num_layers": 1,
        "model.d_model": 16,
        "model.d_ff": 32,
        "model.num_heads": 2,
        "model.max_length": 32,
        "model.norm_first": "true",
        "data.train": "phrasebook:train:600",
        "data.valid": "phrasebook:valid:30",
        "data.batch_tokens": 256,
        "tokenizer.normalization": "nmt_nfkc",  # The one that there was.
        "training.label_smoothing": 0.05,
        "training.warmup_steps": 40,
        "training.learning_rate_factor": 0.7,
        "training.ema_momentum": 0.9,
        "validation.bleu_sentences": 20,
        "decoding.beam_size": 2,
        "decoding.max_extra_tokens": 5,
    }.items()
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made_before")
    with tarfile.open(FOLDER / "version_0.1.0.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def check(found, expected):
    assert [best.text for best, *_ in found] == [text for text, _ in expected]
    log_probs = [best.log_prob for best, *_ in found]
    np.testing.assert_allclose(log_probs, [value for _, value in expected], rtol=1e-3)


@pytest.mark.parametrize("name", ["joint", "separate"])
def test_a_run_translates_as_before(made, name):
    expected = EXPECTED["runs"][name]
    translator = open_runs([made / name])
    check(translator.nbest(EXPECTED["sources"]), expected["translations"])
    scores = translator.score(*zip(*SHORT, strict=True))
    np.testing.assert_allclose([one.log_prob for one in scores], expected["scores"], rtol=1e-4)


@pytest.mark.parametrize("name", ["saved_model", "half", "tflite"])
def test_an_export_translates_as_before(made, name):
    translator = open_translator([made / "exports" / name])
    check(translator.nbest(EXPECTED["sources"]), EXPECTED["exports"][name])


def test_a_run_is_exported_as_before(made, tmp_path):
    path = export_saved_model(open_runs([made / "joint"]), tmp_path)
    check(open_translator([path]).nbest(EXPECTED["sources"]), EXPECTED["exports"]["saved_model"])


def test_what_an_old_run_says_in_todays_terms(made):
    config = open_run(made / "joint").config
    assert (
        config
        == parse_training_command(["--output", "x", *OPTIONS, "--training.epochs", "1"]).config
    )
    assert config.training.label_smoothing == 0.05
    assert config.validation.bleu_sentences == 20


def test_a_run_goes_on_to_the_same_weights(made):
    config = parse_training_command(["--output", "x", *OPTIONS, "--training.epochs", "2"]).config
    run = train(made / "joint", config)
    latest = run.checkpoints.latest()
    assert (latest.step, latest.epoch) == (96, 2)
    with np.load(made / "resumed.npz") as expected:
        for index, weight in enumerate(latest.load().get_weights()):
            # Another processor may add up in another order; a lost state of the optimizer or of a
            # dropout would show in the second digit.
            np.testing.assert_allclose(weight, expected[str(index)], rtol=1e-3, atol=1e-4)
