"""What all tests share: a quiet Keras, fixed seeds, gradients on any backend, fresh processes.

`KERAS_BACKEND=jax pytest` runs what is marked `any_backend` and does not import the rest.
"""

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
if "PYTEST_XDIST_WORKER" in os.environ:
    # A core for each worker: threads for small operations would wait for each other.
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    os.environ.setdefault("TF_NUM_INTEROP_THREADS", "1")
if os.environ["KERAS_BACKEND"] == "jax":
    # JAX compiles each operation that tests run, mostly once: compiling fast beats running fast.
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

import keras
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from keras import ops

TESTS = Path(__file__).parent
SEED = 1706
BACKEND = keras.backend.backend()

# For `references` and `layer_checks`, which several test modules use.
sys.path.insert(0, str(TESTS))
pytest.register_assert_rewrite("layer_checks")

from thorough import number  # noqa: E402

# The same examples each time, and a machine that is busy for a moment is no failure.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize=number(True, False),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")


def pytest_configure(config):
    # Keras 3.15 under NumPy 2, hundreds of times.
    config.addinivalue_line("filterwarnings", "ignore:__array__ implementation:DeprecationWarning")


def pytest_ignore_collect(collection_path):
    """Leaves alone, on another backend, the modules that may import TensorFlow."""
    if BACKEND == "tensorflow" or not collection_path.name.startswith("test_"):
        return None
    if collection_path.suffix == ".py" and "any_backend" not in collection_path.read_text("utf-8"):
        return True
    return None


def pytest_collection_modifyitems(config, items):
    if BACKEND == "tensorflow":
        return

    cases = Counter()

    def is_for_this_backend(item):
        # JAX compiles each operation for each dtype, a minute's work for a third one that takes
        # the path of bfloat16.
        if not item.get_closest_marker("any_backend") or "mixed_float16" in item.name:
            return False
        # And for each shape: of a test's cases the first one, or all in the thorough form.
        cases[item.nodeid.partition("[")[0]] += 1
        return cases[item.nodeid.partition("[")[0]] <= number(1, len(items))

    kept = [item for item in items if is_for_this_backend(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


@pytest.fixture(scope="module", autouse=True)
def _fixed_seed_of_module():
    keras.utils.set_random_seed(SEED)


@pytest.fixture(autouse=True)
def _fixed_seed():
    """Python's and NumPy's, of which Keras's follow.

    TensorFlow's would empty its cache of functions: each test would optimize those of its module
    again, for seconds.
    """
    random.seed(SEED)
    np.random.seed(SEED)


@pytest.fixture
def fresh_process():
    """Runs Python code in a new process and returns its output; fails with its errors."""

    def run(code, *arguments, backend=BACKEND):
        environment = {
            **os.environ,
            "KERAS_BACKEND": backend,
            "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)]),
        }
        command = [sys.executable, "-c", code, *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
        if done.returncode:
            pytest.fail(f"The fresh process failed:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    return run


@pytest.fixture
def gradients():
    """Differentiates `scalar(layer(*args, **kwargs))` by the layer's trainable variables.

    Returns a NumPy array, or None where there is no gradient, under each variable's path.
    """

    def tensorflow_gradients(layer, scalar, args, kwargs):
        import tensorflow as tf

        with tf.GradientTape() as tape:
            value = scalar(layer(*args, **kwargs))
        variables = [variable.value for variable in layer.trainable_variables]
        return tape.gradient(value, variables)

    def jax_gradients(layer, scalar, args, kwargs):
        import jax

        constants = [variable.value for variable in layer.non_trainable_variables]

        def value(trainable):
            outputs, _ = layer.stateless_call(trainable, constants, *args, **kwargs)
            return scalar(outputs)

        return jax.jit(jax.grad(value))([variable.value for variable in layer.trainable_variables])

    def as_array(gradient):
        if gradient is None:
            return None
        return np.asarray(ops.convert_to_numpy(ops.convert_to_tensor(gradient)), "float32")

    def run(layer, scalar, *args, **kwargs):
        backend_gradients = {"tensorflow": tensorflow_gradients, "jax": jax_gradients}[BACKEND]
        found = backend_gradients(layer, scalar, args, kwargs)
        paths = [variable.path for variable in layer.trainable_variables]
        return {path: as_array(gradient) for path, gradient in zip(paths, found, strict=True)}

    return run
