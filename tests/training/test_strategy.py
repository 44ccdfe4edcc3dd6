"""What `make_strategy` finds, and what it says when something is missing."""

import json
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
import tensorflow as tf
import thorough

from keras_transformer import RunConfig, TrainingConfig, Transformer, TransformerConfig
from keras_transformer.tasks import train
from keras_transformer.training.optimizer import compile_model
from keras_transformer.training.strategy import Replicas, make_strategy, require_compilable

WORKERS = {"cluster": {"worker": ["localhost:1", "localhost:2"]}}

JAX = """
import keras
import numpy as np
from keras_transformer import TrainingConfig, Transformer, TransformerConfig, compile_model
from keras_transformer.training.strategy import make_strategy

def train(name):
    replicas = make_strategy(name)
    keras.utils.set_random_seed(1)
    with replicas.scope():
        model = Transformer(TransformerConfig(
            vocab_size=40, num_layers=1, d_model=16, d_ff=32, num_heads=2, dropout=0.0))
        compile_model(model, TrainingConfig(warmup_steps=100, clip_norm=1.0))
    rng = np.random.default_rng(3)
    ids = rng.integers(4, 40, (80, 8)).astype("int32")
    ids[np.arange(8) >= rng.integers(1, 9, (80, 1))] = 0
    model.fit({"source": ids, "target": ids}, ids, batch_size=8, shuffle=False, verbose=0)
    return replicas.description, model.get_weights()

_, one = train("none")
description, two = train("auto")
keras.distribution.set_distribution(None)
print(description)
print(max(abs(a - b).max() for a, b in zip(one, two)))
"""


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch):
    for name in ("TF_CONFIG", "TPU_NAME"):
        monkeypatch.delenv(name, raising=False)


def test_one_device_is_no_strategy():
    """One CPU: no strategy, whose step would be traced for each replica."""
    for name in ("auto", "none"):
        replicas = make_strategy(name)
        assert replicas == Replicas("one device")
        assert (replicas.is_chief, replicas.local, replicas.workers) == (True, 1, 1)
        assert replicas.distribute(lambda: "a dataset") == "a dataset"
        with replicas.scope():
            pass


@pytest.mark.parametrize("config", [None, "{}", '{"task": {"type": "worker", "index": 0}}'])
def test_workers_without_a_cluster(monkeypatch, config):
    if config is not None:
        monkeypatch.setenv("TF_CONFIG", config)
    with pytest.raises(ValueError, match=r"multi_worker needs .* Received: TF_CONFIG"):
        make_strategy("multi_worker")


@pytest.mark.parametrize(
    "config",
    ["{", json.dumps({**WORKERS, "task": {"type": "worker", "index": 2}}), json.dumps(WORKERS)],
    ids=["no JSON", "no such worker", "no task"],
)
def test_a_malformed_cluster(monkeypatch, config):
    monkeypatch.setenv("TF_CONFIG", config)
    with pytest.raises(ValueError, match="TF_CONFIG"):
        make_strategy("auto")


def test_no_tpu(monkeypatch):
    """As TensorFlow's resolver fails where the metadata server of a cloud is not there."""
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver

    def connect():
        raise URLError("name or service not known")

    monkeypatch.setattr(resolver, "connect", connect)
    monkeypatch.setenv("TPU_NAME", "no-such-tpu")
    with pytest.raises(ValueError, match=r"`strategy` tpu found no TPU; .* TPU_NAME='no-such-tpu'"):
        make_strategy("auto")


def test_no_iterator_over_devices_is_tuned(monkeypatch):
    """The thread that would tune it keeps it from going away for up to a minute."""
    from tensorflow.python.data.ops.iterator_ops import OwnedIterator

    tuned, make = [], OwnedIterator.__init__

    def note(self, dataset=None, *arguments, **options):
        tuned.append(dataset.options().autotune.enabled)
        make(self, dataset, *arguments, **options)

    monkeypatch.setattr(OwnedIterator, "__init__", note)
    replicas = make_strategy("mirrored")
    distributed = replicas.distribute(lambda: tf.data.Dataset.range(4).batch(2))
    assert [part.numpy().tolist() for part in distributed] == [[0, 1], [2, 3]]
    assert tuned == [False]


def test_an_unknown_name():
    with pytest.raises(ValueError, match=r"`strategy` must be auto or one of .* Received: 'gpu'"):
        make_strategy("gpu")


@thorough.only
def test_jax_devices_share_a_batch(fresh_process, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
    description, difference = fresh_process(JAX, backend="jax").split("\n")[-3:-1]
    assert description == "2 devices that share each batch (keras.distribution)"
    assert float(difference) < 1e-6
    assert np.isfinite(float(difference))


def test_jax_has_no_workers(fresh_process):
    code = """
from keras_transformer.training.strategy import make_strategy
try:
    make_strategy("tpu")
except ValueError as error:
    print(error)
"""
    assert "auto, none or mirrored on the jax backend" in fresh_process(code, backend="jax")


@pytest.fixture
def in_scope_of(monkeypatch):
    """Makes a strategy with replicas on some devices the one in scope."""

    def enter(*devices):
        strategy = SimpleNamespace(
            num_replicas_in_sync=2, extended=SimpleNamespace(worker_devices=devices)
        )
        monkeypatch.setattr(tf.distribute, "get_strategy", lambda: strategy)

    return enter


CPUS = [f"/job:localhost/replica:0/task:0/device:CPU:{index}" for index in range(2)]
REFUSED = r"`jit_compile` must be False on several CPU devices.*`--strategy none`.*2 replicas"


@pytest.mark.parametrize("devices", [CPUS, CPUS[:1]], ids=["one worker", "of two workers"])
def test_xla_on_several_cpu_devices_is_refused(in_scope_of, tmp_path, devices):
    """Before a corpus is read, and of a model of one's own when it is compiled."""
    training = TrainingConfig(jit_compile=True)
    model = Transformer(TransformerConfig.preset("tiny", vocab_size=20))
    in_scope_of(*devices)
    with pytest.raises(ValueError, match=REFUSED):
        train(tmp_path / "run", RunConfig(training=training))
    assert not (tmp_path / "run").exists()
    with pytest.raises(ValueError, match=REFUSED):
        compile_model(model, training)


def test_xla_where_it_works(in_scope_of):
    model = Transformer(TransformerConfig.preset("tiny", vocab_size=20))
    compile_model(model, TrainingConfig(jit_compile=True))  # On one CPU device.
    in_scope_of(*(device.replace("CPU", "GPU") for device in CPUS))
    require_compilable()
