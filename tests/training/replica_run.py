"""Trains the same model on logical CPU devices in several ways; `test_replicas.py` compares.

`python replica_run.py DEVICES OUTPUT.npz`: each way's final weights and its loss, under its name.
"""

import sys

import keras
import numpy as np
import tensorflow as tf
import thorough
from masked_batches import compiled, masked_batches, masked_dataset
from uneven_batches import CONFIG, Plain, batches_of, dataset_of

from keras_transformer import TrainingConfig, Transformer, TransformerConfig, compile_model
from keras_transformer.training import LabelSmoothedCrossEntropy
from keras_transformer.training.strategy import ONE_DEVICE, make_strategy, random_states

# Rows of each replica: of unlike number, and one replica has none.
SHARES = {2: [(0, 1), (1, 7)], 4: [(0, 4), (4, 5), (5, 7), (7, 7)]}
ROWS = 7
WHOLE = [(0, None)]
# Steps in half precision.
MANY = thorough.number(200, 500)
PRECISIONS = thorough.number(["mixed_float16"], ["mixed_float16", "mixed_bfloat16"])
WEIGHTS = np.array([2, 0, 1, 3, 1, 2, 0])


def unweighted(batch):
    return batch


def weighted(batch):
    """Gives each row a weight; what they sum up to must not matter."""
    return *batch, (WEIGHTS / 8).astype("float32")


def repeated(batch):
    """Has each row as often as its weight says."""
    return keras.tree.map_structure(lambda x: np.repeat(x, WEIGHTS, axis=0), batch)


def part(first, end):
    """Cuts an array by rows, and fills it up with rows of padding."""

    def cut(x):
        rows = x[first:end]
        missing = max(0, ROWS - len(rows))
        return np.pad(rows, [(0, missing), *[(0, 0)] * (x.ndim - 1)])

    return cut


def dataset(shares, number, change=unweighted):
    """The same batches, cut by rows; each part is filled up with rows of padding."""

    def generate():
        for batch in batches_of(ROWS, number):
            for share in shares:
                yield keras.tree.map_structure(part(*share), change(batch))

    return dataset_of(generate, weighted=change is weighted)


def sgd(model, micro_batches):
    model.compile(
        keras.optimizers.SGD(0.5, global_clipnorm=0.3),
        LabelSmoothedCrossEntropy(0.1),
        jit_compile=False,
    )
    model.optimizer.build(model.trainable_variables)
    model.micro_batches = micro_batches


def penalized(model, micro_batches):
    """Adds a loss that is not of the labels."""
    model.trainable_variables[0].regularizer = keras.regularizers.L2(0.05)
    sgd(model, micro_batches)


def adam(model, micro_batches):
    config = TrainingConfig(warmup_steps=100, micro_batches=micro_batches, ema_momentum=0.9)
    compile_model(model, config)


def fit(
    replicas,
    optimize,
    *,
    kind=Transformer,
    number=20,
    micro_batches=1,
    precision="float32",
    change=unweighted,
):
    """Returns the final weights and the loss."""
    keras.utils.set_random_seed(1)
    shares = SHARES[replicas.local] if replicas.local > 1 else WHOLE
    with replicas.scope():
        model = kind(CONFIG, dtype=precision)
        optimize(model, micro_batches)
    history = model.fit(
        replicas.distribute(lambda: dataset(shares, number, change)), verbose=0, shuffle=False
    ).history
    return [*model.get_weights(), np.array(history["loss"])]


def shown(replicas, shares):
    """Returns the metrics as they stand after each step of an epoch, and of an evaluation."""
    keras.utils.set_random_seed(1)
    with replicas.scope():
        model = compile_model(Transformer(CONFIG), TrainingConfig())
    logs_of_steps = []

    def keep(batch, logs):
        logs_of_steps.append([logs[name] for name in ("loss", "accuracy", "perplexity")])

    keeper = keras.callbacks.LambdaCallback(on_train_batch_end=keep)
    keeper.on_test_batch_end = keep
    options = {"verbose": 0, "callbacks": [keeper]}
    model.fit(replicas.distribute(lambda: dataset(shares, 3)), shuffle=False, **options)
    model.evaluate(replicas.distribute(lambda: dataset(shares, 2)), **options)
    return [np.array(logs_of_steps)]


def two_losses(replicas, shares):
    """Returns the final weights of a model with two outputs, and what was shown of it."""
    keras.utils.set_random_seed(1)
    with replicas.scope():
        model = compiled()

    def generate():
        for batch in masked_batches(ROWS, 5):
            for share in shares:
                yield keras.tree.map_structure(part(*share), batch)

    data = replicas.distribute(lambda: masked_dataset(generate))
    history = model.fit(data, verbose=0, shuffle=False).history
    return [*model.get_weights(), np.array([history[name][0] for name in sorted(history)])]


def by_the_clock(replicas, shares, number):
    """Returns the final weights of so many steps, of which the time of three is all there is."""
    keras.utils.set_random_seed(1)
    config = TrainingConfig(
        minutes=1.0,
        schedule="trapezoid",
        learning_rate_factor=0.1,
        warmup_steps=1,
        cooldown=1.0,
    )
    with replicas.scope():
        model = compile_model(Transformer(CONFIG), config)
    passed = model.optimizer._learning_rate.time_passed
    clock = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda batch, logs: passed.assign(min(1.0, batch / 3))
    )
    data = replicas.distribute(lambda: dataset(shares, number))
    model.fit(data, verbose=0, shuffle=False, callbacks=[clock])
    return model.get_weights()


def masks_differ(replicas):
    """Whether two replicas drop other units, after a step of each kind as well."""
    with replicas.scope():
        config = TransformerConfig(**{**CONFIG.__dict__, "dropout": 0.5})
        model = compile_model(Transformer(config), TrainingConfig())
    replicas.spread_random_states(model)
    model.fit(replicas.distribute(lambda: dataset(SHARES[2], 2)), verbose=0, shuffle=False)
    state = random_states(model)[0].value
    one, other = (value.numpy().tolist() for value in state.values)
    return one[0] != other[0] and one[1] == other[1] == 2


def refused(replicas):
    """Why a step is not compiled with XLA."""
    try:
        with replicas.scope():
            compile_model(Transformer(CONFIG), TrainingConfig(jit_compile=True))
    except ValueError as error:
        return str(error)
    return ""


def main():
    devices, output = int(sys.argv[1]), sys.argv[2]
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0],
        [tf.config.LogicalDeviceConfiguration()] * devices,
    )
    one, several = ONE_DEVICE, make_strategy("mirrored")
    results = {}
    for optimize in (sgd, adam):
        name = optimize.__name__
        results[f"{name} replicas"] = fit(several, optimize)
    options = {"number": 5, "micro_batches": 2, "change": weighted}
    results["sgd weighted"] = fit(several, sgd, **options)
    if devices == 2:
        results["penalized replicas"] = fit(several, penalized, number=5, micro_batches=2)
        results["penalized keras"] = fit(one, penalized, kind=Plain, number=5)
        results["sgd repeated"] = fit(one, sgd, kind=Plain, number=5, change=repeated)
        results["shown by two"] = shown(several, [(0, ROWS), (ROWS, ROWS)])
        results["shown by one"] = shown(one, WHOLE)
        results["two losses of two"] = two_losses(several, SHARES[2])
        results["two losses of one"] = two_losses(one, WHOLE)
        results["clock of two"] = by_the_clock(several, SHARES[2], number=6)
        results["clock of one"] = by_the_clock(one, WHOLE, number=3)
        for optimize in (sgd, adam):
            results[f"{optimize.__name__} keras"] = fit(one, optimize, kind=Plain)
        results["adam micro"] = fit(several, adam, micro_batches=4)
        results["xla"] = [np.array(refused(several))]
        results["masks differ"] = [np.array(masks_differ(several))]
        for precision in PRECISIONS:
            for replicas in thorough.number((several,), (one, several)):
                name = f"{precision} {replicas.local}"
                results[name] = fit(replicas, adam, number=MANY, precision=precision)
    arrays = {
        f"{name}/{index}": array
        for name, values in results.items()
        for index, array in enumerate(values)
    }
    np.savez(output, description=several.description, **arrays)


if __name__ == "__main__":
    main()
