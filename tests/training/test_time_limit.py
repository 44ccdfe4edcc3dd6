"""A training by the clock ends when it should, on machines that are told how fast they are."""

import itertools
import math
from types import SimpleNamespace

import keras
import pytest

from keras_transformer.training.schedule import TrapezoidSchedule
from keras_transformer.training.state import TrainingState
from keras_transformer.training.strategy import ONE_DEVICE
from keras_transformer.training.time_limit import TimeLimit


def training_state(limit, replicas=ONE_DEVICE, rate=1.0):
    """What follows the clock, with next to no model."""
    model = SimpleNamespace(optimizer=keras.optimizers.SGD(rate))
    return TrainingState(model, None, None, replicas=replicas, limit=limit)


class Machine:
    """A training on a machine of which the clock is told, epoch after epoch.

    Args:
        step: Gives the seconds that a step takes, by the time of day.
        validation: Seconds after the last step of an epoch.
        trace: Seconds that the first step and the first validation of a process take besides.
        steps: Steps of an epoch.
    """

    def __init__(self, step, validation=5.0, trace=8.0, steps=100):
        self.now = 1000.0
        self.step, self.validation, self.trace, self.steps = step, validation, trace, steps
        self.shares = []
        self.epochs = 0

    def train(self, minutes, before=20.0, state=None, stop_at=math.inf):
        """Trains to the end, or to a second; returns the state that a checkpoint would have."""
        limit = TimeLimit(minutes, self.now, clock=lambda: self.now)
        training = training_state(limit)
        self.now += before
        if state is not None:
            limit.restore(state)
        step_trace = validation_trace = self.trace
        while training.time_passed < 1.0:
            training.begin_epoch()
            self.epochs += 1
            for _ in range(self.steps):
                self.now += self.step(self.now) + step_trace
                step_trace = 0.0
                training.follow_the_clock()
                self.shares.append(training.time_passed)
                if self.now >= stop_at:
                    return limit.state()
                if self.shares[-1] >= 1.0:
                    break
            self.now += self.validation + validation_trace
            validation_trace = 0.0
            training.note_end_of_epoch()
        return limit.state()


@pytest.mark.parametrize("minutes", [5, 60])
@pytest.mark.parametrize(
    "step",
    [
        lambda now: 0.1,
        # Three times as slow from the middle of the five minutes on; and slow now and then.
        lambda now: 0.1 if now < 1150 else 0.3,
        lambda now: 0.05 if now % 60 < 40 else 0.5,
    ],
)
def test_it_ends_in_time(step, minutes):
    machine = Machine(step)
    machine.train(minutes)
    assert machine.now - 1000.0 == pytest.approx(60 * minutes, rel=0.03)
    # Step by step; a validation may have taken what little was left.
    assert machine.shares[0] == 0.0
    assert machine.shares[-1] > 0.98
    assert all(
        before - 0.05 < after < before + 0.12
        for before, after in itertools.pairwise(machine.shares)
    )


def test_an_epoch_that_does_not_end_in_time():
    """The end takes as long as tracing the first step did, as far as anybody knows."""
    machine = Machine(lambda now: 0.1, validation=1.0, steps=10**6)
    machine.train(5)
    assert machine.now - 1000.0 == pytest.approx(300, rel=0.03)


def test_time_that_is_over_does_not_come_back():
    """A last validation that is shorter than was planned for leaves time, and no step follows."""
    machine = Machine(lambda now: 0.1, validation=1.0, trace=0.0, steps=10**6)
    machine.train(5)
    assert machine.epochs == 1
    assert machine.shares.index(1.0) == len(machine.shares) - 1
    assert machine.now - 1000.0 == pytest.approx(300 - (0.03 * 300 - 1.0), abs=0.2)


def test_the_last_worker_decides_when_the_time_is_over():
    now = 0.0
    limit = TimeLimit(1.0, clock=lambda: now)
    others = [2.0 / 3.0]
    together = SimpleNamespace(mean=lambda share: (share + sum(others)) / (1 + len(others)))
    schedule = TrapezoidSchedule(1.0, warmup_steps=1)
    training = training_state(limit, together, schedule)
    training.begin_epoch()
    training.follow_the_clock()
    now = 59.0
    training.follow_the_clock()
    assert training.time_passed == pytest.approx((1.0 + 2.0 / 3.0) / 2)
    assert float(schedule.time_passed) == pytest.approx(training.time_passed)
    others[:] = [1.0]
    training.follow_the_clock()
    assert training.time_passed == 1.0


def test_an_interruption_keeps_the_plan():
    """What the first process took counts; what passed while none ran does not."""
    machine = Machine(lambda now: 0.1)
    state = machine.train(10, stop_at=1300.0)
    shares, machine.now = len(machine.shares), 90_000.0
    machine.train(10, state=state)
    assert (machine.now - 90_000.0) + 300.0 == pytest.approx(600, rel=0.03)
    # A new process has 20 s before its first step, which takes 8 more: of the 560 there are.
    assert machine.shares[shares] == pytest.approx(machine.shares[shares - 1] + 28 / 560, abs=0.01)


def test_time_that_is_over_before_the_first_step():
    """There is one all the same, so that there is a model."""
    machine = Machine(lambda now: 0.1)
    machine.train(0.1)
    assert machine.shares == [1.0]


def test_a_mean_of_checkpoints_is_scored_too():
    now = iter([0.0, 10.0, 10.0, 10.0, 16.0, 16.0])
    limit = TimeLimit(1.0, averages=True, clock=lambda: next(now))
    limit.epoch_begins()
    limit.step_done()
    assert limit.left() == pytest.approx(60 - 10 - 0.03 * 60)
    limit.epoch_done()
    assert limit.left() == pytest.approx(60 - 16 - 2 * 6)
