"""`plot`: each kind of picture finds its arrays, and takes its own options alone."""

import dataclasses
import sys
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

import numpy as np
import pytest
import sentencepiece
from untrained_run import untrained_run

from keras_transformer import TrainingConfig
from keras_transformer.commands import pictures
from keras_transformer.commands.main import main
from keras_transformer.commands.pictures import KINDS
from keras_transformer.config import MaskedLMConfig, RecurrentConfig
from keras_transformer.data.corpora import open_corpus
from keras_transformer.runs import run as runs
from keras_transformer.translation.attention import attention_weights
from keras_transformer.translation.masks import masks_of
from keras_transformer.translation.opening import open_runs

SOURCE, TARGET = "the dog sleeps", "der Hund"
PAIR = ["attention", "RUN", SOURCE, TARGET]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = untrained_run(tmp_path_factory.mktemp("runs") / "run", beam_size=1)
    history = "epoch,loss,val_bleu\n0,4.5,\n1,3.5,12.5\n"
    (run.path / "history.csv").write_text(history)
    return run


@pytest.fixture
def plot(capsys, tmp_path):
    """Draws in this process: the exit code, and the texts of the SVG or the errors."""

    def call(*arguments, output="picture.svg"):
        path, code = tmp_path / output, 0
        try:
            main(["plot", *map(str, arguments), "--output", str(path)])
        except SystemExit as error:
            code = error.code
        shown = capsys.readouterr()
        if code:
            assert not path.exists()
            return code, shown.err
        assert shown.out.splitlines()[-1] == str(path)
        return 0, ["".join(node.itertext()) for node in ElementTree.parse(path).iter()]

    return call


@pytest.fixture
def drawn(monkeypatch, plot):
    """Draws, and gives the figure."""

    def call(kind, *arguments):
        figures, original = [], KINDS[kind]

        def draw(options):
            figures.append(original.draw(options))
            return figures[-1]

        with monkeypatch.context() as patch:
            patch.setitem(KINDS, kind, original._replace(draw=draw))
            code, shown = plot(kind, *arguments)
        assert code == 0, shown
        return figures[0]

    return call


def pieces(run, text, bos=False):
    """By SentencePiece itself, of which TF Text has a copy of its own."""
    processor = sentencepiece.SentencePieceProcessor(str(run.path / "joint.model"))
    tokens = processor.encode(text, out_type=str)
    return ["<s>", *tokens] if bos else [*tokens, "</s>"]


def direct(run, source, target):
    """The weights of a call of the model by hand."""
    processor = sentencepiece.SentencePieceProcessor(str(run.path / "joint.model"))
    inputs = {
        "source": np.array([[*processor.encode(source), 3]]),
        "target": np.array([[2, *processor.encode(target)]]),
    }
    _, weights = run.checkpoints.best().load()(inputs, return_attention_weights=True)
    return {part: np.stack([layer[0] for layer in layers]) for part, layers in weights.items()}


def test_attention_of_a_pair(run, drawn, plot):
    expected = direct(run, SOURCE, TARGET)
    for part in ("cross", "encoder", "decoder"):
        figure = drawn("attention", run.path, SOURCE, TARGET, "--part", part)
        arrays = [axes.images[0].get_array() for axes in figure.axes]
        np.testing.assert_allclose(arrays, expected[part][0], atol=1e-6)
    figure = drawn("attention", run.path, SOURCE, TARGET, "--layer", 0, "--head", 1)
    np.testing.assert_allclose(
        figure.axes[0].images[0].get_array(), expected["cross"][0, 1], atol=1e-6
    )
    options = ["--part", "decoder", "--layer", "0"]
    _, texts = plot("attention", run.path, SOURCE, TARGET, *options)
    shown = [text for text in texts if text in {*pieces(run, TARGET, bos=True)}]
    # The axes of both heads, and the rows of the first.
    assert shown[: len(pieces(run, TARGET))] == pieces(run, TARGET, bos=True)
    assert "Decoder, layer 0" in texts


def test_attention_of_the_translation_that_is_found(run):
    """The mean of the heads is what `attend` has, without the ends."""
    translator = open_runs([run.path])
    [attention] = translator.attend([SOURCE])
    found = attention_weights(translator, SOURCE)
    rows, columns = attention.weights.shape
    mean = found.weights["cross"][0].mean(axis=0)
    np.testing.assert_allclose(mean[:rows, :columns], attention.weights, atol=1e-6)
    assert (found.source[:columns], found.target[:rows]) == (attention.source, attention.target)
    assert found.target_inputs == ["<s>", *found.target[:-1]]


def test_alignment(run, drawn):
    expected = direct(run, SOURCE, TARGET)["cross"][0].mean(axis=0)[:-1, :-1]
    axes = drawn("alignment", run.path, SOURCE, TARGET).axes[0]
    np.testing.assert_allclose(axes.images[0].get_array(), expected, atol=1e-6)
    links = [(column, row) for row, column in enumerate(expected.argmax(axis=1))]
    np.testing.assert_array_equal(axes.collections[0].get_offsets(), links)
    assert [label.get_text() for label in axes.get_yticklabels()] == pieces(run, TARGET)[:-1]


def test_an_export_shows_its_own_translation_alone(run, plot, monkeypatch):
    monkeypatch.setattr(pictures, "open_quietly", lambda *arguments: object())
    code, errors = plot("alignment", "exports/demo", SOURCE, TARGET)
    assert code == 1
    assert "`translation` must be left out for an export" in errors


def test_masks(run, drawn):
    encoder, decoder, cross = drawn("masks", run.path, SOURCE, TARGET, "--padding", "2").axes
    source, target = len(pieces(run, SOURCE)), len(pieces(run, TARGET))
    keys = np.arange(source + 2) < source
    np.testing.assert_array_equal(
        encoder.images[0].get_array(), np.broadcast_to(keys, (source + 2, source + 2))
    )
    queries = cross.images[0].get_array().shape[0]
    np.testing.assert_array_equal(
        cross.images[0].get_array(), np.broadcast_to(keys, (queries, source + 2))
    )
    real = np.arange(queries) < target
    np.testing.assert_array_equal(decoder.images[0].get_array(), np.tri(queries, dtype=bool) & real)
    shown = [label.get_text() for label in decoder.get_xticklabels()]
    assert shown[:target] == pieces(run, TARGET, bos=True)
    assert {*shown[target:]} == {"<pad>"}


def test_positions(run, drawn):
    image = drawn("positions", run.path, "--positions", "5").axes[0].images[0]
    angle = np.arange(5)[:, None] / 10000 ** (np.arange(8) / 8)
    expected = np.stack([np.sin(angle), np.cos(angle)], 2).reshape(5, 16)
    np.testing.assert_allclose(image.get_array(), expected, atol=1e-6)
    options = ["--positions", "5", "--dimensions", "3"]
    [line] = drawn("position-curves", run.path, *options).axes[0].lines
    np.testing.assert_allclose(line.get_ydata(), expected[:, 3], atol=1e-6)
    # By default all of them, of this model 12.
    assert drawn("positions", run.path).axes[0].images[0].get_array().shape == (12, 16)
    [line] = drawn("position-products", run.path, "--positions", "5").axes[0].lines
    np.testing.assert_allclose(line.get_ydata(), np.cos(angle).mean(axis=1), atol=1e-6)


def test_history(run, drawn):
    loss, bleu = drawn("history", run.path).axes
    assert loss.lines[0].get_xydata().tolist() == [[1, 4.5], [2, 3.5]]
    np.testing.assert_array_equal(bleu.lines[0].get_xydata(), [[1, np.nan], [2, 12.5]])


def test_schedule(run, drawn):
    [line] = drawn("schedule", run.path, "--steps", "9").axes[0].lines
    expected = [16**-0.5 * step * 4000**-1.5 for step in range(1, 10)]
    np.testing.assert_allclose(line.get_ydata(), expected, rtol=1e-5)


def test_a_schedule_by_the_clock_says_what_is_not_drawn(run, drawn, monkeypatch):
    timed = TrainingConfig(
        schedule="trapezoid", warmup_steps=2, cooldown=0.5, minutes=1.0, epochs=None
    )
    config = dataclasses.replace(run.config, training=timed)
    monkeypatch.setattr(runs, "open_run", lambda path: dataclasses.replace(run, config=config))
    figure = drawn("schedule", run.path, "--steps", "9")
    assert figure.axes[0].get_title() == "run: the fall by the clock is not drawn"
    monkeypatch.undo()
    assert drawn("schedule", run.path, "--steps", "9").axes[0].get_title() == ""


def test_masks_of_a_model_without_self_attention(run):
    config = dataclasses.replace(run.config, model=RecurrentConfig())
    with pytest.raises(ValueError, match=r"`run` must be one of a model with self-attention.*run"):
        masks_of(dataclasses.replace(run, config=config), SOURCE, TARGET)


@pytest.mark.parametrize("kind", [["masks", SOURCE, TARGET], ["batches"]], ids=["masks", "batches"])
def test_pictures_of_translation_of_a_run_that_does_none(kind, plot, monkeypatch):
    other = SimpleNamespace(config=MaskedLMConfig(), path="runs/bert")
    monkeypatch.setattr("keras_transformer.runs.run.open_run", lambda path: other)
    code, errors = plot(kind[0], "runs/bert", *kind[1:])
    assert (code, errors.count("\n")) == (1, 1)
    assert "`run` must be one that translates" in errors
    assert "of the task 'masked_lm'" in errors


def test_batches(run, drawn):
    """Lengths are those of the pairs that fit the model's 12 tokens."""
    processor = sentencepiece.SentencePieceProcessor(str(run.path / "joint.model"))
    corpus = open_corpus("phrasebook:train:200", "en", "de")
    pairs = np.array([[len(processor.encode(side)) + 1 for side in pair] for pair in corpus])
    fitting = pairs[(pairs <= 12).all(axis=1)]
    figure = drawn("batches", run.path)
    for side, patch in enumerate(figure.axes[0].patches):
        counts = patch.get_xy()[1:-1:2, 1]
        np.testing.assert_array_equal(counts, np.bincount(fitting[:, side])[1:][: len(counts)])


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["heads"], 2, "KIND"),
        ([*PAIR, "--layer", "1"], 1, "`layer` must be at least 0 and below the model's 1"),
        ([*PAIR, "--layer", "0", "--head", "-1"], 1, "the model's 2. Received: head=-1"),
        ([*PAIR, "--head", "1"], 1, "`head` needs a `layer`"),
        (["attention", "RUN", "the dog " * 9, TARGET], 1, "at most 12 tokens"),
        (["attention", "nowhere", SOURCE], 1, "must be a run directory"),
        (["positions", "RUN", "--positions", "13"], 1, "the model's 12. Received: positions=13"),
        (["positions", "RUN", "--positions", "0"], 1, "at least 1 and at most the model's 12"),
        (["history", "RUN", "--metrics", "ter"], 1, "`metrics` must be some of loss, bleu"),
        (["history", "RUN", "--layer", "1"], 2, "--layer"),
        (["schedule", "RUN", "--steps", "0"], 1, "`steps` must be at least 1. Received: steps=0"),
        (["batches", "RUN", "--batches", "-1"], 1, "`batches` must be at least 1"),
        (["masks", "RUN", SOURCE, TARGET, "--padding", "-1"], 1, "`padding` must be at least 0"),
    ],
)
def test_errors(run, plot, arguments, code, words):
    arguments = [run.path if argument == "RUN" else argument for argument in arguments]
    found, errors = plot(*arguments)
    assert (found, errors.count("\n")) == (code, 1)
    assert words in errors


def test_a_file_of_another_format_is_refused_before_the_work(run, plot, monkeypatch):
    monkeypatch.setitem(KINDS, "history", KINDS["history"]._replace(draw=None))
    assert ".png, .svg. Received" in plot("history", run.path, output="a.gif")[1]


def test_without_matplotlib(run, plot, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("keras_transformer.plotting")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, errors = plot("history", run.path)
    assert code == 1
    assert "pip install 'keras_transformer[plot]'" in errors
