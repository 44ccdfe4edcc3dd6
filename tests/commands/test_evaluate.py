"""`evaluate` with several systems, stored translations and reports."""

import json
import math

import numpy as np
import pytest
import sacrebleu
from untrained_run import untrained_run

from keras_transformer import evaluation
from keras_transformer.commands import evaluate as commands
from keras_transformer.commands import systems
from keras_transformer.commands.main import main
from keras_transformer.commands.systems import split_systems
from keras_transformer.evaluation import count_words
from keras_transformer.export.tflite.translator import LiteTranslator
from keras_transformer.translation.opening import open_runs

SOURCES = ["the dog", "a cat sleeps", "the dog " * 9]
REFERENCES = ["der Hund", "eine Katze schläft", "der Hund"]
STORED = ["hyp.txt", "test", "--languages", "en", "de"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return untrained_run(tmp_path_factory.mktemp("runs") / "run", beam_size=1, max_extra_tokens=0)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A corpus, and translations of it that are right but for the last."""
    monkeypatch.chdir(tmp_path)
    for name, lines in {
        "test.en": SOURCES,
        "test.de": REFERENCES,
        "hyp.txt": [*REFERENCES[:2], "<b>"],
        "short.txt": REFERENCES[:1],
    }.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")


@pytest.fixture
def evaluate(capsys, files):
    def call(*arguments):
        code = 0
        try:
            main(["evaluate", *map(str, arguments)])
        except SystemExit as error:
            code = error.code
        output, errors = capsys.readouterr()
        return code, output, errors

    return call


def test_stored_translations_alone(evaluate):
    """No model is opened; the line is that of a model."""
    code, output, errors = evaluate("hyp.txt", "test", "--languages", "en", "de")
    assert (code, errors) == (0, "")
    bleu = sacrebleu.corpus_bleu([*REFERENCES[:2], "<b>"], [REFERENCES])
    assert output.startswith(f"test: BLEU {bleu.score:.2f}  chrF2 ")
    assert output.count("\n") == 1


def test_a_run_beside_stored_translations(evaluate, run, tmp_path):
    options = ["--json", "--html", "page.html", "--samples", "20", "--metrics", "bleu", "ter"]
    code, output, errors = evaluate("hyp.txt", run.path, "test", *options)
    assert code == 0, errors
    [found] = json.loads(output)
    stored, model = found["systems"]
    assert (stored["name"], model["name"]) == ("hyp.txt", "run")
    assert stored["perplexity"] is stored["sentences_per_second"] is None
    assert model["sentences_per_second"] > 0
    translator = open_runs([run.path])
    # The third is too long for the model and left out.
    scores = translator.score(SOURCES[:2], REFERENCES[:2])
    log_probs = np.concatenate([score.piece_log_probs for score in scores])
    assert model["perplexity"] == pytest.approx(math.exp(-log_probs.mean()), rel=1e-4)
    bleu, ter = found["comparisons"]
    expected = sacrebleu.corpus_ter([*REFERENCES[:2], "<b>"], [REFERENCES]).score
    assert ter["estimates"][0]["score"] == pytest.approx(expected)
    assert bleu["estimates"][1]["p_value"] is not None
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "&lt;b&gt;" in page
    assert "<b>" not in page


def test_two_files_as_text(evaluate):
    given = ["hyp.txt", "test.de", "test", "--languages", "en", "de", "--samples", "20"]
    code, output, _ = evaluate(*given)
    assert code == 0
    lines = output.splitlines()
    assert lines[0] == "test: 3 sentences"
    assert [line.split()[0] for line in lines[1:4]] == ["system", "hyp.txt", "test.de"]
    assert "(p=" in lines[3]
    assert "by length" not in output
    code, output, _ = evaluate(*given, "--details", "--count_in", "test")
    assert code == 0
    for title in ("by length", "by frequency", "worst sentences", "differ most"):
        assert title in output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["hyp.txt", "test"], "`languages` must be given"),
        (["hyp.txt", "short.txt"], "A corpus must follow the systems"),
        (
            ["short.txt", "test", "--languages", "en", "de"],
            "as the corpus has pairs, 3. Received: short.txt with 1 lines",
        ),
        (["hyp.txt", "test", "--comet", "no-comet"], "pip install unbabel-comet"),
        (["hyp.txt", "hyp.txt", "test", "--languages", "en", "de"], "must have a name each"),
        (["nowhere", "test"], "must be a run directory"),
        ([*STORED, "--samples", "0"], "`samples` must be at least 1. Received: samples=0"),
        ([*STORED, "--beam_size", "2"], "stored translations alone, of which nothing is decoded"),
        ([*STORED, "--checkpoint", "latest"], "Received: checkpoint for hyp.txt"),
        ([*STORED, "--html", "no/page.html"], "`html` must be a file in a folder that is there"),
        ([*STORED, "--html", "."], "`html` must be a file in a folder"),
        (["hyp.txt", "test", "missing", "--languages", "en", "de"], "missing"),
    ],
)
def test_errors(evaluate, arguments, words):
    code, output, errors = evaluate(*arguments)
    assert (code, output) == (1, "")
    assert words in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "run", "test"],
        ["run", "test", "--html", "no/page.html"],
        ["run", "test", "--samples", "-1"],
    ],
)
def test_what_is_wrong_is_told_before_a_model_is_opened(evaluate, run, monkeypatch, arguments):
    monkeypatch.setattr(commands, "Translated", None)
    code, _, errors = evaluate(*(run.path if one == "run" else one for one in arguments))
    assert code == 1
    assert "Received: " in errors


def test_one_system_with_an_option_of_the_report(evaluate):
    """The interval, if samples are asked for; all there is, if words are counted elsewhere."""
    code, output, _ = evaluate(*STORED, "--samples", "20")
    assert code == 0
    assert "bs:20" in output
    assert "by frequency" not in output
    code, output, _ = evaluate(*STORED, "--count_in", "test")
    assert code == 0
    assert "by frequency" in output


def test_words_are_counted_once_and_a_line_at_a_time(evaluate, monkeypatch):
    calls = []

    def count(lines, tokenize):
        calls.append((iter(lines) is lines, tokenize))
        return count_words(lines, tokenize)

    monkeypatch.setattr(evaluation, "count_words", count)
    corpora = ["hyp.txt", "test", "test", "--languages", "en", "de"]
    code, output, _ = evaluate(*corpora, "--json", "--count_in", "test", "--samples", "20")
    assert (code, calls) == (0, [(True, "13a")])
    first, second = json.loads(output)
    # "der" and "Hund" are there twice, three other words once.
    sizes = [(one["least"], one["most"], one["size"]) for one in first["by_frequency"]]
    assert sizes == [(1, 1, 3), (2, 4, 4)]
    assert first == second


def test_an_error_of_scoring_is_no_missing_perplexity(monkeypatch):
    class Failing:
        has_scores = True

        def score(self, sources, references, progress):
            raise ValueError("as many sources")

    monkeypatch.setattr(systems, "open_quietly", lambda *arguments: Failing())
    with pytest.raises(ValueError, match="as many sources"):
        systems.Translated("model", "best", {}).perplexity(["a"], [])
    lite = LiteTranslator.__new__(LiteTranslator)
    monkeypatch.setattr(systems, "open_quietly", lambda *arguments: lite)
    assert systems.Translated("model", "best", {}).perplexity(["a"], ["b"]) is None
    Failing.has_scores = False  # As of an export that was made without.
    monkeypatch.setattr(systems, "open_quietly", lambda *arguments: Failing())
    assert systems.Translated("model", "best", {}).perplexity(["a"], ["b"]) is None


def test_where_systems_end(run, files, tmp_path):
    path = str(run.path)
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    assert split_systems([path, "hyp.txt", path, "test", "hyp.txt"]) == (
        [path, "hyp.txt", path],
        ["test", "hyp.txt"],
    )
    assert split_systems(["hyp.txt", "pairs.tsv"]) == (["hyp.txt"], ["pairs.tsv"])
    assert split_systems(["nowhere", "phrasebook:test"]) == (["nowhere"], ["phrasebook:test"])
