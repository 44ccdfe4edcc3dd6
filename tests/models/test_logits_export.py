"""`model.export`, Keras's own: the call of a model as a SavedModel of ids and logits."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer import TrainingConfig, Transformer, TransformerConfig, compile_model

SIZE = dict(num_layers=1, d_model=16, d_ff=32, num_heads=2, max_length=16)
INPUTS = {
    "source": np.array([[5, 6, 3], [7, 3, 0]], "int32"),
    "target": np.array([[2, 7], [2, 0]], "int32"),
}


def fresh():
    return Transformer(TransformerConfig(vocab_size=40, **SIZE))


def trained():
    model = compile_model(fresh(), TrainingConfig())
    model.fit(INPUTS, INPUTS["target"], verbose=0)
    model.predict(INPUTS, verbose=0)
    return model


@pytest.mark.parametrize("make", [fresh, trained])
def test_logits_are_those_of_a_call(make, tmp_path):
    """Whether the model has been called or not, for any number of rows and any lengths."""
    model = make()
    model.export(tmp_path / "logits", verbose=False)
    exported = tf.saved_model.load(tmp_path / "logits")
    longer = {name: np.pad(ids, [(0, 2), (0, 5)], mode="edge") for name, ids in INPUTS.items()}
    for inputs in (INPUTS, longer):
        np.testing.assert_allclose(exported.serve(inputs), model(inputs), atol=1e-5)
    served = exported.signatures["serving_default"]
    assert set(served.structured_input_signature[1]) == {"source", "target"}


def test_a_signature_of_ones_own(tmp_path):
    ids = keras.InputSpec("int64", (None, 4))
    fresh().export(
        tmp_path / "logits", verbose=False, input_signature=[{"source": ids, "target": ids}]
    )
    exported = tf.saved_model.load(tmp_path / "logits")
    four = tf.constant([[5, 6, 7, 3]], tf.int64)
    assert exported.serve({"source": four, "target": four}).shape == (1, 4, 40)
