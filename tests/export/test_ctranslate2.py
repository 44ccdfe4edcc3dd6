"""Export to CTranslate2: its engine finds what the translator finds, with the same scores."""

import json
import sys

import ctranslate2
import pytest
import sentencepiece
from small_translator import LINES, SIZE, small_translator, train_tokenizers

from keras_transformer import DecodingConfig
from keras_transformer.export.ctranslate2 import export_ctranslate2
from keras_transformer.export.opening import languages_of, open_translator
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID
from keras_transformer.translation.translator import Translator


@pytest.fixture(scope="module")
def tokenizers():
    return train_tokenizers()


@pytest.fixture
def make(tokenizers):
    """Makes a translator with a model at random; the larger `eos`, the sooner it ends."""

    def make_translator(separate=False, eos=5.0, **overrides):
        # CTranslate2 may say pad and bos, which a trained model never finds probable.
        offsets = {PAD_ID: -50.0, BOS_ID: -50.0, EOS_ID: eos}
        return small_translator(tokenizers, separate, offsets, **overrides)

    return make_translator


def with_beam(translator, beam_size):
    """The same without a length penalty, of which CTranslate2 has another."""
    config = DecodingConfig(beam_size=beam_size, length_penalty=0.0, min_length=0)
    tokenizers = translator.source_tokenizer, translator.target_tokenizer
    return Translator(translator.models, *tokenizers, config)


@pytest.mark.parametrize(
    "overrides",
    [
        {"tie_embeddings": False, "eos": 3.0},
        {"norm_first": True, "activation": "gelu", "eos": 1.0},
        {"separate": True, "positions": "learned", "activation": "silu", "tie_embeddings": False},
        {"separate": True, "positions": "none", "tie_embeddings": False, "norm_first": True},
        {
            **{"attention_bias": True, "output_bias": True, "zero_start": True, "eos": 0.0},
            **{"num_decoder_layers": 1, "activation": "quick_gelu", "norm_epsilon": 1e-3},
            **{"positions": "sinusoidal_halves", "tie_embeddings": False},
        },
        {
            **{"separate": True, "norm_first": True, "embedding_norm": True},
            **{"positions": "sinusoidal_t2t", "scale_embeddings": False},
            **{"tie_embeddings": False, "eos": 0.0},
        },
    ],
    ids=str,
)
def test_the_engine_finds_the_same(make, tmp_path, overrides):
    """Read with SentencePiece and CTranslate2 alone, as somebody who has only the folder would."""
    translator = make(**overrides)
    path = export_ctranslate2(translator, tmp_path)
    engine = ctranslate2.Translator(str(path), compute_type="float32")
    source, target = (
        sentencepiece.SentencePieceProcessor(str(path / f"{side}.model"))
        for side in ("source", "target")
    )
    said = set()
    for beam_size in (1, 4):
        searcher = with_beam(translator, beam_size)
        found = searcher.graph.search(searcher.source_tokenizer.tokenize(LINES).to_tensor(0))
        results = engine.translate_batch(
            [source.encode(line, out_type=str) for line in LINES],
            beam_size=beam_size,
            length_penalty=0.0,
            return_scores=True,
            max_decoding_length=SIZE["max_length"],
            # What it does by default is to forbid an empty translation, and to stop early.
            min_decoding_length=0,
            patience=10.0,
        )
        ids, log_probs = found.ids.numpy()[:, 0], found.log_probs.numpy()[:, 0]
        for row, log_prob, result in zip(ids, log_probs, results, strict=True):
            pieces = [target.id_to_piece(int(i)) for i in row if i not in (PAD_ID, EOS_ID)]
            assert result.hypotheses[0] == pieces
            assert result.scores[0] == pytest.approx(log_prob, rel=1e-4)
            said.add(tuple(pieces))
    assert len(said) > 2, "a model that always says the same would show little"


@pytest.mark.parametrize(
    ("overrides", "options"),
    [
        ({"tie_embeddings": False, "eos": 3.0}, {"beam_size": 1}),
        ({"tie_embeddings": False, "eos": 3.0}, {"beam_size": 1, "min_length": 4}),
        (
            {"separate": True, "norm_first": True, "tie_embeddings": False, "eos": 3.0},
            {"beam_size": 1, "split_sentences": True},
        ),
    ],
)
def test_opened_it_translates_as_the_translator(make, tmp_path, overrides, options):
    """By greedy search, in which no length penalty counts; pieces and blank lines and all."""
    translator = make(**overrides)
    same = Translator(
        translator.models,
        translator.source_tokenizer,
        translator.target_tokenizer,
        DecodingConfig(**options),
    )
    opened = open_translator([export_ctranslate2(translator, tmp_path)], options=options)
    lines = [*LINES, "", "\u00fc", "the cat sat. " * 9, b"\xff"]
    expected = same.nbest(lines)
    assert len({best.text for [best] in expected}) > 3
    for [found], [best] in zip(opened.nbest(lines), expected, strict=True):
        assert found.text == best.text
        assert found.log_prob == pytest.approx(best.log_prob, rel=1e-4, abs=1e-5)


def test_opened_it_scores_as_the_translator(make, tmp_path):
    translator = make(separate=True)
    opened = open_translator([export_ctranslate2(translator, tmp_path)])
    sources, targets = [*LINES[:3], "", ""], ["Katzen", "", "Hund Hund", "Hund", ""]
    for found, same in zip(
        opened.score(sources, targets), translator.score(sources, targets), strict=True
    ):
        assert found.pieces == same.pieces
        assert found.log_prob == pytest.approx(same.log_prob, rel=1e-4, abs=1e-5)
        assert found.piece_log_probs == pytest.approx(same.piece_log_probs, rel=1e-3, abs=1e-5)


def test_opened_it_gives_several_translations(make, tmp_path):
    """Each with the log-probability that its tokens have, whatever the search was made to avoid."""
    translator = make(tie_embeddings=False, eos=3.0)
    path = export_ctranslate2(translator, tmp_path)
    banned = translator.target_tokenizer.pieces[-1]
    options = dict(beam_size=4, num_hypotheses=3, no_repeat_ngram=2, banned_pieces=[banned])
    opened = open_translator([path], options=options)
    assert [len(translations) for translations in opened.nbest(LINES)] == [3] * len(LINES)
    source = translator.source_tokenizer.tokenize(LINES).to_tensor(0)
    found = opened._graph.search(source)
    for i in range(3):
        ids = found.ids[:, i]
        expected = translator.graph._force_decode(source, ids).numpy().sum(1)
        assert found.log_probs[:, i].numpy() == pytest.approx(expected, rel=1e-3)
        assert banned.encode() not in translator.target_tokenizer.to_pieces(ids).numpy()


def test_opened_it_refuses_what_the_engine_has_not(make, tmp_path):
    path = export_ctranslate2(make(num_layers=1), tmp_path)
    with pytest.raises(ValueError, match=r"own options.*options: coverage_penalty, sampling$"):
        open_translator([path], options={"sampling": True, "coverage_penalty": 1.0, "beam_size": 2})
    with pytest.raises(ValueError, match=r"use the run or a SavedModel.*attention"):
        open_translator([path]).attend(LINES)


def test_opened_without_the_package(make, tmp_path, monkeypatch):
    path = export_ctranslate2(make(num_layers=1), tmp_path)
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(ImportError, match=r"pip install 'keras_transformer\[ctranslate2\]'"):
        open_translator([path])


def test_an_export_without_metadata_opens(make, tmp_path):
    """As they were written before, without languages and limits."""
    path = export_ctranslate2(make(num_layers=1), tmp_path)
    languages = {"source": "en", "target": "de"}
    (path / "metadata.json").write_text(json.dumps({"languages": languages}), "utf-8")
    assert languages_of(tmp_path) == ("en", "de")
    (path / "metadata.json").unlink()
    assert len(open_translator([tmp_path]).nbest(LINES[:2])) == 2
    with pytest.raises(ValueError, match=f"metadata.json.*languages.*{path}"):
        languages_of(path)


def test_what_a_version_holds(make, tmp_path):
    translator = make(separate=True, num_layers=1)
    assert export_ctranslate2(translator, tmp_path).name == "1"
    path = export_ctranslate2(translator, tmp_path, quantization="int8")
    assert path == tmp_path / "2"
    assert ctranslate2.Translator(str(path)).compute_type.startswith("int8")
    sides = {"source": translator.source_tokenizer, "target": translator.target_tokenizer}
    metadata = json.loads((path / "metadata.json").read_text("utf-8"))
    assert (metadata["format"], metadata["quantization"]) == ("ctranslate2", "int8")
    assert metadata["limits"] == {"max_length": SIZE["max_length"]}
    assert metadata["decoding"] is None, "the engine takes them with each call"
    for side, tokenizer in sides.items():
        assert (path / f"{side}.model").read_bytes() == tokenizer.model
        assert json.loads((path / f"{side}_vocabulary.json").read_text()) == tokenizer.pieces
    with pytest.raises(FileExistsError, match=rf"must not exist yet.*{tmp_path}/2"):
        export_ctranslate2(translator, tmp_path, version=2)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"key_dim": 4}, "d_model / num_heads only.*key_dim=4, value_dim=None"),
        ({"value_dim": 4}, "d_model / num_heads only.*key_dim=None, value_dim=4"),
        ({"activation": "elu"}, "activations relu, gelu.*activation='elu'"),
        ({"attention_score": "dot"}, "scaled dot-product attention only.*attention_score='dot'"),
        ({"window": 3}, "no restricted self-attention.*window=3"),
    ],
)
def test_models_that_the_engine_cannot_run(make, tmp_path, overrides, message):
    translator = make(num_layers=1, **overrides)
    with pytest.raises(ValueError, match=message):
        export_ctranslate2(translator, tmp_path / "exports")
    assert not list(tmp_path.iterdir())


def test_widths_that_are_the_share_of_d_model_are_no_obstacle(make, tmp_path):
    translator = make(num_layers=1, key_dim=8, value_dim=8)
    assert export_ctranslate2(translator, tmp_path).is_dir()


def test_an_ensemble(make, tmp_path):
    translator = make(num_layers=1)
    both = Translator(translator.models * 2, translator.source_tokenizer)
    with pytest.raises(ValueError, match=r"no ensembles.*Received: 2"):
        export_ctranslate2(both, tmp_path / "exports")
    assert not list(tmp_path.iterdir())


def test_without_the_package(make, tmp_path, monkeypatch):
    translator = make(num_layers=1)
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(ImportError, match=r"pip install 'keras_transformer\[ctranslate2\]'"):
        export_ctranslate2(translator, tmp_path / "exports")
    assert not list(tmp_path.iterdir())


def test_an_export_that_fails_leaves_nothing(make, tmp_path, monkeypatch):
    translator = make(num_layers=1)

    def fail(tokenizer, path):
        raise OSError("no space left on device")

    monkeypatch.setattr(SubwordTokenizer, "save", fail)
    with pytest.raises(OSError, match="no space left"):
        export_ctranslate2(translator, tmp_path / "exports")
    assert not [path for path in tmp_path.rglob("*") if path.name != "exports"]


def test_an_unknown_quantization_leaves_nothing(make, tmp_path):
    with pytest.raises(ValueError, match="int3"):
        export_ctranslate2(make(num_layers=1), tmp_path / "exports", quantization="int3")
    assert not list(tmp_path.iterdir())
