"""The fused Adam does what `keras.optimizers.Adam` does. TensorFlow only."""

from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
import thorough

from keras_transformer.training.adam import FusedAdam
from keras_transformer.training.schedule import TransformerSchedule

SHAPES = [(5, 3), (3,), (2, 3, 4)]
OPTIONS = dict(beta_1=0.9, beta_2=0.98, epsilon=1e-9)


def initial_variables():
    generator = np.random.default_rng(0)
    return [
        keras.Variable(generator.normal(size=shape).astype("float32"), name=f"variable_{i}")
        for i, shape in enumerate(SHAPES)
    ]


def gradients_of_step(step):
    generator = np.random.default_rng(100 + step)
    return [tf.constant(generator.normal(size=shape), tf.float32) for shape in SHAPES]


def values_after(optimizer, steps=20, gradients=gradients_of_step):
    variables = initial_variables()
    optimizer.build(variables)
    for step in range(steps):
        optimizer.apply(gradients(step), variables)
    return [variable.numpy() for variable in variables]


def adam_in_numpy(steps, rate):
    """Algorithm 1 of Kingma and Ba, with the paper's constants."""
    values = [variable.numpy().astype("float64") for variable in initial_variables()]
    moments = [[np.zeros(shape), np.zeros(shape)] for shape in SHAPES]
    for step in range(1, steps + 1):
        for value, pair, gradient in zip(values, moments, gradients_of_step(step - 1), strict=True):
            pair[0] = 0.9 * pair[0] + 0.1 * gradient.numpy()
            pair[1] = 0.98 * pair[1] + 0.02 * gradient.numpy() ** 2
            m, v = pair[0] / (1 - 0.9**step), pair[1] / (1 - 0.98**step)
            value -= rate * m / (np.sqrt(v) + 1e-9)
    return values


def assert_same(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def test_against_the_formula():
    found = values_after(FusedAdam(1e-2, **OPTIONS))
    for a, b in zip(found, adam_in_numpy(20, 1e-2), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"learning_rate": 1e-2},
        {"learning_rate": TransformerSchedule(16, warmup_steps=5)},
        {"learning_rate": 1e-2, "global_clipnorm": 0.5},
        {"learning_rate": 1e-2, "weight_decay": 0.1},
        {"learning_rate": 1e-2, "use_ema": True, "ema_momentum": 0.5},
    ],
    ids=lambda options: next(reversed(options)),
)
def test_equals_keras_after_20_steps(options):
    fused = values_after(FusedAdam(**options, **OPTIONS))
    assert_same(fused, values_after(keras.optimizers.Adam(**options, **OPTIONS)))


def test_equals_keras_inside_a_graph():
    variables = initial_variables()
    optimizer = FusedAdam(1e-2, **OPTIONS)
    optimizer.build(variables)

    @tf.function
    def apply(gradients):
        optimizer.apply(gradients, variables)

    for step in range(20):
        apply(gradients_of_step(step))
    expected = values_after(keras.optimizers.Adam(1e-2, **OPTIONS))
    assert_same([variable.numpy() for variable in variables], expected)


def test_sparse_gradients_of_an_embedding():
    """Repeated rows add up before anything else; the others still move with their momentum.

    Keras itself squares, and takes the norm of, repeated rows before it adds them up.
    """

    def sparse(step):
        generator = np.random.default_rng(step)
        rows = tf.constant(generator.integers(0, 5, size=4))
        values = tf.constant(generator.normal(size=(4, 3)), tf.float32)
        return [tf.IndexedSlices(values, rows, tf.constant([5, 3])), *gradients_of_step(step)[1:]]

    def dense(step):
        first, *others = sparse(step)
        return [tf.convert_to_tensor(first), *others]

    for options in ({}, {"global_clipnorm": 0.5}):
        fused = values_after(FusedAdam(1e-2, **OPTIONS, **options), gradients=sparse)
        expected = keras.optimizers.Adam(1e-2, **OPTIONS, **options)
        assert_same(fused, values_after(expected, gradients=dense))


def test_state_and_configuration_are_those_of_keras():
    fused, plain = (
        make(1e-2, name="adam", **OPTIONS) for make in (FusedAdam, keras.optimizers.Adam)
    )
    values_after(fused)
    values_after(plain)
    assert [v.path for v in fused.variables] == [v.path for v in plain.variables]
    assert_same([v.numpy() for v in fused.variables], [v.numpy() for v in plain.variables])
    assert fused.get_config() == plain.get_config()
    copy = keras.optimizers.deserialize(keras.optimizers.serialize(fused))
    assert type(copy) is FusedAdam
    assert copy.get_config() == fused.get_config()


def test_amsgrad_is_refused():
    with pytest.raises(ValueError, match="Received: amsgrad=True"):
        FusedAdam(amsgrad=True)


def test_loss_scaling_skips_the_step_of_an_infinite_gradient():
    variables = initial_variables()
    optimizer = keras.optimizers.LossScaleOptimizer(FusedAdam(1e-2), initial_scale=64.0)
    optimizer.build(variables)
    before = [variable.numpy() for variable in variables]
    scaled = [64.0 * gradient for gradient in gradients_of_step(0)]
    optimizer.apply([scaled[0] * np.inf, *scaled[1:]], variables)
    assert_same([variable.numpy() for variable in variables], before)
    assert float(optimizer.dynamic_scale) == 32.0
    optimizer.apply([gradient / 2.0 for gradient in scaled], variables)
    expected = values_after(keras.optimizers.Adam(1e-2), steps=1)
    assert_same([variable.numpy() for variable in variables], expected)


def trained_in(policy, optimizer):
    keras.utils.set_random_seed(3)
    if policy == "mixed_float16":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    layers = [keras.layers.Dense(16, "relu", dtype=policy), keras.layers.Dense(4, dtype=policy)]
    model = keras.Sequential(layers)
    model.compile(optimizer, loss="mse", jit_compile=False)
    x = np.random.default_rng(0).normal(size=(16, 8)).astype("float32")
    losses = model.fit(x, x[:, :4], epochs=20, batch_size=16, verbose=0).history["loss"]
    return model, losses


@pytest.mark.parametrize(
    "policy", thorough.number(["mixed_float16"], ["mixed_bfloat16", "mixed_float16"])
)
def test_trains_as_keras_does_in_mixed_precision(policy):
    options = dict(learning_rate=1e-2, global_clipnorm=1.0, **OPTIONS)
    model, losses = trained_in(policy, FusedAdam(**options))
    expected_model, expected = trained_in(policy, keras.optimizers.Adam(**options))
    np.testing.assert_allclose(losses, expected, rtol=1e-2)
    assert losses[-1] < 0.8 * losses[0]
    for a, b in zip(model.get_weights(), expected_model.get_weights(), strict=True):
        assert a.dtype == "float32"
        np.testing.assert_allclose(a, b, atol=1e-2)


TWO_REPLICAS_CODE = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
import keras
from keras_transformer.training.adam import FusedAdam
from test_adam import OPTIONS, SHAPES, assert_same, gradients_of_step, initial_variables

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
assert strategy.num_replicas_in_sync == 2


def trained(adam_class):
    with strategy.scope():
        variables = initial_variables()
        optimizer = adam_class(1e-2, **OPTIONS)
        optimizer.build(variables)

    @tf.function
    def step(gradients):
        strategy.run(lambda gradients: optimizer.apply(gradients, variables), args=(gradients,))

    def per_replica(halves):
        return strategy.experimental_distribute_values_from_function(
            lambda context: halves[context.replica_id_in_sync_group]
        )

    for number in range(20):
        # Unequal parts of the gradient of the step, which the optimizer adds up.
        step([per_replica([0.25 * g, 0.75 * g]) for g in gradients_of_step(number)])
    return [[copy.numpy() for copy in variable.value.values] for variable in variables]


fused, plain = trained(FusedAdam), trained(keras.optimizers.Adam)
for (first, second), (expected, _) in zip(fused, plain, strict=True):
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, expected, rtol=1e-6, atol=1e-6)
one_device = initial_variables()
optimizer = keras.optimizers.Adam(1e-2, **OPTIONS)
for number in range(20):
    optimizer.apply(gradients_of_step(number), one_device)
assert_same([copies[0] for copies in fused], [variable.numpy() for variable in one_device])
"""


def test_replicas_of_a_mirrored_strategy_stay_equal(fresh_process):
    fresh_process(TWO_REPLICAS_CODE, Path(__file__).parent)
