"""The translator: any string is an input, and the strings and scores are the model's own."""

import functools
import unicodedata
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import sentencepiece
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import vary

from keras_transformer import DecodingConfig, Transformer, TransformerConfig
from keras_transformer.data.corpora import open_corpus
from keras_transformer.export.translator import Translator, split_into_pieces
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID
from keras_transformer.training.checkpoints import Checkpoints

MAX_LENGTH = 12
BLANK = [b"", b" ", b"\t\r\n", "\u3000\u00a0\u2003".encode(), b"\x01\x02", b"\xe2\x80\x8b"]
HOSTILE = [
    *BLANK,
    b"\x00",
    b"\xff\xfe\xfa",
    b"half \xe2\x82",
    b"\xed\xa0\x80 surrogate",
    b"\xc0\xaf overlong",
    b"a\x00b\x00",
    b"\x1b[31mred\x07 \x7f",
    b"</s> <s> <pad> <unk> <0x41> \xe2\x96\x81",
    "\ufeffthe dog \u2028 and\u2029 \u200dcat".encode(),
    "👩‍👩‍👧‍👦 👋🏽 🇩🇪 🏳️‍🌈".encode(),
    "שלום עולם \u202e\u0645\u0631\u062d\u0628\u0627\u202c".encode(),
    "中文、日本語、한국어。".encode(),
    ("e" + "\u0301" * 300).encode(),
    "\U0010ffff\ufffd\uffff".encode(),
    b"x" * 500,
    b"the dog sleeps in the garden. " * 20,
]


@pytest.fixture(scope="module")
def pairs():
    return list(open_corpus("phrasebook:train:400", "en", "de"))


def train_tokenizer(pairs, size, sides=(0, 1), **options):
    lines = (pair[side] for pair in pairs for side in sides)
    return SubwordTokenizer.train(lines, size, **options)


def make_model(vocab_size, **overrides):
    size = dict(num_layers=1, d_model=16, d_ff=32, num_heads=2, max_length=MAX_LENGTH)
    options = {**size, "tie_embeddings": False, "norm_first": True, **overrides}
    return vary(Transformer(TransformerConfig(vocab_size, **options)), seed=0)


@pytest.fixture(scope="module")
def translator(pairs):
    tokenizer = train_tokenizer(pairs, 400)
    return Translator(make_model(400), tokenizer, config=DecodingConfig(max_extra_tokens=4))


@pytest.fixture(scope="module")
def byte_translator(pairs):
    """Writes bytes, of which a model at random makes invalid UTF-8."""
    tokenizer = train_tokenizer(pairs, 500, byte_fallback=True)
    return Translator(make_model(500), tokenizer, config=DecodingConfig(max_extra_tokens=4))


@pytest.fixture(params=["translator", "byte_translator"])
def any_translator(request):
    return request.getfixturevalue(request.param)


def in_graph(translator, lines):
    """The strings, as bytes, and the scores of one batch."""
    outputs = translator.serve(tf.constant(lines, tf.string))
    assert set(outputs) == {"translation", "score"}
    assert outputs["score"].dtype == tf.float32
    return outputs["translation"].numpy().tolist(), outputs["score"].numpy()


def library_of(tokenizer):
    """The SentencePiece library itself, outside of TensorFlow."""
    return sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)


def chunks(words, length):
    """Cuts a list; an empty one is one chunk."""
    return [words[i : i + length] for i in range(0, len(words), length)] or [[]]


@functools.cache
def compiled_search(translator):
    return tf.function(
        translator.search, input_signature=[tf.RaggedTensorSpec([None, None], tf.int32)]
    )


def search_alone(translator, words):
    """The ids and the score of one source of at most the model's length."""
    ids, scores = compiled_search(translator)(tf.ragged.constant([[*words, EOS_ID]], tf.int32))
    ids = ids.numpy()[0].tolist()
    if EOS_ID in ids:
        ids = ids[: ids.index(EOS_ID) + 1]
    return ids, float(scores[0])


def decode(library, ids):
    """The text of target ids by the SentencePiece library; no special id is text."""
    return library.decode([i for i in ids if i not in (0, BOS_ID, EOS_ID)])


def test_any_string_gives_valid_utf8(any_translator):
    translations, scores = in_graph(any_translator, HOSTILE)
    assert len(translations) == len(HOSTILE)
    for translation in translations:
        translation.decode("utf-8")
    assert np.isfinite(scores).all()
    assert any_translator(HOSTILE) == [line.decode() for line in translations]


def test_strings_without_text_give_empty_strings(any_translator):
    translations, scores = in_graph(any_translator, BLANK)
    assert translations == [b""] * len(BLANK)
    assert scores.tolist() == [0.0] * len(BLANK)


def test_a_string_among_blank_ones(translator):
    alone = translator(["the dog"])
    assert alone != [""]
    assert translator(["", "the dog", " "]) == ["", *alone, ""]


def test_a_batch_equals_its_lines_one_by_one(any_translator, pairs):
    lines = [source.encode() for source, _ in pairs[:10]] + HOSTILE
    translations, scores = in_graph(any_translator, lines)
    for line, translation, score in zip(lines, translations, scores, strict=True):
        [alone], [alone_score] = in_graph(any_translator, [line])
        assert translation == alone
        np.testing.assert_allclose(score, alone_score, rtol=1e-4, atol=1e-4)


def test_order_is_kept(translator, pairs):
    """Whatever the batches are that lines of all lengths are sorted into."""
    lines = [source for source, _ in pairs[:100]] + ["", "the dog " * 30, "a"]
    expected = dict(zip(lines, translator(lines), strict=True))
    assert len(set(expected.values())) > 50
    shuffled = np.random.default_rng(0).permutation(lines * 2).tolist()
    small = Translator(
        translator.model,
        translator.source_tokenizer,
        config=DecodingConfig(max_extra_tokens=4, batch_size=7),
    )
    assert small(shuffled) == [expected[line] for line in shuffled]
    assert small(iter(shuffled[:9]), progress=False) == [expected[line] for line in shuffled[:9]]


@pytest.mark.parametrize("size", [0, 1, 512])
def test_batch_sizes(translator, pairs, size):
    lines = ([source for source, _ in pairs] * 2)[:size]
    translations, scores = in_graph(translator, lines)
    assert len(translations) == len(scores) == size
    assert translator(lines) == [line.decode() for line in translations]


def test_normal_forms_give_the_same(translator):
    lines = ["Der Koch hört die Tür über dem Fluß", "\uff21 ﬁne № ½"]
    for form in ("NFC", "NFD", "NFKD"):
        other = [unicodedata.normalize(form, line) for line in lines]
        assert other != lines or form == "NFC"
        assert translator(other) == translator(lines)


def test_lone_surrogates(translator):
    assert translator(["the \ud800 dog"]) == translator(["the ? dog"])
    assert translator(["\udfff" * 3]) == translator(["???"])


def test_str_and_bytes_are_the_same(translator):
    assert translator(["the döğ".encode()]) == translator(["the döğ"])


def test_a_line_of_a_hundred_thousand_characters(translator):
    [line] = translator(["the small dog sees a cat. " * 4000])
    assert len(line) > 10_000


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(4, 50), max_size=11), max_size=5),
    max_length=st.integers(2, 7),
)
def test_pieces(rows, max_length):
    tokens = tf.RaggedTensor.from_row_lengths(
        tf.constant([i for row in rows for i in [*row, EOS_ID]], tf.int32),
        tf.constant([len(row) + 1 for row in rows], tf.int64),
    )
    pieces, owners = split_into_pieces(tokens, max_length)
    expected = [
        (owner, [*chunk, EOS_ID])
        for owner, row in enumerate(rows)
        for chunk in chunks(row, max_length - 1)
    ]
    assert pieces.to_list() == [piece for _, piece in expected]
    assert owners.numpy().tolist() == [owner for owner, _ in expected]
    assert pieces.dtype == tf.int32


def test_a_long_line_is_its_pieces_joined(translator, pairs):
    library = library_of(translator.source_tokenizer)
    lines = [" ".join(source for source, _ in pairs[i : i + 4]) for i in range(0, 12, 4)]
    translations, scores = in_graph(translator, [lines[0], "", *lines[1:]])
    assert translations.pop(1) == b""
    for line, translation, score in zip(lines, translations, np.delete(scores, 1), strict=True):
        pieces = chunks(library.encode(line), MAX_LENGTH - 1)
        assert len(pieces) > 2
        found = [search_alone(translator, piece) for piece in pieces]
        assert translation.decode() == " ".join(decode(library, ids) for ids, _ in found)
        np.testing.assert_allclose(score, sum(score for _, score in found), rtol=1e-4)


def test_score_is_the_log_probability_of_the_translation(translator, pairs):
    """By teacher forcing, all positions at once, where the search went one by one with a cache."""
    library = library_of(translator.source_tokenizer)
    lines = [source for source, _ in pairs if len(library.encode(source)) < MAX_LENGTH][:15]
    assert len(lines) > 5
    translations, scores = in_graph(translator, lines)
    ended = 0
    for line, translation, score in zip(lines, translations, scores, strict=True):
        source = library.encode(line)
        ids, _ = search_alone(translator, source)
        assert len(ids) <= min(len(source) + 1 + 4, MAX_LENGTH)
        assert translation.decode() == decode(library, ids)
        ended += ids[-1] == EOS_ID
        target = np.array([[BOS_ID, *ids[:-1]]], "int32")
        inputs = {"source": np.array([[*source, EOS_ID]], "int32"), "target": target}
        logits = np.asarray(translator.model(inputs), "float64")[0]
        log_probabilities = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        assert ids == logits.argmax(-1).tolist()
        expected = log_probabilities[np.arange(len(ids)), ids].sum()
        np.testing.assert_allclose(score, expected, rtol=1e-4)


def test_score_of_an_empty_translation_is_that_of_eos(pairs):
    """Post-norm, so that with no scale the decoder's output is the shift of its last layer."""
    model = make_model(400, norm_first=False)
    matrix = np.asarray(model.output_embedding.embeddings, "float64")
    shift = matrix[EOS_ID] * 2
    for variable in model.trainable_variables:
        if "decoder" in variable.path and variable.path.endswith(("gamma", "beta")):
            variable.assign(shift if variable.path.endswith("beta") else np.zeros(variable.shape))
    logits = matrix @ shift
    assert logits.argmax() == EOS_ID
    [translation], [score] = in_graph(Translator(model, train_tokenizer(pairs, 400)), ["the dog"])
    assert translation == b""
    np.testing.assert_allclose(score, logits[EOS_ID] - np.log(np.exp(logits).sum()), rtol=1e-4)


def test_separate_vocabularies(pairs):
    source_tokenizer = train_tokenizer(pairs, 200, sides=[0])
    target_tokenizer = train_tokenizer(pairs, 300, sides=[1], algorithm="unigram")
    model = make_model(300, source_vocab_size=200)
    translator = Translator(model, source_tokenizer, target_tokenizer)
    source_library, target_library = library_of(source_tokenizer), library_of(target_tokenizer)
    lines = ["the dog", "a small cat", ""]
    translations, _ = in_graph(translator, lines)
    for line, translation in zip(lines, translations, strict=True):
        words = source_library.encode(line)
        expected = decode(target_library, search_alone(translator, words)[0]) if words else ""
        assert translation.decode() == expected
    assert translations[0] != translations[1]

    with pytest.raises(ValueError, match=r"`source_tokenizer` .*200 pieces.*one of 300 pieces"):
        Translator(model, target_tokenizer, target_tokenizer)
    with pytest.raises(ValueError, match=r"`target_tokenizer` .*300 pieces.*one of 200 pieces"):
        Translator(model, source_tokenizer)


def test_a_vocabulary_of_another_size(translator):
    with pytest.raises(ValueError, match=r"`source_tokenizer` .*399 pieces.*one of 400 pieces"):
        Translator(make_model(399), translator.source_tokenizer)


def test_another_backend(translator, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(ValueError, match=r"set KERAS_BACKEND=tensorflow. Received: 'jax'"):
        Translator(translator.model, translator.source_tokenizer)


def test_translator_of_a_run(translator, tmp_path):
    """The best and the latest checkpoint, with the run's own way to decode."""
    tokenizer, checkpoints = translator.source_tokenizer, Checkpoints(tmp_path / "checkpoints")
    run = SimpleNamespace(
        path=tmp_path,
        checkpoints=checkpoints,
        source_tokenizer=tokenizer,
        target_tokenizer=tokenizer,
        config=SimpleNamespace(decoding=translator.config),
    )
    with pytest.raises(FileNotFoundError, match=f"must have a checkpoint.*{tmp_path}"):
        Translator.of_run(run)
    checkpoints.save(translator.model, 1, {"val_bleu": 20})
    other = vary(make_model(400), seed=2)
    checkpoints.save(other, 2, {"val_bleu": 10})
    for name, model in (("best", translator.model), ("latest", other)):
        found = Translator.of_run(run, name)
        assert found.config is translator.config
        for one, same in zip(found.model.get_weights(), model.get_weights(), strict=True):
            np.testing.assert_array_equal(one, same)
    lines = ["the dog", "a small cat sees the old man"]
    assert Translator.of_run(run)(lines) == translator(lines)
