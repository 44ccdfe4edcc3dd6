"""The standard check for every layer that the package exports."""

import inspect

import keras
import numpy as np
import pytest
from layer_checks import (
    SAVED_OUTPUTS_CODE,
    Case,
    check_config_round_trip,
    check_gradients,
    check_mixed_precision,
    check_symbolic_outputs,
    save_with_outputs,
)

from keras_transformer import TransformerConfig, layers

pytestmark = pytest.mark.any_backend

CONFIG = TransformerConfig(
    vocab_size=11, num_layers=2, d_model=8, d_ff=12, num_heads=2, key_dim=3, value_dim=5
)
PRE_NORM = TransformerConfig(
    vocab_size=11, num_layers=2, d_model=8, d_ff=12, num_heads=2, norm_first=True
)
IDS = np.array([[4, 5, 3, 0], [6, 3, 0, 0]], "int32")
GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(2, 4, 8)).astype("float32")
MEMORY = GENERATOR.normal(size=(2, 6, 8)).astype("float32")
HIDDEN, SELF, CROSS = (2, 4, 8), (2, 2, 4, 4), (2, 2, 4, 6)


WINDOW = (2, 2, 4, 3)
LOGITS = GENERATOR.normal(size=(2, 4, 6)).astype("float32")
MASK = np.array([[[True] * 6], [[True] * 3 + [False] * 3]])
ALIGNED, POSITION = (2, 4, 6), np.array([[0, 1, 2, 3]] * 2, "int32")


def attention(attention_class, **options):
    return lambda **kw: attention_class(2, key_dim=3, value_dim=5, **options, **kw)


def score(score_class, *sizes):
    """Of queries and keys of one width, as some scores need."""
    shapes, dtypes = ((2, 4, 6),), ("float32",)
    return Case(lambda **kw: score_class(*sizes, **kw), (X, MEMORY), shapes, dtypes)


def alignment(alignment_class, *sizes):
    inputs = (LOGITS, MASK, X, POSITION)
    return Case(lambda **kw: alignment_class(*sizes, **kw), inputs, (ALIGNED,))


CASES = {
    "PaddingMask": Case(layers.PaddingMask, (IDS,), ((2, 1, 1, 4),), ("bool",)),
    "CausalMask": Case(layers.CausalMask, (IDS,), ((1, 1, 4, 4),), ("bool",)),
    "DecoderMask": Case(layers.DecoderMask, (IDS,), ((2, 1, 4, 4),), ("bool",)),
    "SelfAttention": Case(attention(layers.SelfAttention), (X,), (HIDDEN, SELF)),
    "CrossAttention": Case(attention(layers.CrossAttention), (X, MEMORY), (HIDDEN, CROSS)),
    "SinusoidalPositionalEncoding": Case(
        lambda **kw: layers.SinusoidalPositionalEncoding(16, **kw), (X,), (HIDDEN,)
    ),
    "LearnedPositionalEncoding": Case(
        lambda **kw: layers.LearnedPositionalEncoding(16, **kw), (X,), (HIDDEN,)
    ),
    "TokenEmbedding": Case(lambda **kw: layers.TokenEmbedding(11, 8, **kw), (IDS,), (HIDDEN,)),
    "PositionalSum": Case(
        lambda **kw: layers.PositionalSum("learned", 16, 0.1, **kw), (X,), (HIDDEN,)
    ),
    "FeedForward": Case(lambda **kw: layers.FeedForward(12, **kw), (X,), (HIDDEN,)),
    "Residual": Case(lambda **kw: layers.Residual(0.1, **kw), (X, X[::-1]), (HIDDEN,)),
    "EncoderLayer": Case(lambda **kw: layers.EncoderLayer(CONFIG, **kw), (X,), (HIDDEN, SELF)),
    "Encoder": Case(lambda **kw: layers.Encoder(CONFIG, **kw), (X,), (HIDDEN, SELF, SELF)),
    "Encoder-pre-norm": Case(
        lambda **kw: layers.Encoder(PRE_NORM, **kw), (X,), (HIDDEN, SELF, SELF)
    ),
    "DecoderLayer": Case(
        lambda **kw: layers.DecoderLayer(CONFIG, **kw), (X, MEMORY), (HIDDEN, SELF, CROSS)
    ),
    "Decoder": Case(
        lambda **kw: layers.Decoder(CONFIG, **kw),
        (X, MEMORY),
        (HIDDEN, SELF, SELF, CROSS, CROSS),
    ),
    "Decoder-pre-norm": Case(
        lambda **kw: layers.Decoder(PRE_NORM, **kw),
        (X, MEMORY),
        (HIDDEN, SELF, SELF, CROSS, CROSS),
    ),
    "RestrictedSelfAttention": Case(
        attention(layers.RestrictedSelfAttention, window=3), (X,), (HIDDEN, WINDOW)
    ),
    "MaskedWordHead": Case(
        lambda **kw: layers.MaskedWordHead(**kw),
        (X, GENERATOR.normal(size=(8, 11)).astype("float32")),
        ((2, 4, 11),),
        ("float32",),
    ),
    "AdditiveScore": score(layers.AdditiveScore, 5),
    "DotScore": score(layers.DotScore),
    "GeneralScore": score(layers.GeneralScore),
    "ConcatScore": score(layers.ConcatScore, 5),
    "LocationScore": score(layers.LocationScore, 7),
    "ScaledDotScore": score(layers.ScaledDotScore),
    "CosineScore": score(layers.CosineScore),
    "SoftAlignment": alignment(layers.SoftAlignment),
    "LocalMonotonicAlignment": alignment(layers.LocalMonotonicAlignment, 2),
    "LocalPredictiveAlignment": alignment(layers.LocalPredictiveAlignment, 5, 2),
    "HardAlignment": alignment(layers.HardAlignment),
    "GumbelAlignment": alignment(layers.GumbelAlignment),
}

every_layer = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def test_no_exported_layer_is_left_out():
    exported = {
        name
        for name in layers.__all__
        if inspect.isclass(getattr(layers, name))
        and issubclass(getattr(layers, name), keras.layers.Layer)
    }
    assert exported == {name.split("-")[0] for name in CASES}


@every_layer
def test_shapes_dtypes_and_config_round_trip(case):
    check_config_round_trip(case)


@every_layer
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_shapes_dtypes_and_values_in_mixed_precision(case, policy):
    check_mixed_precision(case, policy)


@every_layer
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_shapes_and_dtypes_are_told_without_computing(case, policy):
    check_symbolic_outputs(case, policy)


@every_layer
def test_gradient_reaches_every_variable(case, gradients):
    check_gradients(case, gradients)


def test_saved_and_loaded_in_a_fresh_process(fresh_process, tmp_path):
    for name, case in CASES.items():
        save_with_outputs(name, case, tmp_path)
    assert sorted(fresh_process(SAVED_OUTPUTS_CODE, tmp_path).split()) == sorted(CASES)
