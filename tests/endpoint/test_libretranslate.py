"""LibreTranslate's routes, with a client that others wrote, and what that does not send."""

import http.client
import json
from urllib.parse import urlencode

import numpy as np
import pytest
import tensorflow as tf
from endpoint_server import serve

from keras_transformer.endpoint.languages import identify
from keras_transformer.endpoint.models import ServedModel
from keras_transformer.endpoint.signature import Signature

client = pytest.importorskip("libretranslate_aio", reason="libretranslate-aio is not installed")


def model(source, target, name=None):
    """One whose translations tell who made them, and of which there are two, where it has three."""

    def translate(text):
        return {"translation": tf.strings.join([text, f" in {name or target}"])}

    def nbest(text):
        translations = tf.stack([tf.strings.join([text, f" {i}"]) for i in range(3)], 1)
        scores = np.float32([[-1.0, -2.0, np.finfo(np.float32).min]])
        return {"translations": translations, "scores": tf.repeat(scores, tf.size(text), 0)}

    text = {"text": tf.TensorSpec([None], tf.string)}
    signatures = {
        "serving_default": Signature("serving_default", text, {}, translate),
        "nbest": Signature("nbest", text, {}, nbest),
    }
    metadata = {"languages": {"source": source, "target": target}} if source else {}
    return ServedModel(name or f"{source}-{target}", 1, signatures, metadata, None)


MODELS = [
    model("en", "de"),
    model("en", "fr"),
    model("de", "en"),
    model("en", "de", "another"),
    model(None, None, "silent"),
]


@pytest.fixture(scope="module")
def address():
    with serve(MODELS) as found:
        yield found


@pytest.fixture
def libre(address):
    with client.LibreTranslate(f"http://{address}") as found:
        yield found


class TestClient:
    def test_languages(self, libre):
        found = {one.code: (one.name, one.targets) for one in libre.languages()}
        assert found == {
            "en": ("English", ["de", "fr"]),
            "de": ("German", ["en"]),
            "fr": ("French", []),
        }

    def test_a_string(self, libre):
        found = libre.translate("für & more = 1\n2", "en", "de")
        assert found.translated_text == "für & more = 1\n2 in de"
        assert (found.alternatives, found.detected_language) == (None, None)
        assert libre.translate("", "de", "en").translated_text == " in en"

    def test_a_list(self, libre):
        found = libre.translate(["a", "b", "c"], "en", "fr")
        assert found.translated_text == ["a in fr", "b in fr", "c in fr"]

    def test_alternatives(self, libre):
        found = libre.translate("a", "en", "de", alternatives=1)
        assert (found.translated_text, found.alternatives) == ("a 0", ["a 1"])
        found = libre.translate(["a", "b"], "en", "de", alternatives=9)
        assert found.translated_text == ["a 0", "b 0"]
        assert found.alternatives == [["a 1"], ["b 1"]]

    @pytest.mark.parametrize(
        ("source", "target", "message"),
        [
            ("xx", "de", "xx is not supported"),
            ("en", "tlh", "tlh is not supported"),
            ("de", "fr", "fr is not available as a target language from de"),
        ],
    )
    def test_an_unknown_language(self, libre, source, target, message):
        with pytest.raises(client.BadRequestError, match=message):
            libre.translate("a", source, target)

    def test_a_language_to_be_found(self, libre):
        pytest.importorskip("py3langid")
        text = "Die alte Frau liest im Garten ein gutes Buch."
        found = libre.translate(text, "auto", "en")
        assert found.translated_text == f"{text} in en"
        assert found.detected_language.language == "de"
        assert found.detected_language.confidence > 90
        [detection] = libre.detect("The old woman reads a good book.")
        assert detection.language == "en"

    def test_a_language_that_cannot_be_told(self):
        """Beside one that can: then that one is not sure for want of another."""
        pytest.importorskip("py3langid")
        code, confidence = identify("tlhIngan Hol Dajatlh'a'", ["en", "tlh"])
        assert code == "en"
        assert confidence < 60
        text = "The old woman reads a good book in the garden, and the child sleeps."
        assert identify(text, ["en", "tlh"])[1] > 90

    def test_html_is_refused_in_words(self, libre):
        with pytest.raises(client.BadRequestError, match="html format is not supported"):
            libre.translate("<b>a</b>", "en", "de", format="html")

    def test_health(self, libre):
        assert libre.health()


def post(address, body, kind="application/json"):
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.request("POST", "/translate", body, {"Content-Type": kind})
    reply = connection.getresponse()
    content = json.loads(reply.read())
    connection.close()
    return reply.status, content


ASKED = {"q": "a", "source": "en", "target": "de"}


def test_json(address):
    assert post(address, json.dumps(ASKED)) == (200, {"translatedText": "a in de"})
    content = json.dumps({**ASKED, "q": ["a"], "alternatives": 1, "api_key": "x"})
    expected = {"translatedText": ["a 0"], "alternatives": [["a 1"]]}
    assert post(address, content) == (200, expected)
    assert post(address, json.dumps({**ASKED, "q": []})) == (200, {"translatedText": []})
    # As curl calls it.
    kind = "application/x-www-form-urlencoded"
    assert post(address, json.dumps(ASKED), kind)[0] == 200


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": None}, "q must be a string or a list"),
        ({"q": ["a", 5]}, "q must be a string or a list"),
        ({"q": {"a": "b"}}, "q must be a string or a list"),
        ({"source": 5}, "source must be a string"),
        ({"target": ["de"]}, "target must be a string"),
        ({"target": None}, "missing target"),
        ({"format": "<b>"}, "format is not supported"),
        ({"alternatives": "many"}, "alternatives must be a number"),
        ({"alternatives": [1]}, "alternatives must be a number"),
        ({"alternatives": 1e999}, "alternatives must be a number"),
        ({"q": ["a"] * 65}, "larger than maximum"),
        ({"source": "x" * 1000}, "is not supported"),
    ],
)
def test_refusals(address, change, message):
    status, reply = post(address, json.dumps({**ASKED, **change}))
    assert status == 400
    assert message in reply["error"]
    assert len(reply["error"]) < 200


@pytest.mark.parametrize("body", [b"q=%ff&source=en&target=de", b"\xff", b"", b"q" * 1000])
def test_refused_forms(address, body):
    status, reply = post(address, body, "application/x-www-form-urlencoded")
    assert status == 400
    assert "Invalid request" in reply["error"]
    assert post(address, urlencode(ASKED), "application/x-www-form-urlencoded")[0] == 200


def test_several_languages_need_the_package(monkeypatch, address):
    from keras_transformer.data.inspection.identification import identifier

    identifier.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "py3langid.langid", None)
    status, reply = post(address, json.dumps({**ASKED, "source": "auto"}))
    assert status == 400
    assert "pip install 'keras_transformer[languages]'" in reply["error"]


def test_one_language_needs_no_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "py3langid.langid", None)
    with serve(MODELS[:2]) as address:
        status, reply = post(address, json.dumps({**ASKED, "source": "auto"}))
    found = {"confidence": 100.0, "language": "en"}
    assert (status, reply) == (200, {"translatedText": "a in de", "detectedLanguage": found})
