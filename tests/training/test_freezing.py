"""Frozen parts stay as they are, whatever else is trained."""

import keras
import numpy as np
import pytest

from keras_transformer import TrainingConfig, Transformer, TransformerConfig, compile_model
from keras_transformer.training.freezing import freeze

CONFIG = TransformerConfig(
    vocab_size=20, num_layers=2, d_model=8, d_ff=16, num_heads=2, max_length=8
)
IDS = np.array([[5, 6, 7, 3], [8, 9, 3, 0]], "int32")


def paths(model, inside=""):
    found = [variable.path.partition("/")[2] for variable in model.weights]
    return [path for path in found if path.startswith(inside)]


@pytest.mark.any_backend
@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["encoder"], "encoder/"),
        (["encoder/"], "encoder/"),
        (["decoder/layer_1", "decoder/layer_0"], "decoder/"),
        (["decoder/*"], "decoder/"),
        (["target_embedding"], "target_embedding/embeddings"),
        (["target_*/embeddings"], "target_embedding/embeddings"),
        (["encoder/layer_0/feed_forward"], "encoder/layer_0/feed_forward/"),
    ],
)
def test_names(names, expected):
    model = Transformer(CONFIG)
    frozen = freeze(model, names)
    assert frozen == paths(model, expected)
    assert frozen
    trainable = [variable.path.partition("/")[2] for variable in model.trainable_variables]
    assert trainable == [path for path in paths(model) if path not in frozen]
    assert freeze(model, names) == frozen, "once more changes nothing"


@pytest.mark.any_backend
def test_a_star_reaches_into_all_layers():
    model = Transformer(CONFIG)
    frozen = freeze(model, ["*/cross_attention"])
    assert frozen == [path for path in paths(model) if "/cross_attention/" in path]
    assert len(frozen) == 2 * 3
    assert freeze(Transformer(CONFIG), []) == []


@pytest.mark.any_backend
def test_errors():
    model = Transformer(CONFIG)
    message = (
        "there are target_embedding, encoder, encoder/layer_0, encoder/layer_1, decoder, "
        r"decoder/layer_0, decoder/layer_1, and what is in them. Received: 'layer_0'"
    )
    with pytest.raises(ValueError, match=message):
        freeze(model, ["layer_0"])
    for name in ("encod", "encoder/layer_0/self_attention/out", "encoder.layer_0", ""):
        with pytest.raises(ValueError, match=f"Received: '{name}'"):
            freeze(model, [name])
    with pytest.raises(
        ValueError, match=r"leave something to train. Received: 'encoder', '\*coder"
    ):
        freeze(model, ["encoder", "*coder*", "target_embedding"])


@pytest.mark.any_backend
def test_three_steps():
    """With a moving average; among what is frozen is the matrix of embeddings and logits."""
    model = Transformer(CONFIG)
    frozen = freeze(model, ["encoder/layer_1", "target_embedding"])
    compile_model(model, TrainingConfig(warmup_steps=1, ema_momentum=0.5))
    before = [variable.numpy() for variable in model.weights]
    model.fit({"source": IDS, "target": IDS}, IDS, batch_size=2, epochs=3, verbose=0)
    for path, variable, value in zip(paths(model), model.weights, before, strict=True):
        assert np.array_equal(variable, value) == (path in frozen), path
    shapes = [tuple(v.shape) for v in model.optimizer.variables if len(v.shape)]
    trained = [tuple(variable.shape) for variable in model.trainable_variables]
    # Momentum, velocity and the average.
    assert sorted(shapes) == sorted(trained * 3)
    assert len(trained) == len(before) - len(frozen)


@pytest.mark.any_backend
def test_a_saved_model_is_frozen_again(tmp_path):
    """As training goes on from a checkpoint: load, freeze, build the optimizer."""
    model = Transformer(CONFIG)
    freeze(model, ["encoder", "target_embedding"])
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    freeze(loaded, ["encoder", "target_embedding"])
    compile_model(loaded, TrainingConfig())
    for one, other in zip(model.weights, loaded.weights, strict=True):
        assert one.trainable == other.trainable
        np.testing.assert_array_equal(one, other)
    # A counter of steps, then two slots each.
    assert len(loaded.optimizer.variables) == 1 + 2 * len(model.trainable_variables)
