"""Several target languages in one model: corpora in other languages, tags, their vocabularies."""

import dataclasses
import re

import numpy as np
import pytest
import thorough
from small_translator import small_translator
from untrained_run import untrained_run

from keras_transformer.config import DataConfig, DecodingConfig
from keras_transformer.data.corpora import Corpus, CorpusError, open_corpus
from keras_transformer.data.held_out import hold_out
from keras_transformer.data.mixing import corpora_of, languages_of, open_training_corpus
from keras_transformer.data.tags import tagged
from keras_transformer.data.weights import weight_of
from keras_transformer.export.opening import open_translator
from keras_transformer.export.saved_model import export_saved_model
from keras_transformer.tasks import train
from keras_transformer.tasks.translation.inputs import require_languages
from keras_transformer.text.enlargement import enlarge_sentencepiece
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.translation.target_tags import TargetTags

LINES = ["the dog sees the cat", "a cat runs", "der Hund sieht die Katze", "eine Katze rennt"]


def test_a_corpus_in_reverse_has_its_sides_and_weights_in_each_others_place(tmp_path):
    (tmp_path / "c.tsv").write_text("a\tA\t0.5\nb\tB\t2\n")
    corpus = open_corpus(f"reversed:{tmp_path / 'c.tsv'}", "en", "de", weights=True)
    assert list(corpus) == [("A", "a"), ("B", "b")]
    assert list(map(weight_of, corpus)) == [0.5, 2.0]
    assert (corpus.target_language, corpus.weighted, corpus.files) == ("en", True, ())
    english = list(open_corpus("phrasebook:test:9", "en", "de"))
    assert list(open_corpus("reversed:phrasebook:test:9", "en", "de")) == [p[::-1] for p in english]
    assert list(open_corpus("de-en:phrasebook:test:9", "en", "de")) == [p[::-1] for p in english]


def test_a_corpus_in_other_languages(tmp_path):
    for language in ("en", "fr"):
        (tmp_path / f"c.{language}").write_text(f"{language}\n")
    corpus = open_corpus(f"fr-en:{tmp_path / 'c'}", "en", "de")
    assert list(corpus) == [("fr", "en")]
    assert corpus.target_language == "en"
    with pytest.raises(CorpusError, match="`source_language` and `target_language` must differ"):
        open_corpus("en-en:phrasebook", "en", "de")


@pytest.mark.parametrize(
    ("spec", "pair", "languages"),
    [
        ("reversed:fr-en:{}", ("en", "fr"), ("en", "fr")),
        ("reversed:de-fr:{}", ("fr", "de"), ("fr", "de")),
        ("reversed:reversed:{}", ("en", "de"), ("en", "de")),
        ("en-fr:reversed:{}", ("fr", "en"), ("fr", "en")),
    ],
)
def test_a_corpus_in_reverse_of_other_languages(spec, pair, languages, tmp_path):
    """Each line is its language's code, so that it tells where it was read from."""
    for language in ("en", "de", "fr"):
        (tmp_path / f"c.{language}").write_text(f"{language}\n")
    corpus = open_corpus(spec.format(tmp_path / "c"), "en", "de")
    assert list(corpus) == [pair]
    assert (corpus.source_language, corpus.target_language) == languages


def test_each_corpus_of_a_mixture_asks_for_its_own_language_and_no_held_out_sentence_is_in_it():
    data = DataConfig("phrasebook:train:50", mix={"reversed:phrasebook:train:50": 1}, tags=True)
    plain = open_training_corpus(dataclasses.replace(data, tags=False))
    held_out = hold_out(plain.main, 5)
    corpus = open_training_corpus(data, held_out)
    assert languages_of(corpus) == ["de", "en"]
    pairs = [[*one] for one in corpora_of(corpus)]
    for (source, target), (back_source, back_target) in zip(*pairs, strict=True):
        assert source == f">>de<< {back_target}"
        assert back_source == f">>en<< {target}"
    assert len(pairs[0]) == 45
    assert not {text for pair in held_out for text in pair} & {target for _, target in corpus}
    weighted = Corpus("w", lambda: iter([("a", "A")]), target_language="de")
    assert list(tagged(weighted)) == [(">>de<< a", "A")]


@pytest.fixture(scope="module")
def tokenizer():
    return SubwordTokenizer.train(LINES, 40, languages=["de", "en"])


def test_a_vocabulary_has_a_piece_for_each_tag_which_only_the_start_of_a_text_is_cut_into(
    tokenizer,
):
    assert dict(tokenizer.tags) == {"de": 4, "en": 5}
    plain = tokenizer.tokenize(["a cat"]).to_list()[0]
    texts = [">>en<< a cat", ">>de<<a cat", ">>fr<< a cat", ">>de<<", ""]
    expected = [[5, *plain], [4, *plain], [1, *plain], [4, 3], [3]]
    assert tokenizer.tokenize(texts).to_list() == expected
    inside = tokenizer.tokenize(["a >>de<< cat"]).to_list()[0]
    assert 4 not in inside
    assert tokenizer.detokenize([[4, *plain]]).numpy().tolist() == [b"a cat"]


def test_pieces_are_drawn_of_what_follows_the_tag(tokenizer):
    drawn = tokenizer.tokenize_sampled([">>en<< the dog", "the dog"], 0.5, seed=3).to_list()
    assert drawn[0][0] == 5
    assert 5 not in drawn[1]
    texts = tokenizer.detokenize([*map(np.array, drawn)][:1]).numpy().tolist()
    assert texts == [b"the dog"]


def test_a_vocabulary_without_tags_is_what_it_was(tokenizer):
    plain = SubwordTokenizer.train([*LINES, ">>de<< a", ">>de<< b"], 45)
    assert dict(plain.tags) == {}
    assert plain.detokenize(plain.tokenize([">>de<< a"])).numpy().tolist() == [b">>de<< a"]
    # Of the same text, the pieces are the same but for the tags.
    without = SubwordTokenizer.train(LINES, 38)
    assert [*without.pieces[:4], *tokenizer.pieces[4:6], *without.pieces[4:]] == tokenizer.pieces


def test_a_translator_reads_what_training_read(tokenizer):
    tags = TargetTags(tokenizer, "de")
    texts = ["a cat", ">>en<< a cat", ">>de<<the dog", ""]
    read = tags.put_before(*tags.cut_off(tokenizer.tokenize(texts)))
    learned = tokenizer.tokenize([">>de<< a cat", ">>en<< a cat", ">>de<< the dog", ""])
    assert read.to_list() == learned.to_list()


@thorough.only
def test_an_export_keeps_tags(tokenizer, tmp_path):
    translator = small_translator(
        {"joint": tokenizer}, False, {}, DecodingConfig(beam_size=2, target_language="de")
    )
    texts = ["a cat", ">>en<< a cat", ">>de<< a cat", ">>en<< the dog sees the cat"]
    found = translator.nbest(texts)
    assert found[0] == found[2] != found[1]
    exported = open_translator([export_saved_model(translator, tmp_path / "tagged")]).nbest(texts)
    for one, other in zip(found, exported, strict=True):
        assert one[0].text == other[0].text
        assert one[0].log_prob == pytest.approx(other[0].log_prob, abs=1e-4)


def test_a_given_translation_has_no_tag(tokenizer):
    """One vocabulary is that of both sides, and the tag belongs to the source alone."""
    config = DecodingConfig(beam_size=1, target_language="de")
    translator = small_translator({"joint": tokenizer}, False, {}, config)
    [score] = translator.score(["a cat"], ["eine Katze"])
    ids = tokenizer.tokenize(["eine Katze"]).to_list()[0]
    assert score.pieces == [tokenizer.pieces[i] for i in ids]


def test_an_enlarged_vocabulary_keeps_its_tags(tokenizer):
    larger = SubwordTokenizer(enlarge_sentencepiece(tokenizer.model, ["zebras sleep"] * 9, 44))
    assert dict(larger.tags) == {"de": 4, "en": 5}
    assert larger.pieces[:40] == tokenizer.pieces


def test_a_run_that_begins_with_another_needs_its_tags(tmp_path):
    start = untrained_run(tmp_path / "start")
    data = DataConfig("phrasebook:train:200", valid=None, tags=True)
    config = dataclasses.replace(start.config, data=data)
    with pytest.raises(ValueError, match=r"`tags` needs a vocabulary that has them.*tag for de"):
        train(tmp_path / "run", config, init_from=start.path)


@pytest.mark.parametrize(
    ("changes", "received"),
    [
        ({"train": "reversed:phrasebook:train:9"}, "reversed:phrasebook:train:9, from de into en"),
        ({"train": "en-tree:parses:train:9"}, "en-tree:parses:train:9, from en into tree"),
        ({"valid": "reversed:phrasebook:valid:9"}, "reversed:phrasebook:valid:9, from de into en"),
        ({"mix": {"en-tree:parses:train:9": 1}}, "en-tree:parses:train:9, from en into tree"),
    ],
)
def test_a_model_of_other_languages_than_its_run_says_is_not_trained(changes, received):
    data = DataConfig(**{"train": "phrasebook:train:9", "valid": "phrasebook:valid:9"} | changes)
    with pytest.raises(CorpusError, match=re.escape(f"Received: {received}")):
        require_languages(data)
    require_languages(dataclasses.replace(data, tags=True))


def test_a_corpus_may_say_its_languages_itself(tmp_path):
    """Columns that stand the other way round are read so."""
    (tmp_path / "c.tsv").write_text("ein Hund\ta dog\n")
    spec = f"reversed:de-en:{tmp_path / 'c.tsv'}"
    require_languages(DataConfig(spec, valid=None, mix={"reversed:phrasebook:train:9": 1}))
    assert list(open_corpus(spec, "en", "de")) == [("a dog", "ein Hund")]
