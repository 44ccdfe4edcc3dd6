"""Several replicas train as one does: logical CPU devices, in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import thorough

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).parent / "replica_run.py"
# Two of unlike shares show what four do.
DEVICES = thorough.number([2], [2, 4])


class Results:
    """What `replica_run.py` left."""

    def __init__(self, path):
        self.arrays = np.load(path)

    def __getitem__(self, name):
        """The weights of a training, and its loss as the last of them."""
        indices = [int(key.split("/")[1]) for key in self.arrays if key.startswith(f"{name}/")]
        assert indices, name
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

    return {devices: run(devices) for devices in DEVICES}


@pytest.mark.parametrize("replicas", DEVICES)
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


def test_losses_that_layers_add_count_once(results):
    for one, other in zip(
        results[2]["penalized keras"][:-1], results[2]["penalized replicas"][:-1], strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-6, rtol=0)


def test_xla_on_two_cpu_devices_is_refused(results):
    """TensorFlow's own message speaks of resources on another device, in the first step."""
    [message] = results[2]["xla"]
    assert str(message).endswith("Received: jit_compile=True on 2 replicas")


@pytest.mark.parametrize("replicas", DEVICES)
def test_weights_of_pairs_on_replicas_with_micro_batches(results, replicas):
    """Against Keras's step on one device, with pairs as often as their weights say."""
    expected = results[2]["sgd repeated"][:-1]
    found = results[replicas]["sgd weighted"][:-1]
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6, rtol=0)


def test_replicas_follow_the_clock(results):
    """Three steps at falling rates; at those that follow, the rate is zero."""
    for one, two in zip(results[2]["clock of one"], results[2]["clock of two"], strict=True):
        np.testing.assert_allclose(one, two, atol=2e-6, rtol=0)


def test_two_losses_on_replicas(results):
    """Each over its own labels, of which the replicas have unlike shares; metrics as well."""
    pairs = zip(results[2]["two losses of one"], results[2]["two losses of two"], strict=True)
    for one, two in pairs:
        np.testing.assert_allclose(one, two, atol=2e-6, rtol=1e-5)


def test_metrics_are_shown_as_of_all_replicas_at_each_step(results):
    """Of which one has no tokens: what it returned would pull their mean towards 0."""
    [expected], [found] = results[2]["shown by one"], results[2]["shown by two"]
    assert expected.shape == (3 + 2, 3)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    "precision", thorough.number(["mixed_float16"], ["mixed_float16", "mixed_bfloat16"])
)
@pytest.mark.parametrize("replicas", thorough.number([2], [1, 2]))
def test_many_steps_in_half_precision(results, precision, replicas):
    """Finite, and as good as float32 on data that has nothing but token frequencies to learn."""
    *weights, loss = results[2][f"{precision} {replicas}"]
    assert all(np.isfinite(weight).all() for weight in weights)
    assert loss < np.log(40)


def test_each_replica_has_dropout_masks_of_its_own(results):
    assert results[2]["masks differ"][0]


def test_description(results):
    for replicas, found in results.items():
        assert found.arrays["description"] == f"{replicas} replicas, one for each CPU"
