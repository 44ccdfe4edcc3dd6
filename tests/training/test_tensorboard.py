"""What TensorBoard is given to show beside scalars, read back from its files."""

import numpy as np
import tensorflow as tf
from tensorflow.core.util import event_pb2

from keras_transformer.tasks.translation.bleu_callback import ValidationBleu
from keras_transformer.training.task import Scoring
from keras_transformer.training.tensorboard import LogSamples
from keras_transformer.translation.results import Attention


def values(folder):
    """Yields step, name and value of all that was written."""
    for file in folder.rglob("events*"):
        for record in tf.data.TFRecordDataset(str(file)):
            event = event_pb2.Event.FromString(record.numpy())
            for value in event.summary.value:
                yield event.step, value.tag, tf.make_ndarray(value.tensor)


def test_texts_and_pictures_of_each_epoch(tmp_path):
    pixels = np.arange(24, dtype="uint8").reshape(2, 4, 3)

    class Shown(Scoring):
        def pictures(self):
            return {"attention": tf.io.encode_png(pixels).numpy()}

    scoring = Shown()
    log = LogSamples(tmp_path, scoring)
    for epoch, report in enumerate(["valid: BLEU 1\n  source a", "valid: BLEU 2", ""]):
        scoring.report = report
        log.on_epoch_end(epoch)
    found = list(values(tmp_path / "validation"))
    texts = [(step, value.item().decode()) for step, tag, value in found if tag == "samples"]
    assert texts == [(0, "    valid: BLEU 1\n      source a"), (1, "    valid: BLEU 2")]
    images = [(step, value) for step, tag, value in found if tag == "attention"]
    assert [step for step, _ in images] == [0, 1, 2]
    # Width, height, PNG.
    np.testing.assert_array_equal(tf.io.decode_png(images[0][1][2]), pixels)


def test_a_validation_draws_its_first_sentence():
    asked = []

    def attend(line):
        asked.append(line)
        return Attention(["a"], ["b", "c"], np.ones((2, 1), "float32"), [(0, 0), (0, 1)])

    pairs = [("a dog", "ein Hund"), ("a cat", "eine Katze")]
    scoring = ValidationBleu(lambda lines: list(lines), pairs, attend=attend)
    assert scoring.pictures()["attention"].startswith(b"\x89PNG")
    assert asked == ["a dog"]
    assert ValidationBleu(lambda lines: list(lines), pairs).pictures() == {}


def test_an_empty_translation_has_no_picture():
    def attend(line):
        return Attention(["a"], [], np.ones((0, 1), "float32"), [])

    scoring = ValidationBleu(lambda lines: list(lines), [("a dog", "ein Hund")], attend=attend)
    assert scoring.pictures() == {}


def test_a_picture_that_fails_ends_no_training(tmp_path, capsys):
    class Failing(Scoring):
        def pictures(self):
            raise RuntimeError("no font")

    scoring = Failing()
    scoring.report = "valid: BLEU 1"
    LogSamples(tmp_path, scoring).on_epoch_end(0)
    assert "No picture for TensorBoard after epoch 1: no font" in capsys.readouterr().out
    assert [tag for _, tag, _ in values(tmp_path / "validation")] == ["samples"]
