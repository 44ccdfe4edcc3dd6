"""The training step against Keras's own on one replica, and on what that gets wrong."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import thorough
from uneven_batches import CONFIG, Plain, batches_of, dataset_of

from keras_transformer import TrainingConfig, Transformer, TransformerConfig, compile_model
from keras_transformer.training import LabelSmoothedCrossEntropy, Perplexity, TokenAccuracy


def in_order(batches):
    return dataset_of(lambda: iter(batches))


def compiled(model, optimizer, micro_batches=1):
    model.compile(
        optimizer, LabelSmoothedCrossEntropy(0.1), metrics=[TokenAccuracy()], jit_compile=False
    )
    model.optimizer.build(model.trainable_variables)
    model.micro_batches = micro_batches
    return model


def sgd():
    return keras.optimizers.SGD(0.5, global_clipnorm=0.3)


def adam():
    return keras.optimizers.Adam(0.01, 0.9, 0.98, epsilon=1e-9)


def twins(optimizer, micro_batches):
    """A model with our step and one with Keras's, of the same weights."""
    ours = compiled(Transformer(CONFIG), optimizer(), micro_batches)
    plain = compiled(Plain(CONFIG), optimizer())
    plain.set_weights(ours.get_weights())
    return ours, plain


@pytest.mark.parametrize(
    ("optimizer", "micro_batches"), thorough.number([(sgd, 1)], [(sgd, 1), (adam, 4)])
)
def test_twenty_steps_equal_those_of_keras(optimizer, micro_batches):
    """7 rows in 4 parts: their token counts differ, and the last part has a row of padding."""
    ours, plain = twins(optimizer, micro_batches)
    dataset = in_order(list(batches_of(rows=7, number=20)))
    for model in (ours, plain):
        model.fit(dataset, verbose=0, shuffle=False)
    for one, other in zip(ours.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6, rtol=0)


def test_more_parts_than_rows():
    ours, plain = twins(sgd, micro_batches=4)
    [(inputs, labels)] = batches_of(rows=2, number=1)
    for model in (ours, plain):
        model.train_on_batch(inputs, labels)
    for one, other in zip(ours.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6, rtol=0)


@pytest.mark.parametrize("shape", [(3, 8), (0, 0)], ids=["padding alone", "no row"])
def test_a_batch_without_tokens_changes_nothing(shape):
    model = compiled(Transformer(CONFIG), sgd())
    before = model.get_weights()
    empty = np.zeros(shape, "int32")
    history = model.fit(
        in_order([({"source": empty, "target": empty}, empty)]), verbose=0, shuffle=False
    ).history
    assert history["loss"] == [0.0]
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_the_loss_of_an_epoch_is_the_mean_over_its_tokens():
    """Keras's is the mean over its rows, here of batches of 6 and of 1."""
    model = compiled(Transformer(CONFIG), sgd())
    batches = [*batches_of(rows=6, number=1), *batches_of(rows=1, number=1)]
    total = count = 0
    for inputs, labels in batches:
        loss = LabelSmoothedCrossEntropy(0.1)(labels, model(inputs))
        total += float(loss) * np.count_nonzero(labels)
        count += np.count_nonzero(labels)
    assert model.evaluate(in_order(batches), verbose=0)[0] == pytest.approx(total / count)
    model.optimizer.learning_rate = 0.0
    history = model.fit(in_order(batches), verbose=0, shuffle=False).history
    assert history["loss"] == [pytest.approx(total / count)]


@pytest.mark.parametrize("micro_batches", thorough.number([4], [1, 4]))
def test_a_pair_of_weight_2_counts_as_if_it_were_there_twice(micro_batches):
    """In the gradient, the loss and the weighted metric, whatever the weights sum up to."""
    ours, plain = twins(sgd, micro_batches)
    for model in (ours, plain):
        model.compile(
            model.optimizer,
            LabelSmoothedCrossEntropy(0.1),
            metrics=[TokenAccuracy("unweighted")],
            weighted_metrics=[TokenAccuracy(), Perplexity()],
            jit_compile=False,
        )
    counts = np.array([2, 0, 1, 3, 1, 2, 0])
    for inputs, labels in batches_of(rows=7, number=3):
        repeated = keras.tree.map_structure(
            lambda x: np.repeat(x, counts, axis=0), (inputs, labels)
        )
        weights = (counts / 8).astype("float32")
        ours.train_on_batch(inputs, labels, sample_weight=weights)
        plain.train_on_batch(*repeated)
    for one, other in zip(ours.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6, rtol=0)
    found = ours.evaluate(inputs, labels, sample_weight=weights, verbose=0, return_dict=True)
    expected = plain.evaluate(*repeated, verbose=0, return_dict=True)
    for name in ("loss", "accuracy", "perplexity"):
        assert found[name] == pytest.approx(expected[name], rel=1e-5)
    # `metrics` count tokens, as everywhere in Keras, and so what the throughput is told by.
    without = ours.evaluate(inputs, labels, verbose=0, return_dict=True)
    assert found["unweighted"] == without["unweighted"]


def test_weights_of_tokens():
    """Keras's other form of `sample_weight`; here 0 for all but the first token."""
    model = compiled(Transformer(CONFIG), sgd())
    [(inputs, labels)] = batches_of(rows=3, number=1)
    weights = np.zeros(labels.shape, "float32")
    weights[:, 0] = 0.5
    first = np.where(weights > 0, labels, 0)
    found = model.evaluate(inputs, labels, sample_weight=weights, verbose=0)
    assert found[0] == pytest.approx(model.evaluate(inputs, first, verbose=0)[0], rel=1e-5)


def test_class_weights_are_refused():
    model = compiled(Transformer(CONFIG), sgd())
    [(inputs, labels)] = batches_of(rows=3, number=1)
    for train in (model.fit, model.train_on_batch):
        with pytest.raises(ValueError, match=r"`class_weight` must be None.*Received: .*\{7: 2"):
            train(inputs, labels, class_weight={7: 2.0})


def test_one_batch_by_hand():
    """`train_on_batch` passes on a weight of None."""
    ours, plain = twins(sgd, micro_batches=1)
    [(inputs, labels)] = batches_of(rows=3, number=1)
    for model in (ours, plain):
        model.train_on_batch(inputs, labels)
    for one, other in zip(ours.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6, rtol=0)


def test_the_end_of_the_data_is_no_step():
    config = TransformerConfig(**{**CONFIG.__dict__, "dropout": 0.1})
    model = compile_model(Transformer(config), TrainingConfig())
    model.fit(in_order(list(batches_of(rows=2, number=3))), epochs=2, verbose=0, shuffle=False)
    assert model.optimizer.iterations == 6
    states = [v for v in model.variables if v.path.endswith("seed_generator_state")]
    assert {int(state[1]) for state in states} == {6}


@thorough.only
def test_the_step_compiles_with_xla():
    """As a TPU asks: one program for a shape, in which nothing runs on the host."""
    [batch] = batches_of(rows=4, number=1)
    weights = []
    for jit in (False, True):
        keras.utils.set_random_seed(1)
        model = compile_model(Transformer(CONFIG), TrainingConfig(jit_compile=jit))
        step = tf.function(model.train_step, jit_compile=jit)
        step(batch)
        weights.append(model.get_weights())
    for one, other in zip(*weights, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5, rtol=0)
