"""Export to a MarianMTModel: imported again it is the same model, and transformers agrees."""

import dataclasses
import json

import keras
import numpy as np
import pytest
import thorough
from small_translator import LINES, SIZE, small_translator, train_tokenizers

from keras_transformer import DecodingConfig
from keras_transformer.export.huggingface import export_huggingface, marian_weights
from keras_transformer.export.opening import languages_of, open_translator
from keras_transformer.importing.huggingface import read_huggingface
from keras_transformer.importing.runs import import_run
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID

ORIGIN = {"languages": {"source": "en", "target": "de"}}
JOINT = {"eos": 2.0}
SEPARATE = {
    **{"separate": True, "tie_embeddings": False, "num_decoder_layers": 1, "eos": 0.0},
    **{"attention_bias": True, "output_bias": True, "zero_start": True},
    **{"positions": "sinusoidal_halves", "activation": "swish", "norm_epsilon": 1e-5},
}
both = pytest.mark.parametrize("overrides", [JOINT, SEPARATE], ids=["joint", "separate"])


@pytest.fixture(scope="module")
def tokenizers():
    return train_tokenizers()


@pytest.fixture
def make(tokenizers):
    """Makes a translator with a model at random."""

    def make_translator(separate=False, eos=5.0, **overrides):
        # Models at random like to say the same again.
        config = DecodingConfig(
            length_normalization="length", length_penalty=1.0, min_length=0, no_repeat_ngram=2
        )
        offsets = {EOS_ID: eos}
        return small_translator(tokenizers, separate, offsets, config, ORIGIN, **overrides)

    return make_translator


def logits_of(model, source, target):
    inputs = {"source": source, "target": target}
    return keras.ops.convert_to_numpy(model(inputs, training=False))


@both
def test_imported_again_it_is_the_same_model(make, tmp_path, overrides):
    translator = make(**overrides)
    path = export_huggingface(translator, tmp_path)
    run = import_run(path, tmp_path / "run")
    [model], again = translator.models, run.checkpoints.best().load()
    assert again.config == model.config
    assert run.config.data.source_language == "en"
    for side in ("source_tokenizer", "target_tokenizer"):
        assert getattr(run, side).model == getattr(translator, side).model
        assert getattr(run, side).segmentation is None
    source = translator.source_tokenizer.tokenize(LINES).to_tensor().numpy()
    target = np.random.default_rng(0).integers(3, 30, (len(LINES), 7)).astype("int32")
    target[:, 0] = BOS_ID
    np.testing.assert_array_equal(
        logits_of(model, source, target), logits_of(again, source, target)
    )
    for name in ("beam_size", "length_penalty", "length_normalization", "no_repeat_ngram"):
        assert getattr(run.config.decoding, name) == getattr(translator.config, name)


def decoding_after_a_round_trip(translator, tmp_path, **options):
    translator.config = dataclasses.replace(translator.config, **options)
    path = export_huggingface(translator, tmp_path / "hub")
    told = json.loads((path / "generation_config.json").read_text())
    return told, import_run(path, tmp_path / "run").config.decoding


@pytest.mark.parametrize(
    "options",
    [
        dict(min_length=3, length_penalty=0.0, early_stopping=True, banned_pieces=("<unk>",)),
        dict(sampling=True, beam_size=1, temperature=0.5, top_k=7, top_p=0.9),
        *thorough.number([], [dict(sampling=True, beam_size=1)]),
    ],
)
def test_options_that_come_back(make, tmp_path, options):
    told, found = decoding_after_a_round_trip(make(**JOINT), tmp_path, **options)
    for name, value in options.items():
        assert getattr(found, name) == value
    assert told.get("do_sample", False) == found.sampling


def test_a_sampled_run_is_sampled_there_without_a_beam(make, tmp_path):
    told, _ = decoding_after_a_round_trip(make(**JOINT), tmp_path, sampling=True)
    expected = {"do_sample": True, "num_beams": 1, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
    assert {name: told[name] for name in expected} == expected


def test_the_least_tokens_in_both_ways(make, tmp_path):
    """Of `min_length` the start is one."""
    path = export_huggingface(make(**JOINT), tmp_path / "hub") / "generation_config.json"
    told = json.loads(path.read_text())
    for given, expected in (
        ({"min_new_tokens": None, "min_length": 3}, 2),
        ({"min_new_tokens": None, "min_length": 0}, 0),
        ({"min_new_tokens": 4, "min_length": 3}, 4),
    ):
        path.write_text(json.dumps({**told, **given}))
        assert read_huggingface(path.parent).decoding.min_length == expected


ZERO_START = {"zero_start": True, "tie_embeddings": True, "output_bias": True}
ties = pytest.mark.parametrize(
    "overrides",
    [
        {**ZERO_START, **JOINT},
        {**ZERO_START, "separate": True},
        {**ZERO_START, "share_embeddings": False},
    ],
    ids=["all", "target", "unshared"],
)


@ties
def test_a_tied_row_that_the_decoder_does_not_begin_with(make, tmp_path, overrides):
    """It gives the logit of bos, which counts in the softmax."""
    translator = make(**overrides)
    [model] = translator.models
    assert keras.ops.convert_to_numpy(model.output_embedding.embeddings)[BOS_ID].any()
    weights = marian_weights(model)
    assert not weights["model.decoder.embed_tokens.weight"][BOS_ID].any()
    assert weights["lm_head.weight"][BOS_ID].any()
    run = import_run(export_huggingface(translator, tmp_path / "hub"), tmp_path / "run")
    again = run.checkpoints.best().load()
    assert again.config == model.config
    for one, other in zip(model.weights, again.weights, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_a_tied_row_of_zeros_stays_tied(make):
    [model] = make(**ZERO_START).models
    matrix = model.target_embedding.embeddings.numpy()
    matrix[BOS_ID] = 0.0
    model.target_embedding.embeddings.assign(matrix)
    assert "lm_head.weight" not in marian_weights(model)


@ties
def test_transformers_has_the_logit_of_bos(make, tmp_path, overrides):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    translator = make(**overrides)
    path = export_huggingface(translator, tmp_path)
    model = transformers.MarianMTModel.from_pretrained(path).eval()
    source = np.array([[5, 6, EOS_ID]])
    target = np.array([[BOS_ID, 7, 8]])
    with torch.no_grad():
        ids = dict(input_ids=torch.tensor(source), decoder_input_ids=torch.tensor(target))
        logits = model(**ids).logits.numpy()
    expected = logits_of(translator.models[0], source, target)
    np.testing.assert_allclose(logits, expected, rtol=1e-3, atol=1e-3)


def test_it_is_told_how_such_a_folder_is_used(make, tmp_path):
    path = export_huggingface(make(), tmp_path)
    with pytest.raises(ValueError, match=f"`keras-transformer import {path} --output RUN`"):
        open_translator(tmp_path)
    assert languages_of(path) == ("en", "de")


@both
def test_transformers_computes_the_same(make, tmp_path, overrides):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    translator = make(**overrides)
    path = export_huggingface(translator, tmp_path)
    model = transformers.MarianMTModel.from_pretrained(path).eval()
    tokenizer = transformers.MarianTokenizer.from_pretrained(path)
    inputs = tokenizer(LINES, return_tensors="pt", padding=True)
    source = translator.source_tokenizer.tokenize(LINES).to_tensor().numpy()
    np.testing.assert_array_equal(inputs.input_ids, source)
    target = np.random.default_rng(0).integers(3, 30, (len(LINES), 7))
    target[:, 0] = BOS_ID
    with torch.no_grad():
        logits = model(**inputs, decoder_input_ids=torch.tensor(target)).logits.numpy()
        found = model.generate(**inputs, return_dict_in_generate=True, output_scores=True)
    np.testing.assert_allclose(
        logits, logits_of(translator.models[0], source, target), rtol=1e-3, atol=1e-3
    )
    texts = tokenizer.batch_decode(found.sequences[:, 1:], skip_special_tokens=True)
    assert texts == [text.replace(" \u2047 ", "") for text in translator(LINES)]
    assert len({*texts}) > 2


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"norm_first": True}, "no other `norm_first` than False"),
        ({"positions": "learned"}, "no other `positions` than sinusoidal or"),
        ({"key_dim": 4}, "no other `key_dim` than None"),
        ({"activation": "tanh"}, "no other `activation` than one of relu"),
        ({"embedding_norm": True}, "no other `embedding_norm` than False"),
    ],
)
def test_what_marian_has_not(make, tmp_path, overrides, message):
    with pytest.raises(ValueError, match=message):
        export_huggingface(make(**overrides), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_options_of_the_search(make, tmp_path):
    translator = make(**JOINT)
    config = dataclasses.replace(translator.config, early_stopping=True, banned_pieces=("<unk>",))
    translator.config = config
    told = json.loads(
        (export_huggingface(translator, tmp_path) / "generation_config.json").read_text()
    )
    assert told["early_stopping"] is True
    assert told["bad_words_ids"] == [[PAD_ID], [BOS_ID], [1]]
    # The start counts there.
    assert told["max_length"] == SIZE["max_length"] + 1


def test_a_quantization_is_refused(make, tmp_path):
    with pytest.raises(ValueError, match="`quantization` must be None"):
        export_huggingface(make(), tmp_path, quantization="int8")
