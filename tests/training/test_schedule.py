"""The learning rate against Equation 3, computed in Python, and against lines of a trapezoid."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import TrainingConfig
from keras_transformer.training.optimizer import make_optimizer
from keras_transformer.training.schedule import TransformerSchedule, TrapezoidSchedule

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


def rates(schedule, steps):
    return [float(schedule(step)) for step in steps]


def test_a_trapezoid_is_three_lines():
    """The step that is taken is counted in the warm-up, those before it in what has passed."""
    steps = [0, 1, 49, 98, 99, 100, 400, 799, 800, 850, 999, 1000, 5000]
    schedule = TrapezoidSchedule(0.002, warmup_steps=100, cooldown=0.2, max_steps=1000)
    rise = np.interp(np.array(steps) + 1, [0, 100], [0, 0.002])
    fall = np.interp(steps, [800, 1000], [0.002, 0])
    np.testing.assert_allclose(rates(schedule, steps), np.minimum(rise, fall), atol=1e-9)


@pytest.mark.parametrize("by_the_clock", [False, True])
def test_a_training_that_is_short_for_its_warmup(by_the_clock):
    """A tenth of it is warm-up, whether its end is a step or a time."""
    schedule = TrapezoidSchedule(
        0.5, warmup_steps=10**6, cooldown=0.5, max_steps=None if by_the_clock else 200
    )
    for step in (10, 20, 60, 100, 150, 190, 200):
        schedule.time_passed.assign(step / 200 if by_the_clock else 0.0)
        expected = np.interp(step, [0, 20, 100, 200], [0, 0.5, 0.5, 0])
        assert float(schedule(step)) == pytest.approx(expected, abs=1e-6)


def test_what_ends_first_counts():
    schedule = TrapezoidSchedule(1.0, warmup_steps=1, cooldown=1.0, max_steps=100)
    schedule.time_passed.assign(0.75)
    assert rates(schedule, [50, 90]) == pytest.approx([0.25, 0.1])


def test_a_trapezoid_without_an_end_stays_at_its_height():
    training = TrainingConfig(schedule="trapezoid", warmup_steps=25, cooldown=0.0)
    optimizer = make_optimizer(64, training)
    schedule = optimizer._learning_rate
    # Equation 3's height, at the end of its warm-up.
    height = equation_3(25, d_model=64, warmup_steps=25)
    expected = [height / 25, height, height, height]
    assert rates(schedule, [0, 24, 25, 10**6]) == pytest.approx(expected)
    copy = keras.optimizers.schedules.deserialize(keras.optimizers.schedules.serialize(schedule))
    assert copy.get_config() == schedule.get_config()


def test_an_optimizer_follows_the_clock():
    """The variable is read at each step, also where the step is compiled."""
    variable = keras.Variable(np.zeros(1, "float32"))
    schedule = TrapezoidSchedule(1.0, warmup_steps=1, cooldown=1.0)
    optimizer = keras.optimizers.SGD(schedule)
    optimizer.build([variable])
    for passed in (0.0, 0.25, 0.5):
        schedule.time_passed.assign(passed)
        optimizer.apply([ops.ones(1)])
    assert float(variable[0]) == pytest.approx(-(1.0 + 0.75 + 0.5))
