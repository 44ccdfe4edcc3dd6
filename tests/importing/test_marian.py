"""Marian's files: against CTranslate2's own converter and engine, which nobody here wrote."""

import dataclasses

import ctranslate2
import keras
import numpy as np
import pytest
from marian_files import write_marian

from keras_transformer import DecodingConfig, Transformer
from keras_transformer.decoding.scoring import shift_right, token_log_probs
from keras_transformer.importing.marian import read_marian
from keras_transformer.importing.marian_vocabulary import read_yaml_vocabulary
from keras_transformer.importing.weights import fill
from keras_transformer.translation.translator import Translator

LINES = ["The dog sleeps in the garden.", "Two men stand at a stove.", "A woman reads a book."]
TARGETS = ["Der Hund schläft.", "Zwei Männer stehen an einem Herd.", "Eine Frau liest."]
POST_NORM = {}
PRE_NORM = {
    **{"separate": True, "enc-depth": 3, "dec-depth": 1, "transformer-ffn-activation": "gelu"},
    **{"transformer-preprocess": "n", "transformer-postprocess": "da"},
    **{"transformer-postprocess-top": "n", "transformer-postprocess-emb": "nd"},
}
both = pytest.mark.parametrize("options", [POST_NORM, PRE_NORM], ids=["post-norm", "pre-norm"])


@pytest.fixture
def models(marian_models):
    return [(marian_models / "opus_mt" / f"{side}.spm").read_bytes() for side in SIDES]


SIDES = ("source", "target")


def as_ctranslate2_has_it(checkpoint):
    """The model with the wavelengths and the epsilon of Hugging Face, which CTranslate2 takes."""
    config = dataclasses.replace(
        checkpoint.config, positions="sinusoidal_halves", norm_epsilon=1e-5
    )
    model = Transformer(config)
    fill(model, checkpoint.weights)
    return model


@both
def test_the_engine_says_the_same(options, models, tmp_path):
    vocabularies = write_marian(tmp_path / "marian", models, **options)
    checkpoint = read_marian(tmp_path / "marian")
    model, tokenizers = as_ctranslate2_has_it(checkpoint), checkpoint.tokenizers
    names = [f"vocab.{side}.yml" for side in ("src", "trg")] if options else ["vocab.yml"] * 2
    converter = ctranslate2.converters.MarianConverter(
        str(tmp_path / "marian" / "model.npz"), [str(tmp_path / "marian" / name) for name in names]
    )
    engine = ctranslate2.Translator(converter.convert(str(tmp_path / "engine")))

    def pieces(side, lines):
        ids = tokenizers[side].tokenize(lines).to_list()
        names = tokenizers[side].pieces
        assert {names[i] for row in ids for i in row} <= {*vocabularies[side]}
        return [[names[i] for i in row[:-1]] for row in ids]

    source, target = (
        tokenizers[side].tokenize(lines).to_tensor().numpy()
        for side, lines in enumerate((LINES, TARGETS))
    )
    inputs = {"source": source, "target": shift_right(target)}
    log_probs = keras.ops.convert_to_numpy(token_log_probs(model(inputs), target))
    sources = pieces(0, LINES)
    scored = engine.score_batch(sources, pieces(1, TARGETS))
    for row, one in zip(log_probs, scored, strict=True):
        np.testing.assert_allclose(row[: len(one.log_probs)], one.log_probs, rtol=1e-4, atol=1e-4)

    config = DecodingConfig(length_normalization="length", length_penalty=1.0, min_length=0)
    found = Translator([model], *tokenizers, config).graph.search(
        source, max_tokens=np.full(len(LINES), 12, "int32"), alpha=np.full(len(LINES), 1.0, "f4")
    )
    results = engine.translate_batch(
        sources,
        beam_size=4,
        length_penalty=1.0,
        max_decoding_length=12,
        min_decoding_length=0,
        patience=20.0,
        return_scores=True,
    )
    names = tokenizers[1].pieces
    for ids, score, result in zip(found.ids.numpy(), found.scores.numpy(), results, strict=True):
        said = [names[i] for i in ids[0] if i > 3 or i == 1]
        assert result.hypotheses[0] == said
        assert result.scores[0] == pytest.approx(score[0], rel=1e-3)


def test_what_a_model_is(models, tmp_path):
    """Not in other converters' terms, but in those that the weights were trained in."""
    write_marian(tmp_path / "marian", models)
    checkpoint = read_marian(tmp_path / "marian")
    config, decoding = checkpoint.config, checkpoint.decoding
    assert config.positions == "sinusoidal_t2t"
    assert (config.norm_epsilon, config.zero_start, config.max_length) == (1e-6, True, 60)
    assert (config.tie_embeddings, config.one_embedding, config.activation) == (True, True, "swish")
    assert (decoding.beam_size, decoding.banned_pieces) == (6, ("<unk>",))
    assert (decoding.length_normalization, decoding.length_penalty) == ("length", 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"transformer-decoder-autoreg": "rnn"}, "transformer-decoder-autoreg 'self-attention'"),
        ({"transformer-decoder-autoreg": "ssru"}, "Received: transformer-decoder-autoreg='ssru'"),
        ({"transformer-depth-scaling": True}, "transformer-depth-scaling False"),
        ({"transformer-tied-layers": [1, 1]}, "transformer-tied-layers"),
        ({"type": "multi-transformer"}, "type 'transformer'"),
        ({"lemma-dim-emb": 8}, "lemma-dim-emb"),
        ({"transformer-ffn-depth": 3}, "transformer-ffn-depth 2"),
        ({"transformer-postprocess": "adn"}, "transformer-postprocess"),
        ({"transformer-ffn-activation": "prelu"}, "'relu' or 'swish' or 'gelu'"),
    ],
)
def test_what_is_not_supported_is_named(options, message, models, tmp_path):
    write_marian(tmp_path / "marian", models, **options)
    with pytest.raises(ValueError, match=message):
        read_marian(tmp_path / "marian")


def test_vocabularies_are_read_as_marian_writes_them(tmp_path):
    """Entries that a parser of YAML merges, drops or refuses."""
    content = (
        "</s>: 0\n<unk>: 1\n\"\\\"\": 2\n':': 3\n'''': 4\n<<: 5\n~: 6\nnull: 7\n1.5: 8\n"
        '"\\x85": 9\n"\\\\": 10\n"\\u2028": 11\n? "a"\n: 12\n\u2581\u3000: 13\n:: 14\n"#": 15\n'
        "yes: 16\n\x85: 17\n"
    )
    expected = ["</s>", "<unk>", '"', ":", "'", "<<", "~", "null", "1.5", "\x85", "\\", "\u2028"]
    expected += ["a", "\u2581\u3000", ":", "#", "yes"]
    # One piece is there twice, once in quotes: two lines, two ids.
    path = tmp_path / "vocab.yml"
    assert read_yaml_vocabulary(content.encode(), path) == [*expected, "\x85"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: 0\nb\n", "'b' in line 2"),
        (b"a: 0\nb: 2\n", "2 ids up to 2"),
        (b"a: 0\nb: 0\n", "an id of its own"),
        (b"\xff: 0\n", "UTF-8"),
        (b'"\\UFFFFFFFF": 0\n', r"of characters.*Received: \\UFFFFFFFF"),
    ],
)
def test_a_vocabulary_that_is_none(content, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read_yaml_vocabulary(content, tmp_path / "vocab.yml")
