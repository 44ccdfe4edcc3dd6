"""The whole model against the paper: its formulas in NumPy, its parameter counts, its masks."""

import importlib.util

import keras
import numpy as np
import pytest
import references
from keras import ops
from random_models import vary
from references import to_numpy, weights_by_name

from keras_transformer import PRESETS, Transformer, TransformerConfig

pytestmark = pytest.mark.any_backend

POLICIES = ["float32", "mixed_bfloat16", "mixed_float16"]
TINY = dict(vocab_size=13, num_layers=2, d_model=8, d_ff=12, num_heads=2, max_length=16)
# Lengths differ, and each side has padding.
SOURCE = np.array([[4, 7, 5, 9, 6, 3], [8, 6, 3, 0, 0, 0], [3, 0, 0, 0, 0, 0]], "int32")
TARGET = np.array([[2, 5, 11, 7], [2, 12, 0, 0], [2, 4, 6, 0]], "int32")
INPUTS = {"source": SOURCE, "target": TARGET}


def make_model(dtype=None, **overrides):
    return Transformer(TransformerConfig(**{**TINY, **overrides}), dtype=dtype)


def tables_of(model):
    """The embedding matrices in the terms of `references.transformer`."""
    tables = {
        "source": model.source_embedding.embeddings,
        "target": model.target_embedding.embeddings,
        "output": model.output_embedding.embeddings,
    }
    if model.config.positions == "learned":
        tables["source_positions"] = model.source_sum.encoding.table
        tables["target_positions"] = model.target_sum.encoding.table
    return {name: to_numpy(table).astype("float64") for name, table in tables.items()}


def with_random_norms(model):
    """Gives the normalizations weights of their own, which start as 1 and 0."""
    generator = np.random.default_rng(1)
    for variable in model.trainable_variables:
        if variable.path.endswith(("gamma", "beta", "bias")):
            noise = generator.normal(scale=0.3, size=variable.shape)
            variable.assign(to_numpy(variable) + noise.astype("float32"))
    return model


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"norm_first": True},
        {"positions": "learned"},
        {"positions": "none"},
        {"key_dim": 3, "value_dim": 5},
        {"tie_embeddings": False, "source_vocab_size": 17},
        {"window": 1},
        {"window": 2},
        {"window": 3},
    ],
    ids=str,
)
def test_logits_are_those_of_the_papers_formulas(overrides):
    model = with_random_norms(make_model(**overrides))
    expected = references.transformer(
        SOURCE, TARGET, weights_by_name(model), model.config, tables_of(model)
    )
    np.testing.assert_allclose(to_numpy(model(INPUTS)), expected, rtol=1e-4, atol=1e-5)


def test_encode_and_decode_give_the_logits_of_a_call():
    model = make_model()
    memory = model.encode(SOURCE)
    assert memory.shape == (3, 6, 8)
    logits = model.decode(TARGET, memory, SOURCE)
    np.testing.assert_array_equal(to_numpy(logits), to_numpy(model(INPUTS)))


@pytest.mark.parametrize("policy", POLICIES)
def test_logits_are_float32_and_close_in_every_policy(policy):
    model, mixed = make_model(), make_model(dtype=policy)
    mixed.set_weights(model.get_weights())
    logits = mixed(INPUTS)
    assert keras.backend.standardize_dtype(logits.dtype) == "float32"
    assert keras.backend.standardize_dtype(mixed.encode(SOURCE).dtype) == mixed.compute_dtype
    tolerance = {"float32": 1e-6, "mixed_bfloat16": 0.1, "mixed_float16": 0.02}[policy]
    np.testing.assert_allclose(to_numpy(logits), to_numpy(model(INPUTS)), atol=tolerance)


def training_outputs(model, function):
    """Calls the function always with the same dropout masks."""
    for variable in model.variables:
        if variable.path.endswith("seed_generator_state"):
            variable.assign(np.array([17, 6], "uint32"))
    return to_numpy(function())


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("norm_first", [False, True])
def test_a_future_target_token_changes_no_logit(policy, norm_first):
    model = make_model(policy, dropout=0.3, attention_dropout=0.3, norm_first=norm_first)

    def logits(target):
        inputs = {"source": SOURCE, "target": target}
        return training_outputs(model, lambda: model(inputs, training=True))

    before = logits(TARGET)
    for position in range(1, TARGET.shape[1]):
        changed = TARGET.copy()
        changed[:, position] = [9, 10, 11]
        after = logits(changed)
        np.testing.assert_array_equal(after[:, :position], before[:, :position])
        assert (after[:, position] != before[:, position]).any(-1).all()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("norm_first", [False, True])
def test_what_a_padded_source_position_holds_changes_no_logit(policy, norm_first):
    model = make_model(
        policy, dropout=0.3, attention_dropout=0.3, norm_first=norm_first, source_vocab_size=17
    )

    def logits():
        return training_outputs(model, lambda: model(INPUTS, training=True))

    before = logits()
    # The padding id's own vector, which only source padding reads.
    table = to_numpy(model.source_embedding.embeddings)
    table[0] += 5.0
    model.source_embedding.embeddings.assign(table)
    np.testing.assert_array_equal(logits(), before)
    table[6] += 5.0
    model.source_embedding.embeddings.assign(table)
    assert (logits()[0] != before[0]).any()


@pytest.mark.parametrize("policy", POLICIES)
def test_the_memory_at_padding_changes_no_logit(policy):
    model = make_model(policy, dropout=0.3)
    memory = to_numpy(model.encode(SOURCE))

    def logits(memory):
        memory = ops.cast(memory, model.compute_dtype)
        return training_outputs(model, lambda: model.decode(TARGET, memory, SOURCE, training=True))

    noisy = np.where((SOURCE == 0)[:, :, None], 50.0, memory)
    np.testing.assert_array_equal(logits(noisy), logits(memory))


def test_extra_padding_columns_change_no_logit():
    model = make_model()
    padded = {side: np.pad(ids, ((0, 0), (0, 3))) for side, ids in INPUTS.items()}
    length = TARGET.shape[1]
    expected = to_numpy(model(INPUTS))
    np.testing.assert_allclose(to_numpy(model(padded))[:, :length], expected, atol=1e-6)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_sentence_of_nothing_but_padding_gives_finite_logits(policy):
    empty = np.zeros((2, 4), "int32")
    logits = to_numpy(make_model(policy)({"source": empty, "target": empty}))
    assert np.isfinite(logits).all()


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_longer_sequence_than_the_model_knows_is_an_error(side):
    inputs = {**INPUTS, side: np.ones((3, 17), "int32")}
    with pytest.raises(ValueError, match=r"max_length.*Received: 17 tokens"):
        make_model()(inputs)


# Millions of parameters as Table 3 prints them; empty cells there are the base model's 65.
PUBLISHED = {
    "base_n2": 36,
    "base_n4": 50,
    "base_n8": 80,
    "base_d256": 28,
    "base_d1024": 168,
    "base_dk16": 58,
    "base_dk32": 60,
    "base_ff1024": 53,
    "base_ff4096": 90,
    "big": 213,
}


def parameters_by_hand(config):
    """Counts the parameters of a tied post-norm model from the paper's description."""
    d, h = config.d_model, config.num_heads
    d_k, d_v = config.key_dim or d // h, config.value_dim or d // h
    attention = 2 * d * h * d_k + d * h * d_v + h * d_v * d
    feed_forward = (d * config.d_ff + config.d_ff) + (config.d_ff * d + d)
    norm = 2 * d
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    positions = 2 * config.max_length * d if config.positions == "learned" else 0
    layers = config.num_layers * (encoder_layer + decoder_layer)
    return config.vocab_size * d + layers + positions


@pytest.fixture
def count_parameters():
    """Counts a model's parameters without making their values."""

    def count(config):
        with keras.StatelessScope(initialize_variables=False):
            model = Transformer(config)
        return sum(int(np.prod(variable.shape)) for variable in model.trainable_variables)

    yield count
    # Forgets the variables that wait for their values.
    keras.utils.clear_session()


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "tiny"])
def test_parameter_count_of_each_row_of_table_3(preset, count_parameters):
    vocab_size = 36_000 if preset == "big" else 41_500
    config = TransformerConfig.preset(preset, vocab_size=vocab_size)
    count = count_parameters(config)
    assert count == parameters_by_hand(config)
    assert count / 1e6 == pytest.approx(PUBLISHED.get(preset, 65), rel=0.015)


def test_counting_without_values_agrees_with_a_real_model(count_parameters):
    model = make_model()
    assert (
        count_parameters(model.config) == model.count_params() == parameters_by_hand(model.config)
    )


@pytest.mark.parametrize(
    ("overrides", "shapes"),
    [
        ({}, [(13, 8)]),
        ({"tie_embeddings": False}, [(13, 8), (13, 8), (13, 8)]),
        ({"source_vocab_size": 17}, [(13, 8), (17, 8)]),
        ({"source_vocab_size": 17, "tie_embeddings": False}, [(13, 8), (13, 8), (17, 8)]),
    ],
    ids=str,
)
def test_embedding_matrices(overrides, shapes):
    model = make_model(**overrides)
    found = [tuple(v.shape) for v in model.trainable_variables if v.path.endswith("embeddings")]
    assert sorted(found) == shapes
    assert model(INPUTS).shape == (3, 4, 13)


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_attention_weights_on_request(policy):
    model = make_model(policy)
    logits, weights = model(INPUTS, return_attention_weights=True)
    np.testing.assert_array_equal(to_numpy(logits), to_numpy(model(INPUTS)))
    allowed = {
        "encoder": (SOURCE != 0)[:, None, None, :],
        "decoder": (TARGET != 0)[:, None, None, :] & np.tri(4, dtype=bool),
        "cross": (SOURCE != 0)[:, None, None, :],
    }
    shapes = {"encoder": (3, 2, 6, 6), "decoder": (3, 2, 4, 4), "cross": (3, 2, 4, 6)}
    assert set(weights) == set(shapes)
    for name, layers in weights.items():
        assert [tuple(layer.shape) for layer in layers] == [shapes[name]] * 2
        for layer in map(to_numpy, layers):
            np.testing.assert_allclose(layer.sum(-1), 1.0, atol=2e-3)
            assert (layer[~np.broadcast_to(allowed[name], layer.shape)] == 0.0).all()
            assert (layer[np.broadcast_to(allowed[name], layer.shape)] > 0.0).all()


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_decode_step_gives_what_decode_gives(norm_first, positions):
    model = make_model(norm_first=norm_first, positions=positions, key_dim=3, value_dim=5)
    # No padding between tokens: while decoding every token so far is real.
    target = np.array([[2, 5, 11, 7, 9], [2, 12, 4, 8, 3], [2, 6, 6, 10, 1]], "int32")
    expected = to_numpy(model.decode(target, model.encode(SOURCE), SOURCE))
    state = model.start_decoding(SOURCE, max_length=7)
    for position in range(target.shape[1]):
        tokens = target[:, position : position + 1]
        logits, state = model.decode_step(tokens, np.zeros_like(tokens), state)
        assert keras.backend.standardize_dtype(logits.dtype) == "float32"
        np.testing.assert_allclose(to_numpy(logits)[:, 0], expected[:, position], atol=1e-5)
    assert int(state["index"]) == 5


# What models of other toolkits have, all of it at once.
OPTIONS = {
    **dict(num_decoder_layers=1, share_embeddings=False, scale_embeddings=False, norm_first=True),
    **dict(zero_start=True, embedding_norm=True, attention_bias=True, output_bias=True),
    **dict(norm_epsilon=1e-2, positions="sinusoidal_halves", activation="quick_gelu"),
}


def test_options_of_other_toolkits_in_steps_and_saved(tmp_path):
    model = vary(make_model(**OPTIONS), seed=0)
    target = np.array([[2, 5, 11, 7], [2, 12, 4, 8], [2, 6, 6, 10]], "int32")
    expected = to_numpy(model({"source": SOURCE, "target": target}))
    state = model.start_decoding(SOURCE, max_length=4)
    for position in range(4):
        tokens = target[:, position : position + 1]
        logits, state = model.decode_step(tokens, np.zeros_like(tokens), state)
        np.testing.assert_allclose(to_numpy(logits)[:, 0], expected[:, position], 1e-4, 1e-4)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert again.config == model.config
    np.testing.assert_array_equal(to_numpy(again({"source": SOURCE, "target": target})), expected)


def test_a_start_of_zeros_and_a_bias_on_the_logits():
    model = vary(make_model(**OPTIONS), seed=0)
    # The bias grows with a vocabulary as well.
    assert model.vocabulary_matrices()["target"][-1] is model.output_embedding.bias
    before = to_numpy(model(INPUTS))
    matrix = to_numpy(model.target_embedding.embeddings)
    matrix[2] += 1.0
    model.target_embedding.embeddings.assign(matrix)
    bias = np.arange(13, dtype="float32")
    model.output_embedding.bias.assign(to_numpy(model.output_embedding.bias) + bias)
    found = to_numpy(model(INPUTS)) - bias
    # The vector of bos counts in its own logit alone.
    others = np.arange(13) != 2
    np.testing.assert_allclose(found[..., others], before[..., others], atol=1e-4)
    assert (np.abs(found - before)[..., 2] > 1e-3).all()


@pytest.mark.parametrize(
    ("overrides", "shapes"),
    [
        ({"share_embeddings": True, "tie_embeddings": False}, [(13, 8), (13, 8)]),
        ({"share_embeddings": False}, [(13, 8), (13, 8)]),
    ],
    ids=str,
)
def test_embeddings_that_are_shared_or_not(overrides, shapes):
    model = make_model(**overrides)
    found = [tuple(v.shape) for v in model.trainable_variables if v.path.endswith("embeddings")]
    assert found == shapes
    shared = model.source_embedding is model.target_embedding
    assert shared == overrides["share_embeddings"]
    assert (model.output_embedding is model.target_embedding) != shared


STEPS, BEAM = 6, 3
# Any token but padding; from the second step on, hypotheses change places, double and vanish.
TOKENS = np.random.default_rng(2).integers(1, 13, (STEPS, 3, BEAM)).astype("int32")
PARENTS = np.random.default_rng(3).integers(0, BEAM, (STEPS, 3, BEAM)).astype("int32")


def decode_steps(model, state, rows=slice(None), steps=range(STEPS)):
    """The logits of some steps, `[steps, batch, beam, vocab_size]`, and the state after them."""
    found = []
    for step in steps:
        logits, state = model.decode_step(TOKENS[step][rows], PARENTS[step][rows], state)
        found.append(to_numpy(logits))
    return np.stack(found), state


def own_targets():
    """What each hypothesis of each step has said, padded: `[steps, batch, beam, steps]`."""
    targets = np.zeros((STEPS, 3, BEAM, STEPS), "int32")
    for step, pasts in enumerate(references.pasts(PARENTS)):
        for sentence, beam in np.ndindex(3, BEAM):
            for earlier, number in enumerate(pasts[sentence, beam]):
                targets[step, sentence, beam, earlier] = TOKENS[earlier, sentence, number]
    return targets


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
def test_steps_of_hypotheses_equal_a_decode_of_what_each_has_said(norm_first, positions):
    check_steps(vary(make_model(norm_first=norm_first, positions=positions), seed=0))


@pytest.mark.parametrize(
    "overrides",
    [
        *[{"window": window} for window in (1, 2, 4, 5, 6, 9)],
        *[{"attention_score": score} for score in ("dot", "general", "cosine", "additive")],
        {"window": 3, "attention_score": "additive"},
    ],
    ids=str,
)
def test_steps_do_so_with_other_attention(overrides):
    check_steps(vary(make_model(**overrides), seed=0))


def check_steps(model):
    logits, _ = decode_steps(model, model.start_decoding(SOURCE, STEPS, BEAM))
    sources = np.broadcast_to(SOURCE[None, :, None], (STEPS, 3, BEAM, 6)).reshape(-1, 6)
    targets = own_targets().reshape(-1, STEPS)
    expected = to_numpy(model.decode(targets, model.encode(sources), sources))
    expected = expected.reshape(STEPS, 3, BEAM, STEPS, -1)
    for step in range(STEPS):
        np.testing.assert_allclose(logits[step], expected[step, :, :, step], 1e-4, 1e-4)


def test_a_search_keeps_a_cache_of_the_window_alone():
    for window, slots in ((None, 6), (2, 2), (9, 6)):
        state = make_model(window=window).start_decoding(SOURCE, STEPS, BEAM)
        for x in keras.tree.flatten(state["caches"]):
            assert tuple(x.shape) == (3, 2, slots * BEAM, 4)


def test_a_window_that_reaches_from_end_to_end_is_none():
    """From the first of n positions to the last: n - 1 on either side."""
    model = make_model()
    for length, changes in ((2 * SOURCE.shape[1] - 1, False), (3, True)):
        restricted = make_model(window=length)
        restricted.set_weights(model.get_weights())
        logits, weights = restricted(INPUTS, return_attention_weights=True)
        expected, expected_weights = model(INPUTS, return_attention_weights=True)
        assert np.allclose(to_numpy(logits), to_numpy(expected), atol=1e-6) is not changes
        pairs = zip(keras.tree.flatten(weights), keras.tree.flatten(expected_weights), strict=True)
        for found, plain in pairs:
            assert found.shape == plain.shape
            assert changes or np.allclose(to_numpy(found), to_numpy(plain), atol=1e-6)


def test_coverage_is_the_sum_of_the_attention_weights():
    """Of the last layer, mean of the heads, over what each hypothesis has said itself."""
    model = vary(make_model(), seed=0)
    _, state = decode_steps(model, model.start_decoding(SOURCE, STEPS, BEAM, coverage=True))
    inputs = {"source": np.repeat(SOURCE, BEAM, 0), "target": own_targets()[-1].reshape(-1, STEPS)}
    _, weights = model(inputs, return_attention_weights=True)
    expected = to_numpy(weights["cross"][-1]).mean(1).sum(1).reshape(3, BEAM, 6)
    found = to_numpy(state["coverage"])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert (found[:, 0] != found[:, 1]).any()
    assert "coverage" not in model.start_decoding(SOURCE, STEPS, BEAM)


@pytest.mark.parametrize(("room", "window"), [(3, None), (5, None), (3, 4), (5, 2)])
def test_a_resized_state_goes_on_as_one_that_had_room_from_the_start(room, window):
    """From no room at all, as a search begins, over a change of the batch in the midst."""
    model, rows = vary(make_model(window=window), seed=0), np.array([2, 0], "int32")
    whole = model.start_decoding(SOURCE, STEPS, BEAM, coverage=True)
    expected, whole = decode_steps(model, whole)
    state = model.start_decoding(SOURCE, 0, BEAM, coverage=True)
    state = model.resize_decoding(state, np.arange(3, dtype="int32"), room)
    before, state = decode_steps(model, state, steps=range(3))
    state = model.resize_decoding(state, rows, STEPS)
    after, state = decode_steps(model, state, rows, steps=range(3, STEPS))
    np.testing.assert_allclose(before, expected[:3], 1e-5, 1e-5)
    np.testing.assert_allclose(after, expected[3:][:, rows], 1e-5, 1e-5)
    coverage = to_numpy(whole["coverage"])[rows]
    np.testing.assert_allclose(to_numpy(state["coverage"]), coverage, 1e-5, 1e-5)
    assert int(state["index"]) == STEPS


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_steps_in_low_precision_are_near_those_of_float32(policy):
    model, mixed = make_model(), make_model(dtype=policy)
    mixed.set_weights(model.get_weights())
    expected, _ = decode_steps(model, model.start_decoding(SOURCE, STEPS, BEAM))
    logits, state = decode_steps(mixed, mixed.start_decoding(SOURCE, STEPS, BEAM, coverage=True))
    assert logits.dtype == "float32"
    assert np.isfinite(logits).all()
    np.testing.assert_allclose(logits, expected, atol=0.1 if policy == "mixed_bfloat16" else 0.02)
    for part, dtype in (("caches", mixed.compute_dtype), ("coverage", "float32")):
        for x in keras.tree.flatten(state[part]):
            assert keras.backend.standardize_dtype(x.dtype) == dtype
            assert np.isfinite(to_numpy(x)).all()


@pytest.mark.parametrize(
    "overrides",
    [{}, {"norm_first": True, "positions": "learned"}, {"tie_embeddings": False}],
    ids=str,
)
def test_gradient_reaches_every_variable(overrides, gradients):
    model = make_model(**overrides)
    factor = np.random.default_rng(0).normal(size=(3, 4, 13)).astype("float32")
    found = gradients(model, lambda logits: ops.sum(logits * factor), INPUTS)
    assert len(found) == len(model.trainable_variables)
    for path, gradient in found.items():
        assert np.isfinite(gradient).all(), path
        assert gradient.any(), path


def test_padding_gets_no_gradient(gradients):
    """A loss over real tokens leaves the vector of source padding as it is."""
    model = make_model(source_vocab_size=17)
    real = (TARGET != 0)[:, :, None].astype("float32")
    factor = real * np.random.default_rng(0).normal(size=(3, 4, 13)).astype("float32")
    found = gradients(model, lambda logits: ops.sum(logits * factor), INPUTS)
    gradient = found[model.source_embedding.embeddings.path]
    assert not gradient[0].any()
    assert gradient[3].any()


LOAD_CODE = """
import sys
import keras, numpy as np
import keras_transformer
arrays = np.load(sys.argv[2])
model = keras.models.load_model(sys.argv[1])
assert type(model) is keras_transformer.Transformer
logits = model({"source": arrays["source"], "target": arrays["target"]})
logits = np.asarray(keras.ops.convert_to_numpy(logits))
np.testing.assert_allclose(logits, arrays["logits"], atol=1e-5)
print(keras.backend.backend())
"""


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_saved_model_gives_the_same_logits_in_a_fresh_process(backend, fresh_process, tmp_path):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    model = with_random_norms(make_model(norm_first=True, positions="learned", key_dim=3))
    model.save(tmp_path / "model.keras")
    np.savez(tmp_path / "arrays.npz", logits=to_numpy(model(INPUTS)), **INPUTS)
    arguments = tmp_path / "model.keras", tmp_path / "arrays.npz"
    assert fresh_process(LOAD_CODE, *arguments, backend=backend).strip() == backend


def test_the_same_seed_gives_the_same_model():
    first = make_model()
    keras.utils.set_random_seed(1706)
    same, other = make_model(), make_model()
    for a, b in zip(first.get_weights(), same.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    assert (to_numpy(same(INPUTS)) != to_numpy(other(INPUTS))).any()
