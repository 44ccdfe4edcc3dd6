"""Where a model trains: one device, several, several machines, or a TPU.

`make_strategy` is called before anything else that uses TensorFlow, and what it returns is all that
the rest of the training knows of devices.
"""

import contextlib
import dataclasses
import functools
import json
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import keras

from keras_transformer.config import Strategy
from keras_transformer.console import say
from keras_transformer.data.batches import untuned
from keras_transformer.data.sharing import Sharing

if TYPE_CHECKING:
    import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class Replicas:
    """The replicas that train one model together.

    Args:
        description: What was found, for people.
        strategy: TensorFlow's; None for one replica, and on another backend.
        local: Replicas in this process.
        worker: This process among the workers.
        workers: Processes that train together.

    Example:
        >>> replicas = make_strategy("none")
        >>> with replicas.scope():
        ...     model = compile_model(Transformer(config.model), config.training)
        >>> history = model.fit(replicas.distribute(batches.dataset))
    """

    description: str
    strategy: "tf.distribute.Strategy | None" = None
    local: int = 1
    worker: int = 0
    workers: int = 1

    @property
    def is_chief(self) -> bool:
        """Whether this process is the one that writes."""
        return self.worker == 0

    @property
    def static_shapes(self) -> bool:
        """Whether batches must have few, whole shapes: a TPU's programs are compiled for each."""
        return type(self.strategy).__name__.startswith("TPUStrategy")

    @property
    def sharing(self) -> Sharing:
        """How they share a batch, as seen from this worker."""
        return Sharing(self.worker, self.workers, self.local, self.static_shapes)

    def scope(self) -> contextlib.AbstractContextManager[Any]:
        """Returns the context in which model and optimizer are made."""
        return self.strategy.scope() if self.strategy else contextlib.nullcontext()

    def distribute(self, make_dataset: Callable[[], "tf.data.Dataset"]) -> Any:
        """Returns a dataset for `fit` that hands consecutive batches to this worker's replicas.

        Args:
            make_dataset: Makes a dataset of the batches of this worker's replicas, in turn.
        """
        if self.strategy is None:
            return make_dataset()
        _leave_device_iterators_untuned()
        return self.strategy.distribute_datasets_from_function(lambda _: make_dataset())

    def mean(self, value: float) -> float:
        """Returns the mean of a number over the workers, who must all ask at the same point."""
        if self.strategy is None or self.workers == 1:
            return value
        import tensorflow as tf

        total = self.strategy.reduce("SUM", tf.constant([value], tf.float64), axis=None)
        return float(total[0]) / self.workers

    def agree(self, wish: bool) -> bool:
        """Returns whether any worker has a wish; all must ask at the same point."""
        return self.mean(float(wish)) > 0

    def spread_random_states(self, model: keras.Model) -> None:
        """Gives each replica dropout masks of its own; without it all of them draw the same ones.

        Args:
            model: A model whose random states are the same on each replica: new, or restored.
        """
        if self.strategy is None:
            return
        import tensorflow as tf

        def spread() -> None:
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            for state in random_states(model):
                state.assign(state + keras.ops.cast([replica, 0], state.dtype))

        strategy = self.strategy
        # As a graph; TensorFlow warns of replicas that run eagerly.
        tf.function(lambda: strategy.run(spread), autograph=False)()


ONE_DEVICE = Replicas("one device")


class WorkerLostError(RuntimeError):
    """Another worker has ended, and with it the step that all of them were in."""


@contextlib.contextmanager
def lost_workers_reported() -> Iterator[None]:
    """Turns TensorFlow's various errors about a worker that has ended into one.

    Raises:
        WorkerLostError: In their place.
    """
    import tensorflow as tf

    lost = (
        tf.errors.AbortedError,
        tf.errors.CancelledError,
        tf.errors.DeadlineExceededError,
        tf.errors.InternalError,
        tf.errors.UnavailableError,
    )
    try:
        yield
    except lost as error:
        if len(_cluster_tasks()) < 2:
            raise
        raise WorkerLostError(f"Another worker has ended: {error.message}") from error


def require_compilable() -> None:
    """Checks that XLA can compile a step for the devices of the strategy in whose scope this is.

    On several CPU devices it cannot (TensorFlow 2.21.0): neither the sum over them nor the weights
    of another one are within its reach.

    Raises:
        ValueError: If it cannot.

    Example:
        >>> with make_strategy("none").scope():
        ...     require_compilable()
    """
    import tensorflow as tf

    strategy = tf.distribute.get_strategy()
    replicas = strategy.num_replicas_in_sync
    if replicas > 1 and any("device:CPU" in name for name in strategy.extended.worker_devices):
        raise ValueError(
            "`jit_compile` must be False on several CPU devices, for which XLA compiles no step; "
            "leave it out, or train on one device (`--strategy none`) or on GPUs. Received: "
            f"jit_compile=True on {replicas} replicas"
        )


def random_states(model: keras.Model) -> list[keras.Variable]:
    """Returns the states of a model's random numbers, which Keras does not save."""
    return [value for value in model.variables if value.path.endswith("seed_generator_state")]


def make_strategy(name: Strategy = "auto") -> Replicas:
    """Makes the replicas of a training.

    Args:
        name: "none" for one device; "mirrored" for all devices of this machine; "multi_worker" for
            the processes that the environment variable TF_CONFIG lists; "tpu" for the TPU that
            TensorFlow's resolver finds; "auto" for the last of these that there is. On the JAX
            backend "mirrored" is `keras.distribution.DataParallel` over all devices.

    Raises:
        ValueError: If what is asked for is not there.

    Example:
        >>> make_strategy("none").description
        'one device'
    """
    makers: dict[str, Callable[[], Replicas]] = {
        "none": lambda: ONE_DEVICE,
        "mirrored": _mirrored,
        "multi_worker": _multi_worker,
        "tpu": _tpu,
    }
    chosen = _found() if name == "auto" else name
    if chosen not in makers:
        raise ValueError(f"`strategy` must be auto or one of {list(makers)}. Received: {name!r}")
    if keras.backend.backend() != "tensorflow":
        makers = {"none": makers["none"], "mirrored": _data_parallel}
        if chosen not in makers:
            raise ValueError(
                f"`strategy` must be auto, none or mirrored on the {keras.backend.backend()} "
                f"backend. Received: {name!r}"
            )
    return makers[chosen]()


def _found() -> str:
    if keras.backend.backend() != "tensorflow":
        return "mirrored" if len(keras.distribution.list_devices()) > 1 else "none"
    import tensorflow as tf

    if os.environ.get("TPU_NAME"):
        return "tpu"
    if len(_cluster_tasks()) > 1:
        return "multi_worker"
    return "mirrored" if len(tf.config.list_logical_devices("GPU")) > 1 else "none"


def _mirrored() -> Replicas:
    import tensorflow as tf

    devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
    kind = devices[0].device_type
    return Replicas(f"{len(devices)} replicas, one for each {kind}", strategy, len(devices))


def _multi_worker() -> Replicas:
    import tensorflow as tf

    tasks = _cluster_tasks()
    task = _cluster_config().get("task", {})
    own = (task.get("type"), task.get("index"))
    if own not in tasks:
        raise _cluster_error("`strategy` multi_worker needs")
    # Before the strategy, whose constructor waits for the other workers.
    worker = tasks.index(own)
    say(f"Worker {worker} of {len(tasks)} waits for the others")
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    local = strategy.num_replicas_in_sync // len(tasks)
    description = f"worker {worker} of {len(tasks)}, with {local} replica(s) each"
    return Replicas(description, strategy, local, worker, len(tasks))


def _leave_device_iterators_untuned() -> None:
    """Keeps TensorFlow from tuning the datasets that copy batches to devices.

    A tuning thread keeps an iterator from going away for as long as it sleeps, up to a minute: with
    several devices, as many minutes whenever iterators of earlier epochs are collected, or Python
    ends. The options of a dataset reach all but these (TensorFlow 2.21.0).
    """
    from tensorflow.python.data.ops import multi_device_iterator_ops

    create = multi_device_iterator_ops._create_device_dataset
    if hasattr(create, "__wrapped__"):
        return

    @functools.wraps(create)
    def create_untuned(*arguments: Any) -> "tf.data.Dataset":
        return create(*arguments).with_options(untuned())

    multi_device_iterator_ops._create_device_dataset = create_untuned


def _cluster_tasks() -> list[tuple[str, int]]:
    """Returns the tasks of TF_CONFIG that train, the chief first."""
    cluster = _cluster_config().get("cluster", {})
    return [
        (kind, index) for kind in ("chief", "worker") for index in range(len(cluster.get(kind, [])))
    ]


def _cluster_config() -> dict[str, Any]:
    try:
        return json.loads(os.environ.get("TF_CONFIG") or "{}")
    except json.JSONDecodeError as error:
        raise _cluster_error("Training with several workers needs") from error


def _cluster_error(who: str) -> ValueError:
    return ValueError(
        f"{who} the environment variable TF_CONFIG, which lists the workers and says which one "
        'this is: {"cluster": {"worker": ["host0:2222", "host1:2222"]}, "task": {"type": '
        f'"worker", "index": 0}}}}. Received: TF_CONFIG={os.environ.get("TF_CONFIG")!r}'
    )


def _tpu() -> Replicas:
    import tensorflow as tf

    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
    except (OSError, ValueError, tf.errors.OpError) as error:
        raise ValueError(
            "`strategy` tpu found no TPU; set TPU_NAME to its name or gRPC address. Received: "
            f"TPU_NAME={os.environ.get('TPU_NAME')!r} ({error})"
        ) from error
    strategy = tf.distribute.TPUStrategy(resolver)
    replicas = strategy.num_replicas_in_sync
    return Replicas(f"{replicas} TPU cores", strategy, replicas)


def _data_parallel() -> Replicas:
    distribution = keras.distribution.DataParallel()
    keras.distribution.set_distribution(distribution)
    devices = len(keras.distribution.list_devices())
    return Replicas(f"{devices} devices that share each batch (keras.distribution)", local=devices)
