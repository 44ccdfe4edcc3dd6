"""Several replicas train as one does: logical CPU devices, in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).parent / "replica_run.py"


class Results:
    """What `replica_run.py` left."""

    def __init__(self, path):
        self.arrays = np.load(path)

    def __getitem__(self, name):
        """The weights of a training, and its loss as the last of them."""
        indices = [int(key.split("/")[1]) for key in self.arrays if key.startswith(f"{name}/")]
        return [self.arrays[f"{name}/{index}"] for index in sorted(indices)]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Results by number of replicas."""
    folders = [str(ROOT), str(ROOT / "tests")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}

    def run(devices):
        path = tmp_path_factory.mktemp("replicas") / "results.npz"
        command = [sys.executable, str(SCRIPT), str(devices), str(path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return Results(path)

    return {2: run(2), 4: run(4)}


@pytest.mark.parametrize("replicas", [2, 4])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_replicas_equal_keras_on_the_joined_batch(results, replicas, optimizer):
    """SGD with clipping, so that a norm taken before the reduction would show."""
    expected = results[2][f"{optimizer} keras"][:-1]
    found = results[replicas][f"{optimizer} replicas"][:-1]
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6, rtol=0)


def test_replicas_with_micro_batches(results):
    for one, other in zip(
        results[2]["adam keras"][:-1], results[2]["adam micro"][:-1], strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-6, rtol=0)


@pytest.mark.parametrize("precision", ["mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("replicas", [1, 2])
def test_500_steps_in_half_precision(results, precision, replicas):
    """Finite, and as good as float32 on data that has nothing but token frequencies to learn."""
    *weights, loss = results[2][f"{precision} {replicas}"]
    assert all(np.isfinite(weight).all() for weight in weights)
    assert loss < np.log(40)


def test_each_replica_has_dropout_masks_of_its_own(results):
    assert results[2]["masks differ"][0]


def test_description(results):
    for replicas, found in results.items():
        assert found.arrays["description"] == f"{replicas} replicas, one for each CPU"
