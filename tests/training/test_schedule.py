"""The learning rate against Equation 3, computed in Python."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.training.schedule import TransformerSchedule

pytestmark = pytest.mark.any_backend

STEPS = [1, 100, 4000, 4001, 100_000]


def equation_3(step, d_model=512, warmup_steps=4000):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


# JAX has no int64 unless asked for it.
@pytest.mark.filterwarnings("ignore:Explicitly requested dtype int64")
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("convert", [int, np.int64, "int32", "int64"])
def test_rate_is_equation_3(step, convert):
    # Keras counts the steps taken so far, the paper the step at hand.
    iterations = step - 1
    iterations = ops.cast(iterations, convert) if isinstance(convert, str) else convert(iterations)
    rate = TransformerSchedule(d_model=512, warmup_steps=4000)(iterations)
    assert keras.backend.standardize_dtype(rate.dtype) == "float32"
    assert float(rate) == pytest.approx(equation_3(step), rel=1e-6)


def test_the_papers_peak():
    """The base model's rate rises to 7.0e-4 at step 4,000 and falls from there."""
    schedule = TransformerSchedule(d_model=512, warmup_steps=4000)
    rates = [float(schedule(step - 1)) for step in range(3990, 4011)]
    assert int(np.argmax(rates)) == 10
    assert max(rates) == pytest.approx((512 * 4000) ** -0.5, rel=1e-6)


def test_the_first_step_has_a_rate():
    assert float(TransformerSchedule(512, 4000)(0)) == pytest.approx(512**-0.5 * 4000**-1.5)


def test_other_widths_warmups_and_factors():
    schedule = TransformerSchedule(d_model=128, warmup_steps=50, factor=2.5)
    for step in (1, 49, 50, 51, 700):
        expected = 2.5 * equation_3(step, d_model=128, warmup_steps=50)
        assert float(schedule(step - 1)) == pytest.approx(expected, rel=1e-6)


def test_an_optimizer_follows_it():
    variable = keras.Variable(np.zeros(2, "float32"))
    optimizer = keras.optimizers.SGD(TransformerSchedule(d_model=16, warmup_steps=2))
    optimizer.build([variable])
    total = 0.0
    for step in range(1, 6):
        optimizer.apply([ops.ones(2)])
        total += equation_3(step, d_model=16, warmup_steps=2)
        np.testing.assert_allclose(ops.convert_to_numpy(variable), -total, rtol=1e-5)


def test_config_round_trip():
    schedule = TransformerSchedule(d_model=128, warmup_steps=50, factor=2.5)
    serialized = keras.optimizers.schedules.serialize(schedule)
    copy = keras.optimizers.schedules.deserialize(serialized)
    assert type(copy) is TransformerSchedule
    assert copy.get_config() == schedule.get_config()
    assert float(copy(7)) == float(schedule(7))
