"""BERT against its formulas in NumPy, and its size against the paper's."""

import math

import keras
import numpy as np
import pytest
from random_models import vary
from references import layer_norm, softmax, to_numpy, weights_by_name

from keras_transformer import Bert, BertConfig, MaskedLanguageModel

pytestmark = pytest.mark.any_backend

CONFIG = BertConfig(
    vocab_size=40, num_layers=2, d_model=16, d_ff=24, num_heads=4, max_length=12, norm_epsilon=1e-5
)
IDS = np.array([[2, 8, 9, 3, 10, 11, 3], [2, 12, 3, 13, 3, 0, 0]], "int32")
SEGMENTS = np.array([[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 0, 0]], "int32")
PLACES = np.array([[1, 5], [3, 0]], "int32")
INPUTS = {"ids": IDS, "segments": SEGMENTS}


def gelu(x):
    return x * 0.5 * (1.0 + np.vectorize(math.erf)(x / math.sqrt(2.0)))


def norm(x, parts, place):
    return layer_norm(x, parts(place, "gamma"), parts(place, "beta"), CONFIG.norm_epsilon)


def dense(x, parts, place):
    return x @ parts(place, "kernel") + parts(place, "bias")


def attended(x, real, parts, place):
    """Section 3.2.2 with biases, for one text."""
    width, heads = CONFIG.d_model // CONFIG.num_heads, []
    query, key, value = np.split(dense(x, parts, f"{place}/query_key_value"), 3, axis=-1)
    for head in range(CONFIG.num_heads):
        columns = slice(head * width, (head + 1) * width)
        logits = query[:, columns] @ key[:, columns].T / math.sqrt(width)
        heads.append(softmax(np.where(real, logits, -1e30)) @ value[:, columns])
    return dense(np.concatenate(heads, -1), parts, f"{place}/output")


def tokens_of(ids, segments, parts):
    """The encoder's output for one text."""
    x = parts("token_embedding", "embeddings")[ids]
    x = x + parts("segment_embedding", "embeddings")[segments]
    x = x + parts("embedding_sum/positions", "table")[: len(ids)]
    x = norm(x, parts, "embedding_sum/norm")
    for layer in (f"encoder/layer_{index}" for index in range(CONFIG.num_layers)):
        x = x + attended(x, ids != 0, parts, f"{layer}/self_attention")
        x = norm(x, parts, f"{layer}/self_attention_residual/norm")
        inner = gelu(dense(x, parts, f"{layer}/feed_forward/inner"))
        x = x + dense(inner, parts, f"{layer}/feed_forward/outer")
        x = norm(x, parts, f"{layer}/feed_forward_residual/norm")
    return x


@pytest.fixture(scope="module")
def model():
    return vary(MaskedLanguageModel(CONFIG), seed=2)


def test_tokens_and_pooled_vector(model):
    parts = weights_by_name(model)
    found = model.bert(INPUTS, training=False)
    for row, (ids, segments) in enumerate(zip(IDS, SEGMENTS, strict=True)):
        expected, real = tokens_of(ids, segments, parts), ids != 0
        np.testing.assert_allclose(to_numpy(found["tokens"])[row][real], expected[real], atol=2e-5)
        pooled = np.tanh(dense(expected[0], parts, "pooler"))
        np.testing.assert_allclose(to_numpy(found["pooled"])[row], pooled, atol=2e-5)


def test_heads(model):
    """Masked words by the matrix of the embeddings; the first logit of classes never counts."""
    parts = weights_by_name(model)
    found = model({**INPUTS, "places": PLACES}, training=False)
    for row, (ids, segments) in enumerate(zip(IDS, SEGMENTS, strict=True)):
        tokens = tokens_of(ids, segments, parts)
        hidden = gelu(dense(tokens[PLACES[row]], parts, "masked_words/transform"))
        hidden = norm(hidden, parts, "masked_words/norm")
        logits = hidden @ parts("token_embedding", "embeddings").T + to_numpy(
            model.masked_words.bias
        )
        np.testing.assert_allclose(to_numpy(found["masked"])[row], logits, rtol=1e-4, atol=1e-4)
        classes = dense(np.tanh(dense(tokens[0], parts, "pooler")), parts, "next_sentence")
        np.testing.assert_allclose(to_numpy(found["next"])[row, 0, 1:], classes, atol=5e-5)
    assert to_numpy(found["next"])[:, 0, 0].max() < -1e38


def test_all_places_where_none_are_asked_for(model):
    everywhere = to_numpy(model(INPUTS, training=False)["masked"])
    there = to_numpy(model({**INPUTS, "places": PLACES}, training=False)["masked"])
    expected = np.take_along_axis(everywhere, PLACES[:, :, None], axis=1)
    np.testing.assert_allclose(there, expected, atol=1e-5)


def test_padding_changes_nothing_and_one_text_is_the_first(model):
    longer = {name: np.pad(x, [(0, 0), (0, 3)]) for name, x in INPUTS.items()}
    outputs = model.bert(INPUTS, training=False)
    found = model.bert(longer, training=False)
    np.testing.assert_allclose(
        to_numpy(found["tokens"])[:, : IDS.shape[1]], to_numpy(outputs["tokens"]), atol=1e-5
    )
    alone = model.bert({"ids": IDS}, training=False)["pooled"]
    first = model.bert({"ids": IDS, "segments": np.zeros_like(IDS)}, training=False)["pooled"]
    np.testing.assert_array_equal(to_numpy(alone), to_numpy(first))
    assert np.abs(to_numpy(alone) - to_numpy(outputs["pooled"])).max() > 1e-3


@pytest.mark.parametrize("next_sentence", [True, False])
def test_a_saved_model_is_the_same(next_sentence, tmp_path):
    model = MaskedLanguageModel(CONFIG, next_sentence)
    assert ("next" in model(INPUTS)) == next_sentence
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras", compile=False)
    assert loaded.config == CONFIG
    for one, other in zip(model.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert loaded(INPUTS).keys() == model(INPUTS).keys()


def test_matrices_begin_in_a_truncated_normal_distribution():
    model = MaskedLanguageModel(BertConfig.preset("bert_tiny", vocab_size=1000))
    for weight in model.weights:
        value = to_numpy(weight)
        if value.ndim == 2:
            assert np.abs(value).max() <= 0.0401, weight.path
        else:
            assert value.min() == value.max() == weight.path.endswith("gamma"), weight.path
    # Cut at two standard deviations, a normal distribution keeps 0.88 of its own.
    table = to_numpy(model.bert.token_embedding.embeddings)
    assert table.std() == pytest.approx(0.8796 * 0.02, rel=0.02)


@pytest.mark.parametrize(
    ("preset", "parameters"),
    [("bert_base", 109_482_240), ("bert_large", 335_141_888)],
)
def test_parameters(preset, parameters):
    """By those of one layer and of two, on which the rest does not depend."""
    size = BertConfig.preset(preset)
    one, two = (
        Bert(BertConfig.preset(preset, num_layers=n, vocab_size=10)).count_params() for n in (1, 2)
    )
    rows = (size.vocab_size - 10) * size.d_model
    assert one + (size.num_layers - 1) * (two - one) + rows == parameters


def test_half_precision_stays_near(model):
    mixed = MaskedLanguageModel(CONFIG, dtype="mixed_bfloat16")
    plain = MaskedLanguageModel(CONFIG)
    mixed.set_weights(plain.get_weights())
    found, expected = mixed(INPUTS)["masked"], plain(INPUTS)["masked"]
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    np.testing.assert_allclose(to_numpy(found), to_numpy(expected), atol=0.02)


def test_inputs_that_are_none(model):
    with pytest.raises(ValueError, match=r'`inputs` must be a dict with "ids".*Received.*source'):
        model.bert({"source": IDS})
    with pytest.raises(ValueError, match=r"`ids` must be a batch of ids.*shape=\(7,\)"):
        model.bert({"ids": IDS[0]})
    with pytest.raises(ValueError, match=r"more tokens than the 12 positions"):
        model.bert({"ids": np.tile(IDS, 2)})
    with pytest.raises(ValueError, match=r"from 0 to 1, the ids"):
        model.bert({"ids": IDS, "segments": SEGMENTS + 1})


def test_configurations_that_are_refused():
    with pytest.raises(ValueError, match="divisible by num_heads=12"):
        BertConfig(d_model=100)
    with pytest.raises(ValueError, match=r"`preset` must be one of bert_base.*'bert_huge'"):
        BertConfig.preset("bert_huge")
