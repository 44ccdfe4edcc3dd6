"""Searches in compiled shapes: which shape is taken, and that it changes nothing."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from random_models import vary
from small_translator import LINES, small_translator, train_tokenizers
from thorough import number

from keras_transformer import Transformer
from keras_transformer.config import DecodingConfig
from keras_transformer.config.search_shapes import SearchShape, one_sentence, parse_shapes
from keras_transformer.decoding import Hypotheses
from keras_transformer.translation.compiled_search import CompiledSearch
from keras_transformer.translation.translator import Translator

SHAPES = [SearchShape(1, 8), SearchShape(1, 4), SearchShape(3, 6)]

# With what a search depends on: each of these has a place of its own in the compiled program.
CONFIGS = {
    "beam_4": DecodingConfig(num_hypotheses=2, max_extra_tokens=6),
    "greedy": DecodingConfig(beam_size=1, max_extra_tokens=6),
    "constraints": DecodingConfig(
        beam_size=3,
        no_repeat_ngram=2,
        min_length=3,
        coverage_penalty=0.2,
        banned_pieces=("\u2581",),
    ),
}


@pytest.fixture(scope="module")
def tokenizers():
    return train_tokenizers()


def echo(name, seen):
    """Makes a search whose hypotheses are their sources and that tells what it was called with."""

    def search(source, prefix=None, factor=None, **options):
        seen.append((name, tuple(source.shape), sorted(options)))
        ids = source[:, None] * factor[:, None, None]
        return Hypotheses(ids, tf.cast(factor, tf.float32)[:, None], tf.zeros_like(factor[:, None]))

    return search


@pytest.mark.parametrize(
    ("rows", "length", "shape"),
    [
        (1, 1, (1, 4)),
        (1, 4, (1, 4)),
        (1, 5, (1, 8)),
        (2, 6, (3, 6)),
        (3, 2, (3, 6)),
        (3, 7, None),
        (4, 2, None),
        (1, 9, None),
        (0, 1, None),
    ],
)
def test_the_smallest_shape_that_fits(rows, length, shape):
    seen = []
    search = CompiledSearch(echo("plain", seen), echo("compiled", seen), SHAPES)
    source = np.arange(1, rows * length + 1, dtype="int32").reshape(rows, length)
    factor = np.arange(2, rows + 2, dtype="int32")
    found = search(tf.constant(source), factor=tf.constant(factor), n=1)
    name, taken = ("plain", (rows, length)) if shape is None else ("compiled", shape)
    assert seen == [(name, taken, ["n"])]
    expected = np.zeros((rows, 1, taken[1]), "int32")
    expected[..., :length] = (source * factor[:, None])[:, None]
    np.testing.assert_array_equal(found.ids, expected)
    np.testing.assert_array_equal(found.log_probs, factor[:, None])


def test_the_smallest_is_that_of_the_fewest_tokens():
    """And not that of the fewest sentences."""
    seen, shapes = [], [SearchShape(2, 16), SearchShape(4, 6)]
    search = CompiledSearch(echo("plain", seen), echo("compiled", seen), shapes)
    search(tf.ones([1, 5], tf.int32), factor=tf.ones([1], tf.int32))
    assert seen == [("compiled", (4, 6), [])]


def test_a_prefix_is_never_compiled():
    seen = []
    search = CompiledSearch(echo("plain", seen), echo("compiled", seen), SHAPES)
    ones = tf.ones([1, 2], tf.int32)
    search(ones, prefix=ones, factor=ones[0, :1])
    assert [name for name, *_ in seen] == ["plain"]


@pytest.mark.parametrize("name", number(["beam_4"], list(CONFIGS)))
@pytest.mark.parametrize("models", number([1], [1, 2]))
def test_translations_are_those_of_the_plain_search(tokenizers, name, models):
    """By XLA itself, of an ensemble, in a shape that is too large and in one that just fits."""
    plain = small_translator(tokenizers, False, {}, CONFIGS[name])
    other = vary(Transformer(plain.models[0].config), seed=1)
    several = [plain.models[0], other][:models]
    plain = Translator(several, tokenizers["joint"], config=CONFIGS[name])
    shapes = [SearchShape(2, 6)]
    compiled = Translator(several, tokenizers["joint"], config=CONFIGS[name], shapes=shapes)
    lengths = tokenizers["joint"].tokenize(LINES).row_lengths().numpy()
    assert {*lengths} >= {3, 6, 11}  # With room left over, just fitting, and too long.
    for lines in (
        [LINES[0]],
        LINES[:2],
        [LINES[2]],
        [LINES[4]],
        LINES,
        ["", "\n"],
        [" ".join(LINES)],
    ):
        expected, found = plain.nbest(lines), compiled.nbest(lines)
        assert [[one.text for one in row] for row in found] == [
            [one.text for one in row] for row in expected
        ]
        np.testing.assert_allclose(
            [one.log_prob for row in found for one in row],
            [one.log_prob for row in expected for one in row],
            rtol=1e-4,
        )


@pytest.mark.parametrize(
    ("shape", "config", "message"),
    [
        (SearchShape(1, 13), DecodingConfig(), "here 12; give smaller ones. Received: 1x13"),
        (SearchShape(1, 8), DecodingConfig(sampling=True), "`sampling` is not for .*: .*1x4, 1x8"),
    ],
)
def test_what_does_not_fit_is_refused(tokenizers, shape, config, message):
    graph = small_translator(tokenizers, False, {}, config).graph
    with pytest.raises(ValueError, match=message):
        graph.compiled([SearchShape(1, 4), shape])


def test_shapes_as_they_are_written():
    assert parse_shapes([]) == ()
    assert parse_shapes(["8x64", "1x32", "8x64"]) == (SearchShape(1, 32), SearchShape(8, 64))
    assert [str(shape) for shape in one_sentence(256)] == ["1x32", "1x64"]
    assert [str(shape) for shape in one_sentence(24)] == ["1x24"]
    assert dataclasses.astuple(SearchShape(1, 32)) == (1, 32)
    for text in ("32", "1x", "1X32", "-1x32", "1x32 ", "1x3.5", ""):
        with pytest.raises(ValueError, match=r"sentences x tokens, as in 1x32"):
            parse_shapes([text])
    for text in ("0x32", "1x1"):
        with pytest.raises(ValueError, match="must be at least"):
            parse_shapes([text])


def test_the_plain_search_is_a_call():
    """What is not one is run through by TensorFlow, also where it is not taken."""
    search = CompiledSearch(echo("plain", []), tf.function(echo("compiled", [])), SHAPES)
    specs = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int32)
    function = tf.function(lambda source, factor: search(source, factor=factor), specs)
    made = function.get_concrete_function().graph.as_graph_def().library.function
    [plain] = [one.signature.name for one in made if one.attr["_noinline"].b]
    calls = {
        one.signature.name: {node.attr["f"].func.name for node in one.node_def} for one in made
    }
    [branch] = [name for name, called in calls.items() if plain in called]
    assert branch.startswith("switch_case_indexed_case_branch3")  # After those of three shapes.
