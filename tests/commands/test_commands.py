"""`python -m keras_transformer` and `export.py --format`, as a user calls them."""

import io
import os
import runpy
import subprocess
import sys
from pathlib import Path

import ctranslate2
import numpy as np
import pytest
import sentencepiece
from untrained_run import untrained_run

from keras_transformer.__main__ import main
from keras_transformer.export.saved_model import export_saved_model
from keras_transformer.translation.opening import open_runs

ROOT = Path(__file__).parents[2]
# Blank lines, a line end of another system, invalid UTF-8, and no line end at all.
INPUT = b"the dog sleeps\n\na small cat\r\n\xff\xfe and\n \nthe dog sleeps\nthe garden"
LINES = [b"the dog sleeps", b"", b"a small cat", b"\xff\xfe and", b" ", b"the dog sleeps"]
LINES += [b"the garden"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    return untrained_run(folder, beam_size=2, max_extra_tokens=3)


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory):
    translator = open_runs([run.path], "best", {})
    return export_saved_model(translator, tmp_path_factory.mktemp("exports")).parent


@pytest.fixture
def command(monkeypatch, capsysbinary):
    """Runs a command in this process: its exit code, output and errors, both bytes."""

    def call(*arguments, stdin=b"", function=main):
        monkeypatch.setattr(sys, "argv", ["keras_transformer", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsysbinary.readouterr()
        code = 0
        try:
            function()
        except SystemExit as error:
            code = error.code
        output, errors = capsysbinary.readouterr()
        if isinstance(code, str):  # Python prints it and exits with 1.
            code, errors = 1, errors + code.encode()
        return code, output, errors

    return call


@pytest.fixture
def export(command):
    """Runs `export.py` in this process."""

    def call(*arguments):
        script = str(ROOT / "export.py")
        return command(*arguments, function=lambda: runpy.run_path(script, run_name="__main__"))

    return call


def in_a_shell(*arguments):
    """Runs a command in a process of its own, where only what is in `INPUT` is read."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    # The level of the tests' own TensorFlow would be taken for the user's.
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)
    done = subprocess.run(
        [sys.executable, "-m", "keras_transformer", *map(str, arguments)],
        env=environment,
        input=INPUT,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b"", "nothing but translations"
    return done.stdout


def expected_lines(run, with_scores=False, **options):
    """What the translator gives, as the command writes it."""
    lines = []
    for found in open_runs([run.path], "best", options).nbest(LINES):
        fields = []
        for text, log_prob in found:
            fields += [f"{log_prob:.4f}"] * with_scores + [" ".join(text.split())]
        lines.append("\t".join(fields))
    return "".join(f"{line}\n" for line in lines).encode()


def without_last_digits(output):
    """Rounds the scores: batches of other sizes add up in another order."""
    fields = [line.split(b"\t") for line in output.splitlines()]
    return [
        [(round(float(row[i]), 2), row[i + 1]) for i in range(0, len(row), 2)] for row in fields
    ]


def test_translate_with_a_run(run):
    options = ["--num_hypotheses", "3", "--beam_size", "3", "--scores"]
    output = in_a_shell("translate", run.path, *options)
    expected = expected_lines(run, with_scores=True, num_hypotheses=3, beam_size=3)
    assert output.count(b"\n") == len(LINES)
    assert without_last_digits(output) == without_last_digits(expected)
    # Of a blank line there is one translation.
    tabs = [5 if line.strip() else 1 for line in LINES]
    assert [line.count(b"\t") for line in output.splitlines()] == tabs


def test_translate_with_an_export(run, exported):
    output = in_a_shell("translate", exported, "--batch_size", "2")
    assert output == expected_lines(run)
    assert len({*output.splitlines()}) > 3, "a model that always says the same would show little"
    assert output.splitlines()[1] == output.splitlines()[4] == b""


def test_translate_by_default_as_the_run_says(run, command):
    code, output, _ = command("translate", run.path, "--max_extra_tokens", "0", stdin=INPUT)
    assert (code, output) == (0, expected_lines(run, max_extra_tokens=0))
    code, output, _ = command("translate", run.path, run.path, stdin=INPUT)
    assert (code, output) == (0, expected_lines(run)), (
        "a model decides with itself as it would alone"
    )
    assert command("translate", run.path, stdin=b"")[:2] == (0, b"")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--beam_size", "8"], "translates as it was exported: alone and with its own options"),
        (["--no-sampling", "--top_k", "3"], "options: sampling, top_k"),
    ],
)
def test_an_export_takes_no_decoding_options(exported, command, arguments, words):
    code, output, errors = command("translate", exported, *arguments, stdin=INPUT)
    assert (code, output) == (1, b"")
    assert errors.startswith(b"keras_transformer: error: ")
    assert words in errors.decode()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--num_hypotheses", "9"], "`num_hypotheses` must be at most beam_size=2"),
        (["--banned_pieces", "Donaudampfschiff"], "`banned_pieces` must be pieces"),
    ],
)
def test_a_refused_option_is_named(run, command, arguments, words):
    code, output, errors = command("translate", run.path, *arguments, stdin=INPUT)
    assert (code, output) == (1, b"")
    assert words in errors.decode()
    assert b"Traceback" not in errors


def test_a_path_that_is_no_model(tmp_path, command):
    code, _, errors = command("translate", tmp_path, stdin=INPUT)
    assert code == 1
    assert b"must be a run directory" in errors


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "test.en").write_text("the dog\na cat\n")
    (tmp_path / "test.de").write_text("der Hund\neine Katze\n")
    return tmp_path / "test"


def test_score(run, command, corpus):
    translator = open_runs([run.path], "best", {})
    expected = translator.score(["the dog", "a cat"], ["der Hund", "eine Katze"])
    code, output, errors = command("score", run.path, corpus)
    assert code == 0, errors
    assert [float(line) for line in output.splitlines()] == [
        pytest.approx(score.log_prob, abs=1e-3) for score in expected
    ]
    _, output, _ = command("score", run.path, corpus, corpus, "--per_token")
    lines = output.decode().splitlines()
    assert len(lines) == 4
    for line, score in zip(lines, expected * 2, strict=True):
        total, tokens = line.split("\t")
        *fields, last = tokens.split(" ")
        values = [float(value) for value in [*fields[1::2], last]]
        assert fields[0::2] == score.pieces
        np.testing.assert_allclose(values, score.piece_log_probs, atol=1e-3)
        assert sum(values) == pytest.approx(float(total), abs=1e-3)


def test_score_with_an_export(run, exported, command, corpus):
    code, output, errors = command("score", exported, corpus, "--per_token")
    assert code == 0, errors
    assert output == command("score", run.path, corpus, "--per_token")[1]


def test_evaluate_takes_decoding_options(run, command, corpus):
    _, greedy, _ = command("evaluate", run.path, corpus, "--beam_size", "1")
    code, output, errors = command("evaluate", run.path, corpus, "--max_extra_tokens", "9")
    assert code == 0, errors
    assert output.startswith(f"{corpus}: ".encode())
    assert output != greedy
    code, _, errors = command("evaluate", run.path, corpus, "--beam_size", "0")
    assert code == 1
    assert b"`beam_size` must be positive" in errors
    code, output, errors = command("evaluate", run.path, corpus, "--tokenize", "moses")
    assert (code, output) == (1, b"")
    assert b"`tokenize` must be one of" in errors


def test_export_to_ctranslate2(run, export, tmp_path):
    code, output, errors = export(
        run.path, "--output", tmp_path, "--format", "ctranslate2", "--quantization", "int8"
    )
    assert code == 0, errors
    assert f"to {tmp_path / '1'}" in output.decode()
    engine = ctranslate2.Translator(str(tmp_path / "1"))
    assert engine.compute_type.startswith("int8")
    tokenizer = sentencepiece.SentencePieceProcessor(str(tmp_path / "1" / "source.model"))
    pieces = tokenizer.encode("the dog", out_type=str)
    [result] = engine.translate_batch([pieces], max_decoding_length=12)
    assert {*result.hypotheses[0]} <= {*run.target_tokenizer.pieces}


def test_a_type_of_another_format(run, export, tmp_path):
    code, _, errors = export(run.path, "--output", tmp_path / "exports", "--quantization", "int8")
    assert code == 1
    assert b"`quantization` must be one of float16, bfloat16 or None here" in errors
    code, _, errors = export(run.path, "--output", tmp_path / "exports", "--name", "demo")
    assert code == 2
    assert b"--name goes with --format serving. Received: --format saved_model" in errors
    assert not (tmp_path / "exports").exists()


def test_export_to_tflite(run, export, command, corpus, tmp_path):
    """What is shipped is translated with and evaluated like the run itself."""
    code, _, errors = export(run.path, "--output", tmp_path, "--format", "tflite")
    assert code == 0, errors
    short = b"the dog\n\na cat\n"
    expected = command("translate", run.path, stdin=short)
    assert command("translate", tmp_path, stdin=short)[:2] == expected[:2]
    expected = command("evaluate", run.path, corpus)
    assert command("evaluate", tmp_path, corpus)[:2] == expected[:2]
    assert expected[0] == 0
    code, _, errors = command("score", tmp_path, corpus)
    assert code == 1
    assert b"A TFLite model translates and no more" in errors


def test_export_for_serving(run, export, tmp_path):
    folder = tmp_path / "exports"
    options = ["--format", "serving", "--name", "english_german"]
    code, _, errors = export(run.path, "--output", folder, *options)
    assert code == 0, errors
    assert (folder / "1" / "assets.extra" / "tf_serving_warmup_requests").is_file()
    assert b'"english_german"' in (folder / "serving" / "models.config").read_bytes()


def test_an_export_keeps_the_options_that_it_was_given(run, export, tmp_path, command):
    code, _, errors = export(run.path, "--output", tmp_path, "--max_extra_tokens", "0")
    assert code == 0, errors
    _, output, _ = command("translate", tmp_path, stdin=INPUT)
    assert output == expected_lines(run, max_extra_tokens=0) != expected_lines(run)
