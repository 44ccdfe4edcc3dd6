"""How many parts a batch is cut into, and what that goes by."""

import math
import subprocess

import pytest

from keras_transformer import RunConfig, TrainingConfig, TransformerConfig
from keras_transformer.data.bucketing import BucketPlan, Shape
from keras_transformer.tasks.trial_step import measure_peak
from keras_transformer.training.memory import available_memory, fewest_micro_batches

MODEL = TransformerConfig(
    vocab_size=4000, num_layers=1, d_model=32, d_ff=64, num_heads=2, max_length=64
)
CONFIG = RunConfig(MODEL)
PLAN = BucketPlan((Shape(64, 8, 8), Shape(16, 32, 32), Shape(8, 64, 64)))


def floats_of(shape):
    return MODEL.floats_of_pair(shape.source, shape.target)


@pytest.mark.parametrize(
    ("available", "expected"),
    [(700.0, 1), (699.0, 2), (400.0, 2), (399.0, 4), (250.0, 4), (249.0, 8), (175.0, 8)],
)
def test_the_parts_double_until_a_step_fits(available, expected, capsys):
    """A step that takes 100 bytes, and 600 more for a whole batch."""
    tried = []

    def peak_of(parts, shape):
        tried.append(parts)
        return 100 + 600 / parts

    found = fewest_micro_batches(floats_of, PLAN, peak_of, 1.0, available)
    assert found == expected
    assert tried == [2**i for i in range(len(tried))]
    assert tried[-1] == expected
    assert len(capsys.readouterr().out.splitlines()) == len(tried)


def test_a_share_of_the_memory():
    assert fewest_micro_batches(floats_of, PLAN, lambda parts, shape: 100, 0.5, 200.0) == 1
    assert fewest_micro_batches(floats_of, PLAN, lambda parts, shape: 200 / parts, 0.5, 199.0) == 4


def test_the_shape_that_takes_the_most():
    """Of a whole batch the one with the most attention, whose rows then have no rival."""
    shapes = []

    def peak_of(parts, shape):
        shapes.append(shape)
        return math.inf if parts < 64 else 0

    tall = BucketPlan((Shape(1000, 8, 8), Shape(2, 64, 64)))
    assert fewest_micro_batches(floats_of, tall, peak_of, available=1.0) == 64
    # In 64 parts there are 16 short rows or a long one.
    assert shapes == [Shape(1000, 8, 8)] * 7
    with pytest.raises(ValueError, match="a pair of 64 "):
        fewest_micro_batches(floats_of, tall, lambda *_: math.inf, available=1.0)


def test_a_gpu_on_which_a_whole_batch_does_not_fit():
    """There the memory at hand counts as infinite, and so does what a failed trial took."""

    def peak_of(parts, shape):
        return math.inf if parts < 4 else 2.0**40

    assert fewest_micro_batches(floats_of, PLAN, peak_of, available=math.inf) == 4


def test_not_even_one_row_fits(capsys):
    message = r"Not even one sentence pair.*a pair of 64 \+ 64 tokens takes 3.00 GiB of 0.80 GiB"
    with pytest.raises(ValueError, match=message):
        fewest_micro_batches(floats_of, PLAN, lambda *_: 3 * 2**30, available=2**30)
    # 8 rows of the longest shape are one row each in 8 parts; 64 short ones cost no more then.
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_a_real_step():
    """Logits of 256 x 32 x 4000 floats, of which a step has several, are most of what it takes."""
    config = RunConfig(MODEL, training=TrainingConfig(freeze=("encoder",)))
    logits = 256 * 32 * 4000 * 4
    assert 3 * logits < measure_peak(config, 1, Shape(256, 32, 32)) < 12 * logits


@pytest.mark.parametrize("code", [-9, -6])
def test_a_trial_that_was_killed_took_too_much(monkeypatch, code):
    ended = subprocess.CompletedProcess([], code, stdout="", stderr="")
    monkeypatch.setattr(subprocess, "run", lambda *_, **options: ended)
    assert measure_peak(CONFIG, 1, Shape(1, 2, 2)) == math.inf


def test_a_trial_that_failed_for_another_reason(monkeypatch):
    ended = subprocess.CompletedProcess([], 1, stdout="", stderr="the reason")
    monkeypatch.setattr(subprocess, "run", lambda *_, **options: ended)
    with pytest.raises(RuntimeError, match="the reason"):
        measure_peak(CONFIG, 1, Shape(1, 2, 2))


@pytest.fixture
def machine(tmp_path):
    """Writes the files of a Linux system; 8 GiB are free."""

    def write(files):
        files = {"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    8388608 kB\n", **files}
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


GROUP = "sys/fs/cgroup"


def test_memory_without_control_groups(machine):
    assert available_memory(machine({"proc/self/cgroup": "0::/\n"})) == 8 * 2**30


def test_control_groups_of_version_2(machine):
    """The limit of a parent holds as well; "max" is none; cached files do not count."""
    files = {
        "proc/self/cgroup": "0::/jobs/one\n",
        f"{GROUP}/jobs/one/memory.max": "max\n",
        f"{GROUP}/jobs/memory.max": "5000\n",
        f"{GROUP}/jobs/memory.current": "3000\n",
        f"{GROUP}/jobs/memory.stat": "anon 1\ninactive_file 700\n",
    }
    assert available_memory(machine(files)) == 5000 - 3000 + 700


def test_control_groups_of_version_1(machine):
    files = {
        "proc/self/cgroup": "8:pids:/\n4:memory:/jobs\n0::/\n",
        f"{GROUP}/memory/memory.limit_in_bytes": "9223372036854771712\n",
        f"{GROUP}/memory/memory.usage_in_bytes": "1\n",
        f"{GROUP}/memory/memory.stat": "total_inactive_file 1\n",
        f"{GROUP}/memory/jobs/memory.limit_in_bytes": "4000\n",
        f"{GROUP}/memory/jobs/memory.usage_in_bytes": "1000\n",
        f"{GROUP}/memory/jobs/memory.stat": "inactive_file 9\ntotal_inactive_file 50\n",
    }
    assert available_memory(machine(files)) == 4000 - 1000 + 50


def test_this_machine():
    assert 0 < available_memory() < 2**50


def test_a_system_that_does_not_say(tmp_path):
    with pytest.raises(ValueError, match=r"`micro_batches=0` needs to know the memory at hand"):
        available_memory(tmp_path)
