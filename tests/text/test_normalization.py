"""`nmt_nfc`: what is seen stays, what is not goes, and joiners stay where a script needs them."""

import unicodedata

import pytest
import sentencepiece
import tensorflow as tf

from keras_transformer.export.tflite.string_tokenizer import LiteTokenizer
from keras_transformer.text.invisible import IGNORABLE
from keras_transformer.text.tokenizer import SubwordTokenizer

SEEN = [
    "Vi\u1ec7t Nam ngh\u0129a l\xe0 g\xec",
    "\ud55c\uad6d\uc5b4 \ud14d\uc2a4\ud2b8",
    "\u1f00\u03c1\u03c7\u03ae \u1fb7",
    "\u0939\u093f\u0928\u094d\u0926\u0940",
    "x\xb2 \xbd \u2026 \u2116 \u2122 \uff01\uff21",
]
PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
TELUGU = "\u0c15\u0c4d\u200c\u0c37"
FAMILY = "\U0001f469\u200d\U0001f467"


@pytest.fixture(scope="module")
def tokenizer():
    return SubwordTokenizer.train(["die Katze ist s\xfc\xdf", PERSIAN, *SEEN], 150)


@pytest.fixture(scope="module")
def normalize(tokenizer):
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    return lambda text: processor.normalize(text).replace("\u2581", " ").strip()


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("text", SEEN)
def test_is_the_canonical_composition(normalize, text, form):
    assert normalize(unicodedata.normalize(form, text)) == unicodedata.normalize("NFC", text)


def test_marks_in_any_order(normalize):
    """Unicode orders marks below before marks above."""
    assert normalize("a\u0302\u0323") == normalize("\xe2\u0323") == "\u1ead"


@pytest.mark.parametrize("text", [PERSIAN, TELUGU, FAMILY])
def test_joiners_stay_where_a_script_needs_them(normalize, text):
    assert normalize(text) == text


def test_what_is_invisible_changes_nothing(normalize):
    for character in (chr(code) for first, last in IGNORABLE for code in range(first, last + 1)):
        for text in (f"so{character}ft", f"{character}soft", f"soft{character}."):
            assert normalize(text) == text.replace(character, ""), hex(ord(character))


def test_white_space_and_controls(normalize):
    assert normalize("\ta\xa0b\u3000c\u2028d\x01e\x85f\r\n") == "a b c de f"


def test_translations_can_have_what_is_seen(tokenizer):
    ids = tokenizer.tokenize(SEEN)
    assert [text.decode() for text in tokenizer.detokenize(ids).numpy()] == SEEN


def test_tflite_and_sampling_normalize_alike(tokenizer):
    lite = LiteTokenizer(tokenizer, 50)
    for text in (*SEEN, PERSIAN, "so\u00adft s\u0075\u0308\xdf", "k\u200dat\u200cze", "\u200bdie"):
        [ids] = tokenizer.tokenize([text]).to_list()
        assert lite.tokenize(tf.constant([text])).numpy().tolist() == ids
        sampled = tokenizer.tokenize_sampled([text], 0.5, seed=1)
        assert tokenizer.detokenize(sampled).numpy() == tokenizer.detokenize([ids]).numpy()


def test_the_model_does_not_tell_where_it_was_trained():
    """Rules go through a file of a random name."""
    models = {SubwordTokenizer.train(["the cat sat"], 14).model for _ in range(2)}
    assert len(models) == 1
    assert b"/" not in models.pop()[-200:]
