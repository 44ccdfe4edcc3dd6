"""Export to a MarianMTModel: imported again it is the same model, and transformers agrees."""

import dataclasses
import json

import keras
import numpy as np
import pytest
from random_models import offset_logits, vary

from keras_transformer import DecodingConfig, Transformer, TransformerConfig
from keras_transformer.export.huggingface import export_huggingface
from keras_transformer.importing.runs import import_run
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID
from keras_transformer.translation.translator import Translator

LINES = ["the cat sat", "a dog ran", "the old dog sat down", "cats", "a cat ran down", "dogs sat"]
TARGETS = ["die Katze lief", "ein Hund saß", "der alte Hund setzte sich hin", "Katzen", "Hunde"]
SIZE = dict(num_layers=2, d_model=16, d_ff=32, num_heads=2, max_length=12)
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
    sizes = {"source": (LINES, 30), "target": (TARGETS, 36), "joint": (LINES + TARGETS, 50)}
    return {side: SubwordTokenizer.train(lines, size) for side, (lines, size) in sizes.items()}


@pytest.fixture
def make(tokenizers):
    """Makes a translator with a model at random."""

    def make_translator(separate=False, eos=5.0, **overrides):
        source, target = ("source", "target") if separate else ("joint", "joint")
        sizes = {"vocab_size": tokenizers[target].vocab_size}
        if separate:
            sizes["source_vocab_size"] = tokenizers[source].vocab_size
        config = TransformerConfig(**sizes, **{**SIZE, **overrides})
        model = offset_logits(vary(Transformer(config), seed=0), {EOS_ID: eos})
        return Translator(
            model,
            tokenizers[source],
            tokenizers[target],
            # Models at random like to say the same again.
            DecodingConfig(
                length_normalization="length", length_penalty=1.0, min_length=0, no_repeat_ngram=2
            ),
            ORIGIN,
        )

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
