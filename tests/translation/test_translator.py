"""The translator: any string is an input, and the strings and scores are the model's own."""

import functools
import math
import unicodedata
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import sentencepiece
import tensorflow as tf
from hostile import BLANK, HOSTILE
from random_models import offset_logits, vary
from references import cut_plainly, softmax

from keras_transformer import DecodingConfig, RunConfig, Transformer, TransformerConfig
from keras_transformer.data.corpora import open_corpus
from keras_transformer.decoding import Hypotheses
from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.progress import Progress
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID
from keras_transformer.translation.opening import open_runs
from keras_transformer.translation.translator import Translator

MAX_LENGTH = 12


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


@functools.cache
def compiled_translate(translator):
    signature = [tf.TensorSpec([None], tf.string)]
    return tf.function(translator.graph.translate, signature, autograph=False)


def in_graph(translator, lines):
    """The strings, as bytes, and the scores of one batch."""
    outputs = compiled_translate(translator)(tf.constant(lines, tf.string))
    assert outputs["score"].dtype == tf.float32
    return outputs["translation"].numpy().tolist(), outputs["score"].numpy()


def library_of(tokenizer):
    """The SentencePiece library itself, outside of TensorFlow."""
    return sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)


def chunks(library, line):
    """The pieces that a line is translated in."""
    vocabulary = library.id_to_piece(list(range(library.get_piece_size())))
    return cut_plainly(library.encode(line), MAX_LENGTH - 1, vocabulary)


def search_ragged(translator, tokens):
    return translator.graph.search(tokens.to_tensor(PAD_ID))


def search_alone(translator, words):
    """The ids and the score of one source of at most the model's length."""
    found = search_ragged(translator, tf.ragged.constant([[*words, EOS_ID]], tf.int32))
    ids = found.ids.numpy()[0, 0]
    return ids[ids != PAD_ID].tolist(), float(found.log_probs[0, 0])


def search_lines(translator, lines):
    """The ids of the best translation of each line, and its score."""
    found = search_ragged(translator, translator.source_tokenizer.tokenize(lines))
    ids = [row[row != PAD_ID].tolist() for row in found.ids.numpy()[:, 0]]
    return list(zip(ids, found.log_probs.numpy()[:, 0].tolist(), strict=True))


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
        translator.models[0],
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


@pytest.mark.parametrize(("normalization", "forms"), [("nmt_nfc", 2), ("nmt_nfkc", 3)])
def test_normal_forms_give_the_same(pairs, normalization, forms):
    """Those that look the same, and with NFKC those that mean the same."""
    tokenizer = train_tokenizer(pairs, 400, normalization=normalization)
    config = DecodingConfig(max_extra_tokens=4)
    translator = Translator(make_model(400), tokenizer, config=config)
    lines = ["Der Koch hört die Tür über dem Fluß", "\uff21 ﬁne № ½"]
    for form in ("NFC", "NFD", "NFKD")[:forms]:
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


def test_a_long_line_is_its_pieces_joined(translator, pairs):
    library = library_of(translator.source_tokenizer)
    lines = [" ".join(source for source, _ in pairs[i : i + 4]) for i in range(0, 12, 4)]
    translations, scores = in_graph(translator, [lines[0], "", *lines[1:]])
    assert translations.pop(1) == b""
    for line, translation, score in zip(lines, translations, np.delete(scores, 1), strict=True):
        pieces = chunks(library, line)
        assert len(pieces) > 2
        found = [search_alone(translator, piece) for piece in pieces]
        assert translation.decode() == " ".join(decode(library, ids) for ids, _ in found)
        np.testing.assert_allclose(score, sum(score for _, score in found), rtol=1e-4)


def forced_log_probs(models, source, ids):
    """The logarithms `[length, vocab_size]` of the models' mean probability, by teacher forcing."""
    target = np.array([[BOS_ID, *ids[:-1]]], "int32")
    inputs = {"source": np.array([[*source, EOS_ID]], "int32"), "target": target}
    return np.log(np.mean([softmax(np.asarray(m(inputs), "float64")[0]) for m in models], axis=0))


@pytest.mark.parametrize("beam_size", [1, 4])
def test_score_is_the_log_probability_of_the_translation(translator, pairs, beam_size):
    """By teacher forcing, all positions at once, where the search went one by one with a cache."""
    config = DecodingConfig(max_extra_tokens=4, beam_size=beam_size)
    translator = Translator(translator.models, translator.source_tokenizer, config=config)
    library = library_of(translator.source_tokenizer)
    lines = [source for source, _ in pairs if len(library.encode(source)) < MAX_LENGTH][:8]
    assert len(lines) == 8
    translations, scores = in_graph(translator, lines)
    for line, translation, score in zip(lines, translations, scores, strict=True):
        source = library.encode(line)
        ids, _ = search_alone(translator, source)
        assert len(ids) <= min(len(source) + 1 + 4, MAX_LENGTH)
        assert translation.decode() == decode(library, ids)
        log_probs = forced_log_probs(translator.models, source, ids)
        if beam_size == 1:
            assert ids == log_probs.argmax(-1).tolist()
        expected = log_probs[np.arange(len(ids)), ids].sum()
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
    tokenizer = train_tokenizer(pairs, 400)
    [translation], _ = in_graph(Translator(model, tokenizer), ["the dog"])
    assert translation != b"", "by default there is a translation"
    translator = Translator(model, tokenizer, config=DecodingConfig(min_length=0))
    [translation], [score] = in_graph(translator, ["the dog"])
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


@pytest.mark.parametrize("line", ["the dog sleeps.", b"the dog sleeps."])
def test_a_bare_string_is_one_line(translator, line):
    assert translator(line) == translator([line])
    assert translator(line, "der") == translator([line], ["der"])
    assert translator.nbest(line) == translator.nbest([line])
    assert translator.score(line, "der Hund") == translator.score([line], ["der Hund"])
    [found], [expected] = translator.attend(line), translator.attend([line])
    assert found.target == expected.target


BREAKS = ["\n", "\r\n", "\r", "\u0085", "\u2028", "\u2029", "\v", "\f"]


def test_line_breaks_are_kept(translator):
    """Each line is translated as it is alone, whatever the breaks are."""
    lines = ["the dog", "", "a small cat sees the old man and the dog", "the man"]
    alone = translator(lines)
    one, _, long, last = alone
    texts = [f"{lines[0]}{end}{end}{lines[2]}{end}" for end in BREAKS]
    expected = [f"{one}{end}{end}{long}{end}" for end in BREAKS]
    mixed = "\n".join(lines) + "\r\n\r" + lines[3]
    kept = "\n".join(alone) + "\r\n\r" + last
    assert translator([*texts, mixed, lines[0]]) == [*expected, kept, one]
    translations, scores = in_graph(translator, [mixed])
    _, of_lines = in_graph(translator, [*lines, lines[3]])
    assert translations == [kept.encode()]
    np.testing.assert_allclose(scores, [of_lines.sum()], rtol=1e-4)
    pieces = translator.graph.translate(tf.constant([mixed, lines[2]]))["pieces"].numpy()
    assert pieces[0] == pieces[1] + 3, "lines without text are no pieces"


def test_line_breaks_between_bytes_that_are_no_text(translator):
    [translation], _ = in_graph(translator, [b"\xe2\x80\n\xc2\r\xff"])
    assert len(translation.decode().split("\n")) == 2
    assert len(translation.decode().split("\r")) == 2


def test_many_empty_lines(translator):
    """They are not searched."""
    [translation] = translator(["the dog" + "\n" * 100_000 + "the dog"])
    [alone] = translator(["the dog"])
    assert translation == alone + "\n" * 100_000 + alone


INVISIBLE = ["\u00ad", "\u200b", "\u2060", "\u200d", "\u200c", "\ufe0f", "\ufeff", "\u061c", "\0"]


def test_text_with_nothing_to_see(translator):
    lines = [*INVISIBLE, "".join(INVISIBLE), " \u00ad\n\u200d "]
    assert translator(lines) == [""] * len(lines)
    assert [one.log_prob for one in translator.score(lines, lines)] == [0.0] * len(lines)
    assert all(not one.source for one in translator.attend(lines))


# Options of each string, and what is said of it.


def test_each_string_has_its_own_options(ending, short_lines):
    """As translators of those options have them for all strings."""
    lines = short_lines[:6]
    translator = ending(beam_size=3, length_penalty=0.6)
    lengths, penalties = [3, 0, -5, 2**31 - 1, 1, 4], [0.0, 1.5, -1.0, np.nan, np.inf, 0.3]
    found = translator.graph.translate(
        tf.constant(lines), tf.constant(lengths), tf.constant(penalties, tf.float32)
    )
    for i, (line, length, penalty) in enumerate(zip(lines, lengths, penalties, strict=True)):
        alpha = min(penalty, 10.0) if penalty >= 0 else 0.6
        alone = ending(beam_size=3, length_penalty=alpha)
        ids = translator.source_tokenizer.tokenize([line]).to_tensor()
        most = tf.constant([length if length > 0 else MAX_LENGTH])
        expected = alone.graph.search(ids, max_tokens=most)
        [text] = alone.target_tokenizer.detokenize(expected.ids[:, 0]).numpy()
        assert found["translation"][i].numpy() == text
        np.testing.assert_allclose(found["score"][i], expected.log_probs[0, 0], rtol=1e-4)
        assert bool(found["truncated"][i]) == (EOS_ID not in expected.ids.numpy()[0, 0])
    assert len({*found["truncated"].numpy().tolist()}) == 2


def test_pieces_and_truncated(ending, short_lines):
    translator = ending(min_length=1)
    library = library_of(translator.source_tokenizer)
    long = "the small dog sees a cat and the old man sleeps in the garden"
    lines = ["", short_lines[0], long]
    outputs = translator.graph.translate(tf.constant(lines))
    assert outputs["pieces"].numpy().tolist() == [1, 1, len(chunks(library, long))]
    assert translator.graph.nbest(tf.constant(lines))["pieces"].numpy().tolist() == [
        *outputs["pieces"].numpy()
    ]
    assert not outputs["truncated"][0]
    # No translation of at least twelve tokens has room for its eos.
    cut = ending(min_length=MAX_LENGTH).graph.translate(tf.constant(lines))
    assert cut["truncated"].numpy().tolist() == [False, True, True]


def test_split_sentences(ending):
    """Each sentence is translated as it is alone."""
    sentences = ["the dog sleeps.", "a cat.", "the man."]
    split = ending(split_sentences=True)
    outputs = split.graph.translate(tf.constant([" ".join(sentences), "the dog"]))
    assert outputs["pieces"].numpy().tolist() == [3, 1]
    alone = ending()(sentences)
    assert outputs["translation"].numpy()[0].decode() == " ".join(alone)


def test_scores_and_attention_of_what_is_too_long(ending, short_lines):
    """The first tokens alone count, and a flag says so."""
    translator = ending()
    library = library_of(translator.source_tokenizer)
    long = "the small dog sees a cat and the old man sleeps in the garden"
    ids = [*library.encode(long)[: MAX_LENGTH - 1], EOS_ID]
    scores = translator.graph.score(tf.constant([long, "a cat"]), tf.constant(["der Hund", long]))
    assert scores["truncated"].numpy().tolist() == [True, True]
    assert not translator.graph.score(tf.constant(["a cat"]), tf.constant(["x"]))["truncated"][0]
    log_probs = forced_log_probs(translator.models, library.encode("a cat"), ids)
    expected = log_probs[np.arange(len(ids)), ids]
    np.testing.assert_allclose(scores["token_log_probs"][1], expected, 1e-3, 1e-3)
    np.testing.assert_allclose(scores["log_prob"][1], expected.sum(), rtol=1e-4)
    attention = translator.graph.attention(tf.constant([long, short_lines[0]]))
    assert attention["truncated"].numpy().tolist() == [True, False]
    tokens = [token.decode() for token in attention["source_tokens"][0].numpy()]
    assert tokens == [library.id_to_piece(i) for i in ids]


# Several translations, given beginnings, scores of given translations, attention, ensembles.


@pytest.fixture(scope="module")
def ending(pairs):
    """Makes a translator that mostly ends by itself, and so before any limit."""
    model = offset_logits(make_model(400), {EOS_ID: 6.0})
    tokenizer = train_tokenizer(pairs, 400)
    made = {}

    def make(*others, **options):
        if others:
            models = [model, *(offset_logits(vary(other, 1), {EOS_ID: 6.0}) for other in others)]
            return Translator(models, tokenizer, config=DecodingConfig(**options))
        # With its traces, where only the options count.
        key = repr(sorted(options.items()))
        if key not in made:
            made[key] = Translator(model, tokenizer, config=DecodingConfig(**options))
        return made[key]

    return make


@pytest.fixture(scope="module")
def short_lines(pairs):
    """Lines of one piece each."""
    library = library_of(train_tokenizer(pairs, 400))
    return [source for source, _ in pairs if len(library.encode(source)) < MAX_LENGTH][:9]


def test_nbest(ending, short_lines):
    """Without a length penalty, the order is that of the log-probabilities."""
    translator = ending(length_penalty=0.0, num_hypotheses=3)
    lines = [*short_lines, ""]
    nbest = translator.nbest(iter(lines))
    assert [found[0].text for found in nbest] == translator(lines)
    for found in nbest[:-1]:
        log_probs = [translation.log_prob for translation in found]
        assert len(found) == 3
        assert log_probs == sorted(log_probs, reverse=True)
        assert len({*log_probs}) == 3
    assert {translation.text for translation in nbest[-1]} == {""}
    # The best of three is the best of one.
    one = ending(length_penalty=0.0).nbest(lines)
    assert [found[0].text for found in one] == translator(lines)
    assert {len(found) for found in one} == {1}


def test_nbest_are_different_strings(ending, monkeypatch):
    """Of a string in several segmentations the best one counts, and what follows moves up."""
    translator = ending(num_hypotheses=3)
    library = library_of(translator.source_tokenizer)

    def row(*hypotheses):
        return [
            [*([library.piece_to_id(piece) for piece in text.split()]), EOS_ID, PAD_ID, PAD_ID][:4]
            for text in hypotheses
        ]

    ids = [row("er", "e r", "e", "r", "r e", "en"), row("e", "e", "e", "e", "e", "e")]
    log_probs = [[-1.0, -2.0, -3.0, -4.0, -5.0, -6.0], [-1.0, -2.0, *[-math.inf] * 4]]
    asked = []

    def search(source, prefix=None, n=None):
        asked.append(n)
        log_prob = tf.constant(log_probs)
        return Hypotheses(tf.constant(ids), log_prob, log_prob)

    monkeypatch.setattr(translator.graph, "search", search)
    found = translator.graph.nbest(tf.constant(["the dog", "a cat"]))
    assert asked == [6], "some more than three, of which some may be the same"
    assert found["translations"].numpy().tolist() == [[b"er", b"e", b"r"], [b"e", b"", b""]]
    least = np.finfo(np.float32).min
    assert found["scores"].numpy().tolist() == [[-1.0, -3.0, -4.0], [-1.0, least, least]]


def test_nbest_of_a_long_line_joins_the_pieces_of_each_rank(ending):
    translator = ending(length_penalty=0.0, num_hypotheses=2, min_length=2)
    library = library_of(translator.source_tokenizer)
    line = "the small dog sees a cat and the old man sleeps in the garden"
    pieces = chunks(library, line)
    [found] = translator.nbest([line])
    ragged = tf.ragged.constant([[*piece, EOS_ID] for piece in pieces], tf.int32)
    each = search_ragged(translator, ragged)
    for rank, translation in enumerate(found):
        texts = [decode(library, ids[rank].tolist()) for ids in each.ids.numpy()]
        assert translation.text == " ".join(texts)
        log_prob = each.log_probs.numpy()[:, rank].sum()
        np.testing.assert_allclose(translation.log_prob, log_prob, rtol=1e-4)


def sampled(translator, **options):
    config = DecodingConfig(sampling=True, max_extra_tokens=4, batch_size=8, **options)
    return Translator(translator.models, translator.source_tokenizer, config=config)


def test_samples_follow_from_the_place_in_the_input(translator):
    sampler, line = sampled(translator, seed=3), "the dog"
    many = sampler([line] * 64)
    assert len({*many}) > 60, "each line has random numbers of its own"
    assert sampler([line] * 64) == many
    # Other neighbours, other batches, and another part of the input.
    others = sampler(["a cat and the old man in the garden"] * 32 + [line] * 32)
    assert others[32:] == many[32:]
    part = sampler.nbest([line] * 20, start=40)
    assert [best.text for best, *_ in part] == many[40:60]
    # The pieces of a line have their own as well.
    assert len({*sampler([f"{line}\n" * 20])[0].splitlines()}) > 15
    assert sampled(translator, seed=4)([line] * 64) != many


def test_samples_without_a_seed_are_drawn_anew(translator):
    sampler = sampled(translator)
    assert sampler(["the dog"] * 16) != sampler(["the dog"] * 16)


def test_scores_of_what_is_too_long_are_none(translator):
    """A line out for each line in."""
    long = "the dog " * 20
    sources, targets = ["a cat", long, "a cat", "a cat"], ["x", "x", long, "y"]
    first, *none, last = translator.score(sources, targets)
    alone = translator.score(["a cat"] * 2, ["x", "y"])
    assert [one.pieces for one in (first, last)] == [one.pieces for one in alone]
    assert first.log_prob == pytest.approx(alone[0].log_prob, rel=1e-4)
    assert [(np.isnan(one.log_prob), one.pieces) for one in none] == [(True, [])] * 2


def test_score_of_given_translations(ending, pairs, short_lines):
    translator = ending()
    library = library_of(translator.source_tokenizer)
    targets = ["der Hund", "", "eine Katze"] * 3
    for source, target, score in zip(
        short_lines, targets, translator.score(short_lines, targets), strict=True
    ):
        ids = [*library.encode(target), EOS_ID]
        assert score.pieces == [library.id_to_piece(i) for i in ids]
        log_probs = forced_log_probs(translator.models, library.encode(source), ids)
        expected = log_probs[np.arange(len(ids)), ids]
        np.testing.assert_allclose(score.piece_log_probs, expected, 1e-4, 1e-4)
        assert score.log_prob == pytest.approx(expected.sum(), rel=1e-4)


def test_score_of_nothing_is_that_of_its_translation(translator):
    """Also in a batch whose other strings have text."""
    [best] = translator.nbest([""])[0]
    nothing, other = translator.score(["", ""], ["", "der Hund"])
    assert nothing.log_prob == best.log_prob == 0.0
    assert nothing.piece_log_probs == [0.0]
    assert other.log_prob == pytest.approx(sum(other.piece_log_probs)) != 0.0


def test_score_of_a_translation_is_what_the_search_said(ending, pairs):
    """Where its text is cut into the tokens that the search chose."""
    translator = ending(min_length=1)
    library = library_of(translator.source_tokenizer)
    lines = [source for source, _ in pairs if len(library.encode(source)) < MAX_LENGTH]
    found = [best for best, *_ in translator.nbest(lines)]
    scores = translator.score(lines, [best.text for best in found])
    agreeing = [
        (best, score)
        for (ids, _), best, score in zip(
            search_lines(translator, lines), found, scores, strict=True
        )
        if score.pieces == [library.id_to_piece(i) for i in ids]
    ]
    assert len({best.text for best, _ in agreeing}) > 3
    for best, score in agreeing:
        assert score.log_prob == pytest.approx(best.log_prob, rel=1e-4)


def test_prefixes(ending, short_lines):
    """The model's own limit of 12 tokens is the only one here."""
    translator = ending(num_hypotheses=2, min_length=2)
    prefixes = ["der Hund", "", "eine Frau"] * 3
    plain = translator.nbest(short_lines)
    prefixed = translator.nbest(short_lines, prefixes)
    for prefix, found, free in zip(prefixes, prefixed, plain, strict=True):
        if prefix:
            assert all(translation.text.startswith(prefix) for translation in found)
        else:
            assert [translation.text for translation in found] == [t.text for t in free]


def test_a_prefix_of_a_long_line_is_that_of_its_first_piece(ending):
    translator = ending()
    library = library_of(translator.source_tokenizer)
    line = "the small dog sees a cat and the old man sleeps in the garden"
    first, *others = chunks(library, line)
    assert others
    [translation] = translator([line], ["die Frau"])
    [start] = translator([library.decode(first)], ["die Frau"])
    assert start.startswith("die Frau")
    found = search_lines(translator, [library.decode(piece) for piece in others])
    ends = [decode(library, ids) for ids, _ in found]
    assert translation == " ".join([start, *ends])


def test_a_prefix_of_one_line_changes_no_other(translator, short_lines):
    """Not even where translations end at their limits."""
    config = DecodingConfig(max_extra_tokens=0)
    translator = Translator(translator.models, translator.source_tokenizer, config=config)
    expected = translator(short_lines)
    assert translator(short_lines, ["der alte Mann", *[""] * 8])[1:] == expected[1:]


def test_empty_prefixes_alone_change_nothing(translator, short_lines):
    config = DecodingConfig(max_extra_tokens=0)
    translator = Translator(translator.models, translator.source_tokenizer, config=config)
    assert translator(short_lines, [""] * 9) == translator(short_lines)


def test_attention(ending, short_lines):
    translator = ending(min_length=3)
    library = library_of(translator.source_tokenizer)
    lines = [*short_lines, ""]
    *found, empty = translator.attend(lines)
    assert (empty.source, empty.target, empty.alignment) == ([], [], [])
    assert all(len(attention.target) > 2 for attention in found)
    searched = search_lines(translator, short_lines)
    for line, attention, (ids, _) in zip(short_lines, found, searched, strict=True):
        source, ids = library.encode(line), [i for i in ids if i != EOS_ID]
        assert attention.source == [library.id_to_piece(i) for i in source]
        assert attention.target == [library.id_to_piece(i) for i in ids]
        inputs = {
            "source": np.array([[*source, EOS_ID]]),
            "target": np.array([[BOS_ID, *ids[:-1]]]),
        }
        _, weights = translator.models[0](inputs, return_attention_weights=True)
        # Of the one layer that there is, without the source's eos.
        expected = np.asarray(weights["cross"][0])[0].mean(0)[:, : len(source)]
        np.testing.assert_allclose(attention.weights, expected, atol=1e-5)
        assert (attention.weights.sum(-1) <= 1 + 1e-5).all()
        best = [(max(range(len(row)), key=row.__getitem__), i) for i, row in enumerate(expected)]
        assert attention.alignment == best


def test_attention_is_that_of_the_last_but_one_layer(pairs, short_lines):
    model = offset_logits(make_model(400, num_layers=3), {EOS_ID: 6.0})
    translator = Translator(model, train_tokenizer(pairs, 400))
    outputs = translator.graph.attention(tf.constant(short_lines[:2]))
    library = library_of(translator.source_tokenizer)

    def ids_of(name):
        return np.array(
            [
                [library.piece_to_id(piece.decode()) if piece else PAD_ID for piece in row]
                for row in outputs[name].numpy()
            ]
        )

    target = np.pad(ids_of("target_tokens"), ((0, 0), (1, 0)), constant_values=BOS_ID)[:, :-1]
    inputs = {"source": ids_of("source_tokens"), "target": target}
    _, weights = model(inputs, return_attention_weights=True)
    np.testing.assert_allclose(outputs["weights"], np.asarray(weights["cross"][1]), atol=1e-5)


def test_attention_is_as_long_as_the_longest_translation(ending, short_lines):
    """However much room the search had."""
    translator = ending()
    lines = [*short_lines[:3], ""]
    longest = max(len(ids) for ids, _ in search_lines(translator, lines[:3]))
    assert longest < MAX_LENGTH
    outputs = translator.graph.attention(tf.constant(lines))
    assert outputs["target_tokens"].shape[1] == outputs["weights"].shape[2] == longest
    nothing = translator.graph.attention(tf.constant([""]))
    assert nothing["target_tokens"].numpy().tolist() == [[b""]]


def test_models_decide_together_by_their_mean_probability(ending, short_lines):
    translator = ending(make_model(400, num_layers=2, norm_first=False), beam_size=1, min_length=0)
    library = library_of(translator.source_tokenizer)
    alone = Translator(translator.models[0], translator.source_tokenizer, config=translator.config)
    assert translator(short_lines) != alone(short_lines)
    searched = search_lines(translator, short_lines[:3])
    for line, (ids, log_prob) in zip(short_lines, searched, strict=False):
        source = library.encode(line)
        log_probs = forced_log_probs(translator.models, source, ids)
        assert ids == log_probs.argmax(-1).tolist()
        expected = log_probs[np.arange(len(ids)), ids].sum()
        assert log_prob == pytest.approx(expected, rel=1e-4)
    [score] = translator.score(short_lines[:1], ["der Hund"])
    ids = [*library.encode("der Hund"), EOS_ID]
    log_probs = forced_log_probs(translator.models, library.encode(short_lines[0]), ids)
    assert score.log_prob == pytest.approx(log_probs[np.arange(len(ids)), ids].sum(), rel=1e-4)


def test_an_ensemble_of_the_same_model_twice_is_that_model(ending, short_lines):
    one = ending(num_hypotheses=2)
    twice = Translator(one.models * 2, one.source_tokenizer, config=one.config)
    for found, same in zip(one.nbest(short_lines), twice.nbest(short_lines), strict=True):
        assert [translation.text for translation in found] == [t.text for t in same]
        np.testing.assert_allclose([t.log_prob for t in found], [t.log_prob for t in same], 1e-4)


def test_banned_pieces_never_appear(ending, short_lines):
    free = ending()
    library = library_of(free.source_tokenizer)

    def pieces_of(translator):
        found = search_lines(translator, short_lines)
        return [library.id_to_piece(i) for ids, _ in found for i in ids if i != EOS_ID]

    banned = sorted({*pieces_of(free)})[:5]
    assert not {*banned} & {*pieces_of(ending(banned_pieces=banned))}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t, long: t.attend(["a", long]), "`lines` .*at most 12 tokens.*in line 2"),
        (lambda t, long: t(["a", "b"], [long, ""]), "`prefixes` .*at most 12 tokens.*in line 1"),
        (lambda t, long: t(["a"], ["", ""]), r"as many strings.*\[1, 2\]"),
        (lambda t, long: t.score(["a"], []), r"as many strings.*\[1, 0\]"),
    ],
)
def test_errors_name_the_argument(translator, call, message):
    with pytest.raises(ValueError, match=message):
        call(translator, "the dog " * 20)


def test_an_unknown_banned_piece(translator):
    config = DecodingConfig(banned_pieces=("Donaudampfschiff",))
    with pytest.raises(ValueError, match=r"`banned_pieces` must be pieces.*'Donaudampfschiff'"):
        Translator(translator.models, translator.source_tokenizer, config=config)


def test_no_lines_at_all(translator):
    assert translator([]) == translator.nbest([], []) == translator.attend([]) == []
    assert translator.score([], []) == []


def test_a_vocabulary_of_another_size(translator):
    with pytest.raises(ValueError, match=r"`source_tokenizer` .*399 pieces.*one of 400 pieces"):
        Translator(make_model(399), translator.source_tokenizer)


def test_a_second_model_of_another_vocabulary(translator):
    with pytest.raises(ValueError, match=r"`source_tokenizer` .*399 pieces.*one of 400 pieces"):
        Translator([*translator.models, make_model(399)], translator.source_tokenizer)


def test_another_backend(translator, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(ValueError, match=r"set KERAS_BACKEND=tensorflow. Received: 'jax'"):
        Translator(translator.models[0], translator.source_tokenizer)


def test_translator_of_a_run(translator, tmp_path):
    """The best and the latest checkpoint, with the run's own way to decode."""
    tokenizer, checkpoints = translator.source_tokenizer, Checkpoints(tmp_path / "checkpoints")
    run = SimpleNamespace(
        path=tmp_path,
        checkpoints=checkpoints,
        source_tokenizer=tokenizer,
        target_tokenizer=tokenizer,
        config=RunConfig(translator.models[0].config, decoding=translator.config),
    )
    with pytest.raises(FileNotFoundError, match=f"must have a checkpoint.*{tmp_path}"):
        open_runs([run])
    checkpoints.save(translator.models[0], Progress(step=1, epoch=1), {"val_bleu": 20})
    other = vary(make_model(400), seed=2)
    checkpoints.save(other, Progress(step=2, epoch=2), {"val_bleu": 10})
    for name, model in (("best", translator.models[0]), ("latest", other)):
        found = open_runs([run], name)
        assert found.config is translator.config
        assert found.origin["languages"] == {"source": "en", "target": "de"}
        epochs = {"best": 1, "latest": 2}
        assert [one["epoch"] for one in found.origin["training"]] == [epochs[name]]
        for one, same in zip(found.models[0].get_weights(), model.get_weights(), strict=True):
            np.testing.assert_array_equal(one, same)
    lines = ["the dog", "a small cat sees the old man"]
    assert open_runs([run])(lines) == open_runs(run)(lines) == translator(lines)
    other = SimpleNamespace(**vars(run))
    both = open_runs([run, other], "latest")
    assert [model.get_weights()[0].shape for model in both.models] == [(400, 16)] * 2
    other.target_tokenizer = SubwordTokenizer.train(["the cat sat", "the dog ran"], 20)
    with pytest.raises(ValueError, match="must have one target vocabulary"):
        open_runs([run, other])
