"""Export to CTranslate2: its engine finds what the translator finds, with the same scores."""

import json
import sys

import ctranslate2
import pytest
import sentencepiece
from random_models import offset_logits, vary

from keras_transformer import DecodingConfig, Transformer, TransformerConfig
from keras_transformer.export.ctranslate2 import export_ctranslate2
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID
from keras_transformer.translation.translator import Translator

LINES = ["the cat sat", "a dog ran", "the old dog sat down", "cats", "a cat ran down", "dogs sat"]
TARGETS = ["die Katze lief", "ein Hund saß", "der alte Hund setzte sich hin", "Katzen", "Hunde"]
SIZE = dict(num_layers=2, d_model=16, d_ff=32, num_heads=2, max_length=12)


@pytest.fixture(scope="module")
def tokenizers():
    """Of the source, of the target, and joint."""
    sizes = {"source": (LINES, 30), "target": (TARGETS, 36), "joint": (LINES + TARGETS, 50)}
    return {side: SubwordTokenizer.train(lines, size) for side, (lines, size) in sizes.items()}


@pytest.fixture
def make(tokenizers):
    """Makes a translator with a model at random; the larger `eos`, the sooner it ends."""

    def make_translator(separate=False, eos=5.0, **overrides):
        source, target = ("source", "target") if separate else ("joint", "joint")
        sizes = {"vocab_size": tokenizers[target].vocab_size}
        if separate:
            sizes["source_vocab_size"] = tokenizers[source].vocab_size
        model = vary(Transformer(TransformerConfig(**sizes, **{**SIZE, **overrides})), seed=0)
        # CTranslate2 may say pad and bos, which a trained model never finds probable.
        offset_logits(model, {PAD_ID: -50.0, BOS_ID: -50.0, EOS_ID: eos})
        return Translator(model, tokenizers[source], tokenizers[target])

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


def test_what_a_version_holds(make, tmp_path):
    translator = make(separate=True, num_layers=1)
    assert export_ctranslate2(translator, tmp_path).name == "1"
    path = export_ctranslate2(translator, tmp_path, quantization="int8")
    assert path == tmp_path / "2"
    assert ctranslate2.Translator(str(path)).compute_type.startswith("int8")
    sides = {"source": translator.source_tokenizer, "target": translator.target_tokenizer}
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
