"""What runs and exports are served as, and that a run's two further signatures are right."""

import dataclasses
import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from untrained_run import SMALL, untrained_run

from keras_transformer.endpoint.errors import RequestError
from keras_transformer.endpoint.models import ServedModel, open_model
from keras_transformer.endpoint.signature import Signature
from keras_transformer.export.formats import MARKS
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID
from keras_transformer.translation.attention import attention_weights

TEXTS = ["the dog", "We eat an apple."]


MODEL = dataclasses.replace(SMALL, num_layers=2, max_length=16)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "small"
    untrained_run(path, model=MODEL, beam_size=1, max_extra_tokens=3)
    return path


@pytest.fixture(scope="module")
def served(run):
    return open_model(run)


@pytest.fixture(scope="module")
def translator(served):
    return served.owner[0]


def strings(*texts):
    return np.array([text.encode() for text in texts], object)


def test_a_run(served, translator):
    assert (served.name, served.version, served.languages) == ("small", 1, ("en", "de"))
    served.warm_up(["serving_default"])
    outputs = served.signature("serving_default")({"text": strings(*TEXTS)})
    for text, translation in zip(TEXTS, outputs["translation"], strict=True):
        assert translation == greedy(translator, text, [])
    assert served.metadata["parameters"] == translator.models[0].count_params()
    with pytest.raises(RequestError, match="signature name: 'other' not found"):
        served.signature("other")


def greedy(translator, text, target):
    """Goes on with target ids, without a cache or a search, and returns the string of all."""
    [model], tokenizer = translator.models, translator.source_tokenizer
    source = tokenizer.tokenize([text]).to_tensor().numpy()
    room = source.shape[1] + translator.config.max_extra_tokens
    while len(target) < min(room, translator.graph.max_length) and target[-1:] != [EOS_ID]:
        logits = next_logits(model, source, target)
        logits[: EOS_ID if target else EOS_ID + 1] = -np.inf  # At least one token.
        target = [*target, int(np.argmax(logits))]
    [string] = tokenizer.detokenize(tf.constant([target])).numpy()
    return string


def next_logits(model, source, target):
    inputs = {"source": source, "target": np.array([[BOS_ID, *target]], "int32")}
    return np.array(model(inputs, training=False))[0, -1]


def test_alternatives(served, translator):
    """By the model's own probabilities, each continued token by token."""
    prefixes = ["der Hund", ""]
    columns = {"text": strings(*TEXTS), "prefix": strings(*prefixes)}
    found = served.signature("alternatives")(columns)
    tokenizer = translator.source_tokenizer
    for row, (text, prefix) in enumerate(zip(TEXTS, prefixes, strict=True)):
        source = tokenizer.tokenize([text]).to_tensor().numpy()
        begun = tokenizer.tokenize([prefix]).numpy()[0].tolist()[:-1]
        log_probs = np.array(
            keras.ops.log_softmax(next_logits(translator.models[0], source, begun))
        )
        log_probs[: EOS_ID + 1] = -np.inf
        best = np.argsort(-log_probs)[:5]
        np.testing.assert_allclose(found["log_probs"][row], log_probs[best], atol=1e-4)
        # The first and the last; to go on without a cache takes its time.
        for token, translation in list(zip(best, found["translations"][row], strict=True))[::4]:
            assert translation == greedy(translator, text, [*begun, int(token)])


def test_alternatives_to_what_is_too_long(served):
    texts, prefixes = ["the dog", "the dog " * 20, "the dog"], ["", "der", "der Hund " * 20]
    columns = {"text": strings(*texts), "prefix": strings(*prefixes)}
    found = served.signature("alternatives")(columns)
    assert found["truncated"].tolist() == [False, True, True]


def test_what_takes_other_things_than_strings_is_not_called_beforehand():
    ids = Signature("serving_default", {"ids": tf.TensorSpec([None], tf.int32)}, {}, pytest.fail)
    ServedModel("ids", 1, {"serving_default": ids}, {}, None).warm_up()


@pytest.mark.parametrize(
    ("decoding", "expected"),
    [
        ({}, ("en", "de")),
        ({"target_language": None}, ("en", "de")),
        ({"target_language": "de"}, ("en", "de")),
        ({"target_language": "fr"}, ("en", "fr")),
        ({"target_language": "en"}, ("de", "en")),
    ],
)
def test_the_languages_of_one_that_has_several(decoding, expected):
    metadata = {"languages": {"source": "en", "target": "de"}, "decoding": decoding}
    assert ServedModel("tagged", 1, {}, metadata, None).languages == expected


def test_attention_of_layer(served, translator):
    translations = ["der Hund schläft", "wann kommt er"]
    signature = served.signature("attention_of_layer")
    for layers in ([0, 1], [9, -1]):
        columns = {"text": strings(*TEXTS), "translation": strings(*translations)}
        found = signature({**columns, "layer": np.array(layers, np.int32)})
        assert found["layers"].tolist() == [2, 2]
        for row, (text, translation) in enumerate(zip(TEXTS, translations, strict=True)):
            expected = attention_weights(translator, text, translation)
            source, target = expected.source, expected.target
            tokens = [one.decode() for one in found["target_tokens"][row] if one]
            assert tokens == target
            weights = found["weights"][row][:, : len(target), : len(source)]
            layer = min(max(layers[row], 0), 1)
            np.testing.assert_allclose(weights, expected.weights["cross"][layer], atol=1e-5)


@pytest.fixture
def exports(tmp_path):
    """Versions 2 and 10 of a SavedModel that counts characters, and no model at all."""
    module = tf.Module()
    text = tf.TensorSpec([None], tf.string, "text")
    module.count = tf.function(lambda text: {"count": tf.strings.length(text)}, [text])
    for version in (2, 10):
        folder = tmp_path / "counts" / str(version)
        tf.saved_model.save(module, folder, signatures=module.count.get_concrete_function())
        metadata = {"languages": {"source": "en", "target": "fr"}, "parameters": version}
        (folder / "metadata.json").write_text(json.dumps(metadata))
    return tmp_path / "counts"


def test_an_export(exports):
    newest, older = open_model(exports), open_model(exports / "2")
    assert (newest.name, newest.version, newest.languages) == ("counts", 10, ("en", "fr"))
    assert (older.name, older.version, older.metadata["parameters"]) == ("counts", 2, 2)
    assert open_model(exports, "other").name == "other"
    signature = newest.signature("serving_default")
    assert signature.inputs["text"].dtype == tf.string
    assert signature({"text": strings("four", "")})["count"].tolist() == [4, 0]


def test_what_is_not_served(exports, tmp_path):
    with pytest.raises(ValueError, match=r"as it was exported.*with beam_size"):
        open_model(exports, options={"beam_size": 2})
    with pytest.raises(ValueError, match=r"as it was exported.*with checkpoint"):
        open_model(exports, checkpoint="latest")
    lite = tmp_path / "lite" / "1"
    lite.mkdir(parents=True)
    (lite / MARKS["tflite"]).touch()
    with pytest.raises(ValueError, match=r"run or an export to a SavedModel.*which is tflite"):
        open_model(lite.parent)
    with pytest.raises(FileNotFoundError):
        open_model(tmp_path / "none")
