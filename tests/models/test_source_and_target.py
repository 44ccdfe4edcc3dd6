"""A model of source and target as Keras's users handle any: a summary, inputs, quantization."""

import numpy as np
import pytest
from keras import ops

from keras_transformer import Transformer, TransformerConfig
from keras_transformer.layers import TokenEmbedding
from keras_transformer.training.loss import LabelSmoothedCrossEntropy

pytestmark = pytest.mark.any_backend

CONFIG = TransformerConfig(
    vocab_size=40, num_layers=2, d_model=16, d_ff=32, num_heads=2, max_length=16
)
IDS = np.array([[5, 6, 3], [7, 3, 0]], "int32")
INPUTS = {"source": IDS, "target": IDS[:, :2]}


@pytest.fixture
def model():
    return Transformer(CONFIG)


@pytest.mark.parametrize("called", [False, True])
def test_a_summary_tells_shapes_and_parameters(called, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    model = Transformer(CONFIG)
    if called:
        model(INPUTS)
    lines = []
    model.summary(line_length=190, expand_nested=True, print_fn=lines.append)
    text = "\n".join(lines)
    assert "?" not in text
    assert "unbuilt" not in text
    rows = {line.split()[1]: line for line in text.splitlines() if line.count("│") > 3}
    assert "(None, None, 16)" in rows["target_embedding"]
    assert "(None, 1, None, None)" in rows["decoder_mask"]
    # Four matrices of attention and two of the feed-forward network with their biases, two norms.
    layer = 4 * 16 * 16 + (16 * 32 + 32) + (32 * 16 + 16) + 2 * 2 * 16
    assert f"{2 * layer:,}" in rows["encoder"]
    assert f"Total params: {model.count_params():,}" in text


REFUSED = {
    "list": (list(INPUTS.values()), r"`inputs` must be a dict of two.*Received: inputs=\w+"),
    "tuple": (tuple(INPUTS.values()), r"`inputs` must be a dict of two.*Received: inputs=tuple"),
    "array": (IDS, r"`inputs` must be a dict of two.*Received: inputs="),
    "one": ({"source": IDS}, r"`inputs` must be a dict of two.*Received: inputs=\['source'\]"),
    "sentence": ({**INPUTS, "target": IDS[0]}, r"`target` must be a batch.*Received: shape=\(3,\)"),
    "rows": ({**INPUTS, "target": IDS[:1]}, r"as many rows. Received: .*\(2, 3\).*\(1, 3\)"),
    "floats": ({**INPUTS, "source": IDS / 1}, r"must be integers.*Received: dtype=float32"),
    "bools": ({**INPUTS, "source": IDS > 0}, r"must be integers.*Received: dtype=bool"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_inputs_of_another_form_are_refused(model, case):
    inputs, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        model(inputs)


# Keras itself compares the rows of what `predict` is given.
@pytest.mark.parametrize("case", [case for case in REFUSED if case not in ("rows", "sentence")])
def test_they_are_refused_while_a_graph_is_traced(model, case):
    inputs, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        model.predict(inputs, verbose=0)


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize(("id", "shown"), [(40, "0 to 40|3 to 40"), (-1, "-1 to ")])
def test_ids_that_are_not_in_the_vocabulary_are_refused(model, side, id, shown):
    """A lookup would count -1 from the end."""
    ids = INPUTS[side].copy()
    ids[0, 0] = id
    message = rf"must be from 0 to 39, .* Received: ids from ({shown})"
    with pytest.raises(ValueError, match=message):
        model({**INPUTS, side: ids})
    with pytest.raises(ValueError, match=message):
        TokenEmbedding(40, 16)(ids)
    with pytest.raises(ValueError, match=f"Labels {message}"):
        LabelSmoothedCrossEntropy()(ids, model({**INPUTS, "target": ids * 0}))


def test_quantize_is_refused(model):
    with pytest.raises(NotImplementedError, match=r"`quantize` is not supported.*export\.py RUN"):
        model.quantize("int8")


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64"])
def test_any_integers_are_ids(model, dtype):
    ids = {name: value.astype(dtype) for name, value in INPUTS.items()}
    np.testing.assert_array_equal(
        ops.convert_to_numpy(model(ids)), ops.convert_to_numpy(model(INPUTS))
    )
    no_row = np.zeros((0, 4), dtype)
    assert model({"source": no_row, "target": no_row}).shape == (0, 4, 40)
