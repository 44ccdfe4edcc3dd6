"""A model with two outputs: each loss is a mean over its own labels, and both are added up."""

import keras
import numpy as np
import pytest
from masked_batches import compiled, masked_batches, masked_dataset
from references import softmax, to_numpy

pytestmark = pytest.mark.any_backend

ROWS = 7


def expected_metrics(model, inputs, labels):
    found = {}
    for name, logits in model(inputs, training=False).items():
        real, logits = labels[name] > 0, to_numpy(logits).astype("float64")
        right = np.take_along_axis(softmax(logits), labels[name][..., None], -1)[..., 0]
        found[f"{name}_loss"] = -np.log(right[real]).mean()
        found[f"{name}_accuracy"] = (logits.argmax(-1) == labels[name])[real].mean()
    return {**found, "loss": found["masked_loss"] + found["next_loss"]}


def test_losses_and_metrics_are_those_of_the_formulas():
    [(inputs, labels)] = masked_batches(ROWS, 1)
    model = compiled()
    expected = expected_metrics(model, inputs, labels)
    options = {"batch_size": ROWS, "verbose": 0}
    found = model.evaluate(inputs, labels, return_dict=True, **options)
    assert found == pytest.approx(expected, rel=1e-4)
    history = model.fit(inputs, labels, shuffle=False, **options).history
    assert {name: value for name, [value] in history.items()} == pytest.approx(expected, rel=1e-4)
    after = expected_metrics(model, inputs, labels)
    assert after["loss"] < expected["loss"]


def test_losses_that_layers_add_are_added():
    [(inputs, labels)] = masked_batches(ROWS, 1)
    model = compiled()
    weight = model.trainable_variables[0]
    weight.regularizer = keras.regularizers.L2(0.05)
    expected = expected_metrics(model, inputs, labels)["loss"]
    expected += 0.05 * (to_numpy(weight).astype("float64") ** 2).sum()
    options = {"batch_size": ROWS, "verbose": 0}
    found = model.evaluate(inputs, labels, return_dict=True, **options)["loss"]
    assert found == pytest.approx(expected, rel=1e-5)
    [found] = model.fit(inputs, labels, shuffle=False, **options).history["loss"]
    assert found == pytest.approx(expected, rel=1e-5)


def test_a_change_elsewhere_changes_no_loss():
    """Words that are not to be predicted, and those of padding, count for nothing."""
    [(inputs, labels)] = masked_batches(ROWS, 1)
    model = compiled()
    elsewhere = {**labels, "masked": labels["masked"].copy()}
    more = {name: np.pad(x, [(0, 0), (0, 4)]) for name, x in inputs.items()}
    elsewhere["masked"] = np.pad(elsewhere["masked"], [(0, 0), (0, 4)])
    more["places"][:, 5:] = 3
    options = {"batch_size": ROWS, "verbose": 0, "return_dict": True}
    one = model.evaluate(inputs, labels, **options)
    assert model.evaluate(more, elsewhere, **options) == pytest.approx(one, rel=1e-5)


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="micro-batches are TensorFlow's"
)
def test_parts_of_a_batch_give_the_gradient_of_the_whole():
    """Parts of unlike numbers of labels, and one row more of padding."""
    weights, shown = [], []
    for parts in (1, 4):
        keras.utils.set_random_seed(1)
        model = compiled(micro_batches=parts)
        data = masked_dataset(lambda: masked_batches(ROWS, 3))
        shown.append(model.fit(data, verbose=0).history)
        weights.append(model.get_weights())
    for one, other in zip(*weights, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-6)
    assert {k: v[0] for k, v in shown[0].items()} == pytest.approx(
        {k: v[0] for k, v in shown[1].items()}, rel=1e-5
    )
