"""A compiled model learns, and learns the same thing from the same seed."""

import dataclasses
import json
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_transformer import TrainingConfig, Transformer, TransformerConfig
from keras_transformer.training.optimizer import compile_model, make_optimizer, make_schedule

pytestmark = pytest.mark.any_backend

BOS, EOS, V, LENGTH = 2, 3, 12, 6


def copy_batches(steps, batch_size=32):
    """Batches of the task to repeat the source, with sentences of several lengths."""
    generator = np.random.default_rng(0)
    for _ in range(steps):
        source = generator.integers(4, V, size=(batch_size, LENGTH))
        lengths = generator.integers(2, LENGTH, size=(batch_size, 1))
        position = np.arange(LENGTH)
        source = np.where(position < lengths, source, np.where(position == lengths, EOS, 0))
        target = np.pad(source[:, :-1], ((0, 0), (1, 0)), constant_values=BOS)
        target = np.where(source == 0, 0, target)
        yield {"source": source.astype("int32"), "target": target.astype("int32")}, source


class CopyBatches(keras.utils.PyDataset):
    def __init__(self, steps):
        super().__init__()
        self.batches = list(copy_batches(steps))

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.batches[index]


class BatchLosses(keras.callbacks.Callback):
    """Keeps the running loss after each batch, which shows any difference from there on."""

    def __init__(self):
        super().__init__()
        self.losses = []

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(float(logs["loss"]))


def trained(batches, dropout):
    keras.utils.set_random_seed(7)
    config = TransformerConfig(
        vocab_size=V, num_layers=1, d_model=32, d_ff=64, num_heads=4, dropout=dropout
    )
    # On JAX a step that is not compiled as a whole takes half a second.
    jit_compile = keras.backend.backend() == "jax"
    training = TrainingConfig(learning_rate_factor=0.5, warmup_steps=50, jit_compile=jit_compile)
    model = compile_model(Transformer(config), training)
    losses = BatchLosses()
    model.fit(batches, verbose=0, shuffle=False, callbacks=[losses])
    return model, losses.losses


def test_learns_to_copy():
    model, losses = trained(CopyBatches(200), dropout=0.0)
    assert losses[0] > 2.0
    inputs, labels = next(copy_batches(1))
    scores = model.evaluate(inputs, labels, verbose=0, return_dict=True)
    # What a perfect model has left is the entropy of the smoothed distribution.
    q = np.full(V, 0.1 / V)
    q[0] += 0.9
    floor = -(q * np.log(q)).sum()
    assert floor <= scores["loss"] < floor + 0.1
    assert scores["accuracy"] > 0.97
    assert 1.0 <= scores["perplexity"] < 1.2


def test_the_same_seed_gives_the_same_losses_in_another_process(fresh_process):
    _, losses = trained(CopyBatches(50), dropout=0.1)
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_optimizer import CopyBatches, trained\n"
        "print(json.dumps(trained(CopyBatches(50), dropout=0.1)[1]))"
    )
    other = json.loads(fresh_process(code, Path(__file__).parent).splitlines()[-1])
    assert losses == other
    assert len(set(losses)) == 50


def test_the_optimizer_has_the_papers_constants():
    optimizer = make_optimizer(512, TrainingConfig())
    config = optimizer.get_config()
    assert (config["beta_1"], config["beta_2"], config["epsilon"]) == (0.9, 0.98, 1e-9)
    assert config["global_clipnorm"] is None
    assert isinstance(optimizer, keras.optimizers.Adam)


def test_the_training_configuration_reaches_the_optimizer():
    training = TrainingConfig(
        learning_rate_factor=2.0,
        warmup_steps=10,
        beta_1=0.8,
        beta_2=0.9,
        epsilon=1e-6,
        clip_norm=0.5,
    )
    optimizer = make_optimizer(64, training)
    config = optimizer.get_config()
    assert (config["beta_1"], config["beta_2"], config["epsilon"]) == (0.8, 0.9, 1e-6)
    assert config["global_clipnorm"] == 0.5
    variable = keras.Variable(0.0)
    optimizer.build([variable])
    assert float(optimizer.learning_rate) == pytest.approx(2.0 * 64**-0.5 * 10**-1.5)


def test_the_highest_rate_of_either_schedule():
    """In place of what Equation 3 makes of the width; one that falls throughout is BERT's."""
    paper = TrainingConfig(peak_learning_rate=0.003, warmup_steps=10)
    rates = [float(make_schedule(64, paper)(step)) for step in (0, 9, 39)]
    np.testing.assert_allclose(rates, [0.0003, 0.003, 0.0015], rtol=1e-5)
    linear = dataclasses.replace(paper, schedule="trapezoid", cooldown=1.0, max_steps=100)
    rates = [float(make_schedule(64, linear)(step)) for step in (0, 4, 10, 50, 99)]
    np.testing.assert_allclose(rates, [0.0003, 0.0015, 0.0027, 0.0015, 0.00003], rtol=1e-5)


def test_weight_decay_is_apart_from_adams_step_and_spares_biases_and_norms():
    """A gradient of zero leaves Adam where it is, so what changes is the decay alone."""
    training = TrainingConfig(peak_learning_rate=0.1, warmup_steps=1, weight_decay=0.02)
    names = ("kernel", "embeddings", "table", "bias", "gamma", "beta")
    variables = [keras.Variable(np.full((2, 2), 3.0, "float32"), name=name) for name in names]
    optimizer = make_optimizer(64, training)
    optimizer.build(variables)
    optimizer.apply([keras.ops.zeros((2, 2))] * len(variables), variables)
    found = [float(keras.ops.convert_to_numpy(variable)[0, 0]) for variable in variables]
    decayed = 3.0 * (1 - 0.1 * 0.02)
    np.testing.assert_allclose(found, [decayed] * 3 + [3.0] * 3, rtol=1e-6)
    assert make_optimizer(64, TrainingConfig()).weight_decay is None


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_the_optimizer_is_built_before_the_first_step(policy):
    config = TransformerConfig(vocab_size=V, num_layers=1, d_model=8, d_ff=8, num_heads=2)
    model = compile_model(Transformer(config, dtype=policy), TrainingConfig())
    assert model.optimizer.built
    scaled = isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert scaled == (policy == "mixed_float16")
    assert model.loss.label_smoothing == TrainingConfig().label_smoothing


def test_micro_batches_that_are_left_open():
    model = Transformer(TransformerConfig.preset("tiny", vocab_size=20, num_layers=1))
    with pytest.raises(ValueError, match="`micro_batches` of 0 must be replaced"):
        compile_model(model, TrainingConfig(micro_batches=0))


@pytest.mark.any_backend
def test_micro_batches_are_tensorflow_s():
    model = Transformer(TransformerConfig.preset("tiny", vocab_size=20, num_layers=1))
    if keras.backend.backend() == "tensorflow":
        assert compile_model(model, TrainingConfig(micro_batches=3)).micro_batches == 3
        return
    with pytest.raises(ValueError, match=r"`micro_batches` must be 1 .*=3 on jax"):
        compile_model(model, TrainingConfig(micro_batches=3))
