"""What is shown of a training, by a clock and a place that are told."""

import re
from types import SimpleNamespace

import pytest

from keras_transformer import TrainingConfig
from keras_transformer.config.run import RUN_CONFIGS
from keras_transformer.runs.progress import Progress
from keras_transformer.training import reporting
from keras_transformer.training.reporting import ReportProgress, listed
from keras_transformer.training.task import Scoring
from keras_transformer.training.time_limit import TimeLimit

METRICS = {"accuracy": 0.25, "loss": 6.12345, "tokens_per_second": 12345.6}


class Training:
    """Steps of a training and what is reported of them.

    Args:
        as_bar: Whether standard output is a terminal.
        length: What is known of an epoch's length.
        step: The step that it continues from, in the midst of an epoch.
        minutes: The time that it has.
        **config: Of `TrainingConfig`.
    """

    def __init__(self, monkeypatch, as_bar=False, length=100, step=0, minutes=None, **config):
        monkeypatch.setattr(reporting, "is_terminal", lambda: as_bar)
        monkeypatch.setenv("COLUMNS", "80")
        self.now = 0.0
        limit = None if minutes is None else TimeLimit(minutes, clock=lambda: self.now)
        self.state = SimpleNamespace(progress=Progress(step=step, batch=step), limit=limit)
        self.scoring = Scoring()
        config = TrainingConfig(**{"epochs": 3, "minutes": minutes, **config})
        self.report = ReportProgress(
            self.state, config, lambda: length, self.scoring, clock=lambda: self.now
        )
        self.report.on_epoch_begin(0)

    def step(self, count=1, seconds=1.0):
        for index in range(count):
            self.now += seconds
            self.state.progress = self.state.progress.after_batch()
            self.report.on_train_batch_end(index, METRICS)

    def end(self, **metrics):
        self.state.progress = self.state.progress.after_epoch(None)
        self.report.on_epoch_end(0, {**METRICS, **metrics})


def lines_of(capsys):
    """The lines of a log, without the time of day that each begins with."""
    lines = capsys.readouterr().out.splitlines()
    stamp = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ")
    assert all(stamp.match(line) for line in lines)
    return [stamp.sub("", line) for line in lines]


def test_a_log_gets_a_line_now_and_then(monkeypatch, capsys):
    """The first step takes 20 s, as it is compiled, and each of the others 1 s."""
    training = Training(monkeypatch)
    training.step(seconds=20.0)
    training.step(count=60)
    training.end(val_loss=5.5)
    metrics = "loss 6.123, 12,346 tokens/s, accuracy 0.25"
    assert lines_of(capsys) == [
        f"Epoch 1/3, step 1/100: {metrics}",
        f"Epoch 1/3, step 31/100, 01:09 left: {metrics}",
        f"Epoch 1/3, step 61/100, 00:39 left: {metrics}",
        f"Epoch 1/3 took 01:20: {metrics}, val_loss 5.5",
    ]


def test_a_terminal_gets_a_bar(monkeypatch, capsys):
    training = Training(monkeypatch, as_bar=True, length=10)
    training.step(count=5)
    training.step(count=5, seconds=0.01)
    training.report.on_test_begin()
    training.end(val_loss=5.5)
    bar, epoch, end = capsys.readouterr().out.split("\n")
    steps = bar.split("\r")[1:]
    assert {len(step) for step in steps} == {79}, "each covers the one before it"
    assert [step.split(":")[0].rstrip() for step in steps[:2]] == [
        "Epoch 1/3 [==..................] 1/10",
        "Epoch 1/3 [====................] 2/10, 00",
    ]
    assert steps[4].startswith(f"Epoch 1/3 [{'=' * 10}{'.' * 10}] 5/10, 00:05 left: loss 6.123, ")
    # Looked at ten times a second, and whole in the end.
    assert len(steps) == 6
    assert steps[5].startswith(f"Epoch 1/3 [{'=' * 20}] 10/10: loss 6.123, 12,346 tokens/s, acc")
    assert epoch == "Epoch 1/3 took 00:05: loss 6.123, 12,346 tokens/s, accuracy 0.25, val_loss 5.5"
    assert end == ""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"length": None}, "step 2:"),
        # An estimate that was too low.
        ({"length": 1}, "step 2/2, 00:00 left:"),
        ({"max_steps": 12}, "step 2/12, 00:10 left:"),
        # Continued after 40 batches.
        ({"step": 40}, "step 42/100, 00:58 left:"),
        ({"step": 40, "max_steps": 50}, "step 42/50, 00:08 left:"),
    ],
    ids=str,
)
def test_what_is_left(monkeypatch, capsys, options, expected):
    monkeypatch.setattr(reporting, "_IN_A_LOG", 1.0)
    Training(monkeypatch, **options).step(count=2)
    assert lines_of(capsys)[-1].startswith(f"Epoch 1/3, {expected}")


@pytest.mark.parametrize("as_bar", [False, True])
def test_what_a_time_allows(monkeypatch, capsys, as_bar):
    """Of 10 minutes 3 percent are for the end; the first step takes 20 s, the others 2 s each."""
    training = Training(monkeypatch, as_bar, minutes=10.0, epochs=None)
    training.step(seconds=20.0)
    training.step(count=30, seconds=2.0)
    lines = capsys.readouterr().out.splitlines()
    left = 600 - 18 - 20 - 3 * 2  # When three steps have shown how fast they are.
    forecast = "In the 09:16 that are left, less what validations take, about 278 more steps, "
    assert left == 9 * 60 + 16 == 2 * 278
    assert [line for line in lines if "In the" in line] == [f"{forecast}2.8 epochs, are trained"]
    shown = re.findall(r"(\d\d:\d\d) left in all", "".join(lines))
    assert (shown[0], shown[-1]) == ("09:22", "08:22")
    assert any(("Epoch 1 [" if as_bar else "Epoch 1, step 1/100") in line for line in lines)


def test_a_time_that_is_over_before_steps_are_measured(monkeypatch, capsys):
    """Of half a minute the first step takes 35 s."""
    training = Training(monkeypatch, minutes=0.5, epochs=None)
    training.step(seconds=35.0)
    training.step()
    lines = capsys.readouterr().out.splitlines()
    over = "The time is over at step 1; with more (`--time`), more steps are trained"
    assert [line for line in lines if "time" in line] == [over]


def test_what_a_scoring_shows_is_shown_once(monkeypatch, capsys):
    """After a step at which a checkpoint was scored, and after the epoch."""
    training = Training(monkeypatch)
    training.scoring.report = "within"
    training.step(count=3)
    training.scoring.report = "after"
    training.end()
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "within"
    assert lines[-1] == "after"
    assert len(lines) == 4


def test_an_epoch_without_a_step(monkeypatch, capsys):
    """Resumed between the last step and its validation."""
    for as_bar in (False, True):
        Training(monkeypatch, as_bar=as_bar).end()
        assert "Epoch 1/3 took 00:00: loss 6.123" in capsys.readouterr().out


def test_metrics_in_a_line():
    assert listed({"val_loss": 1e-5, "perplexity": 466.25}) == "val_loss 1e-05, perplexity 466.2"
    assert listed({}) == ""


def test_speed_in_what_the_task_counts():
    assert listed(METRICS, RUN_CONFIGS["classification"].counted).startswith(
        "loss 6.123, 12,346 labels/s, "
    )
    assert RUN_CONFIGS["translation"].counted == RUN_CONFIGS["masked_lm"].counted == "tokens"
