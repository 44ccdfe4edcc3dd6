"""history.csv as Keras's CSVLogger writes it."""

import keras
import numpy as np

from keras_transformer.runs.history import forget_epochs, read_history


def written(path, *epochs):
    """Has Keras write the file."""
    logger = keras.callbacks.CSVLogger(path)
    logger.set_model(keras.Sequential([keras.layers.Dense(1)]))
    logger.on_train_begin()
    for epoch, logs in enumerate(epochs):
        logger.on_epoch_end(epoch, logs)
    logger.on_train_end()


def test_without_validation(tmp_path):
    """Keras has columns of validation all the same."""
    path = tmp_path / "history.csv"
    written(path, {"loss": 4.5, "accuracy": 0.1}, {"loss": 3.5, "accuracy": 0.2})
    assert "NA" in path.read_text()
    expected = {"epoch": [0.0, 1.0], "accuracy": [0.1, 0.2], "loss": [4.5, 3.5]}
    assert read_history(path) == expected
    forget_epochs(path, 1)
    assert read_history(path) == {name: values[:1] for name, values in expected.items()}


def test_what_one_epoch_did_not_measure(tmp_path):
    path = tmp_path / "history.csv"
    path.write_text("epoch,loss,val_bleu,val_loss\n0,4.5,NA,\n1,3.5,12.5,\n")
    found = read_history(path)
    assert [*found] == ["epoch", "loss", "val_bleu"]
    np.testing.assert_array_equal(found["val_bleu"], [np.nan, 12.5])


def test_before_the_first_epoch(tmp_path):
    assert read_history(tmp_path / "history.csv") == {}
    (tmp_path / "history.csv").write_text("epoch,loss\n")
    assert read_history(tmp_path / "history.csv") == {"epoch": [], "loss": []}
