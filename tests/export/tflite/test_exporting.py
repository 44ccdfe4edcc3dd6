"""TFLite: the same translations as the translator's, by the files alone."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
import tensorflow as tf
import thorough
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from hostile import BLANK, HOSTILE
from random_models import offset_logits, vary
from sentencepiece import sentencepiece_model_pb2

from keras_transformer import DecodingConfig, Transformer, TransformerConfig
from keras_transformer.data.corpora import open_corpus
from keras_transformer.decoding import search_translations
from keras_transformer.export.opening import open_translator
from keras_transformer.export.tflite import export_tflite
from keras_transformer.export.tflite.translator import LiteTranslator
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import EOS_ID, PAD_ID
from keras_transformer.translation.translator import Translator

MAX_LENGTH = 16
TENSORFLOW = "keras_transformer,keras,tensorflow,tensorflow_text"
EXAMPLES = Path(__file__).parents[3] / "examples" / "python"
# Runs an example where some modules cannot be imported.
WITHOUT = """
import runpy, sys
modules, *sys.argv = sys.argv[1:]
sys.modules.update(dict.fromkeys(modules.split(",")))
runpy.run_path(sys.argv[0], run_name="__main__")
"""


# Four threads ask one translator for what one thread was told; prints the lines that differ.
THREADS = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from keras_transformer.export.tflite.translator import LiteTranslator
path, lines = sys.argv[1], json.loads(sys.argv[2])
lite = LiteTranslator(path, num_threads=1)
expected = lite.nbest(lines)
def differing(_):
    found = [lite.nbest([line]) for line in lines]
    return [line for line, one, same in zip(lines, found, expected) if one != [same]]
with ThreadPoolExecutor(4) as pool:
    print(json.dumps(list(pool.map(differing, range(8)))))
"""


def run_example(name, path, lines, without):
    """What an example prints for lines on standard input."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, without, EXAMPLES / name, path],
        input="".join(f"{line}\n" for line in lines),
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        cwd=path if path.is_dir() else path.parent,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def pairs():
    return list(open_corpus("phrasebook:train:400", "en", "de"))


@pytest.fixture(scope="module")
def make(pairs):
    """Makes a translator that mostly ends by itself."""

    def make(algorithm="bpe", **options):
        tokenizer = SubwordTokenizer.train(
            (line for pair in pairs for line in pair), 400, algorithm=algorithm
        )
        size = dict(num_layers=1, d_model=32, d_ff=64, num_heads=2, max_length=MAX_LENGTH)
        config = TransformerConfig(400, **size, tie_embeddings=False, norm_first=True)
        model = offset_logits(vary(Transformer(config), 0), {EOS_ID: 14.0})
        return Translator(model, tokenizer, config=DecodingConfig(**options))

    return make


@pytest.fixture(
    scope="module", params=thorough.number(["greedy", "beam"], ["greedy", "beam", "unigram"])
)
def translator(make, request):
    return {
        "greedy": lambda: make(beam_size=1, min_length=2),
        "beam": lambda: make(beam_size=3, no_repeat_ngram=2),
        "unigram": lambda: make("unigram", beam_size=1, max_extra_tokens=2),
    }[request.param]()


@pytest.fixture(scope="module")
def lines(translator, pairs):
    """Lines of one piece each."""
    library = sentencepiece.SentencePieceProcessor(model_proto=translator.source_tokenizer.model)
    return [source for source, _ in pairs if len(library.encode(source)) < MAX_LENGTH][:40]


@pytest.fixture(scope="module")
def exported(translator, tmp_path_factory):
    """In two rooms: some sources do not fit into the first, and translations go on from it."""
    nbest = translator.config.beam_size > 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[search_translations.__module__], "_FIRST_ROOM", 8)
        return export_tflite(translator, tmp_path_factory.mktemp("exports"), nbest=nbest)


def test_gives_the_translations_of_the_translator(translator, exported, lines):
    found = LiteTranslator(exported).nbest([line.encode() for line in lines])
    expected = translator.nbest(lines)
    assert len({best.text for best, *_ in expected}) > 6
    assert [best.text for [best] in found] == [best.text for best, *_ in expected]
    np.testing.assert_allclose(
        [best.log_prob for [best] in found], [best.log_prob for best, *_ in expected], rtol=1e-3
    )


def test_any_string(translator, exported):
    """Up to the model's maximum, as the translator; beyond it, cut and marked."""
    lite = LiteTranslator(exported)
    short = [line for line in HOSTILE if len(line) < MAX_LENGTH // 2]
    assert len(short) > 8
    assert [best.text for [best] in lite.nbest(short)] == translator(short)
    assert [best for [best] in lite.nbest(BLANK)] == [("", 0.0)] * len(BLANK)
    for [best] in lite.nbest(HOSTILE):
        assert np.isfinite(best.log_prob)


@pytest.mark.parametrize("translator", ["greedy"], indirect=True)
def test_threads_take_turns(exported, lines):
    """In a process of its own, which a fault would end."""
    command = [sys.executable, "-c", THREADS, exported, json.dumps(lines)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [[]] * 8


def test_says_what_was_cut(translator, exported, lines):
    translate = LiteTranslator(exported)._translate

    def truncated(text):
        return bool(translate(text=np.array([text.encode()], dtype=object))["truncated"][0])

    searched = translator.graph.translate(tf.constant(lines))["truncated"].numpy()
    assert [truncated(line) for line in lines] == searched.tolist()
    assert truncated("the dog " * 30)
    assert not truncated("")


@pytest.mark.parametrize(
    ("name", "model", "without"),
    [
        ("translate_tflite.py", "translator.tflite", f"sentencepiece,{TENSORFLOW}"),
        ("translate_tflite_ids.py", ".", TENSORFLOW),
    ],
)
def test_examples(exported, translator, lines, name, model, without):
    """Each with what it says that it needs: none with TensorFlow."""
    lines = [*lines[:8], "", "the dog " * 30]
    printed = run_example(name, exported / model, lines, without).split("\n  -> ")
    translations = [one.split("\n")[0] for one in printed[1:]]
    note = "  (cut: too long for the model)"
    assert [one.removesuffix(note) for one in translations[:-1]] == translator(lines[:-1])
    assert translations[-1].endswith(note)


def operators(path):
    """The operations of all graphs of a file, by their number, and the names of custom ones."""
    model = schema.ModelT.InitFromPackedBuf(path.read_bytes())
    codes = [
        model.operatorCodes[op.opcodeIndex] for graph in model.subgraphs for op in graph.operators
    ]
    return {code.builtinCode for code in codes}, [
        code.customCode for code in codes if code.customCode
    ]


def test_stock_operations_alone(translator, exported):
    for name in ("translator.tflite", "translator_ids.tflite"):
        builtin, custom = operators(exported / name)
        assert not custom
        assert schema.BuiltinOperator.CUSTOM not in builtin
        assert schema.BuiltinOperator.WHILE in builtin  # Loops have graphs of their own.


def text_signature(exported):
    """A function of bytes, and the room that they have."""
    interpreter = Interpreter(str(exported / "translator.tflite"))
    translate = interpreter.get_signature_runner("serving_default")
    [size] = translate.get_input_details()["text"]["shape"]
    return translate, size


def test_what_the_text_model_takes_and_gives(translator, exported):
    translate, size = text_signature(exported)
    assert size == 32 * MAX_LENGTH
    inputs, outputs = translate.get_input_details(), translate.get_output_details()
    assert {name: one["dtype"] for name, one in inputs.items()} == {
        "text": np.uint8,
        "length": np.int32,
    }
    assert {name: (one["dtype"], one["shape"].tolist()) for name, one in outputs.items()} == {
        "translation": (np.uint8, outputs["translation"]["shape"].tolist()),
        "length": (np.int32, [1]),
        "score": (np.float32, [1]),
        "truncated": (np.int32, [1]),
    }


@pytest.mark.parametrize("translator", ["beam"], indirect=True)
def test_several_translations(translator, exported, lines):
    """Those of the SavedModel's `nbest`: none is there twice, and fewer leave "" at the end."""
    config = dataclasses.replace(translator.config, num_hypotheses=translator.config.beam_size)
    tokenizers = translator.source_tokenizer, translator.target_tokenizer
    expected = Translator(translator.models, *tokenizers, config).graph.nbest(
        tf.constant([*lines[:20], ""])
    )
    interpreter = Interpreter(str(exported / "translator.tflite"))
    # What runtimes take that are not told a name.
    assert list(interpreter.get_signature_list()) == ["serving_default", "translations"]
    translate = interpreter.get_signature_runner("translations")
    room = np.zeros(translate.get_input_details()["text"]["shape"], np.uint8)
    for row, line in enumerate([*lines[:20], ""]):
        encoded = np.frombuffer(line.encode(), np.uint8)
        room[: encoded.size] = encoded
        found = translate(text=room, length=np.array([encoded.size], np.int32))
        texts = [
            text[:size].tobytes()
            for text, size in zip(found["translations"], found["lengths"], strict=True)
        ]
        assert texts == expected["translations"][row].numpy().tolist()
        np.testing.assert_allclose(found["scores"], expected["scores"][row], rtol=1e-3)
    assert texts == [b""] * 3
    long = np.full_like(room, ord("a"))
    found = translate(text=long, length=np.array([long.size], np.int32))
    assert found["truncated"].tolist() == [1] * 3


def test_any_length(exported):
    """What stands behind the text is not read, nor is what goes beyond the room."""
    translate, size = text_signature(exported)
    rest = np.random.default_rng(0).integers(0, 256, size, np.uint8)
    text = b"the dog"

    def outputs(length):
        room = rest.copy()
        room[: len(text)] = np.frombuffer(text, np.uint8)
        found = translate(text=room, length=np.array([length], np.int32))
        [length], room = found["length"], found["translation"]
        assert not room[length:].any()
        return room[:length].tobytes().decode(), found["truncated"].tolist()

    [[expected]] = LiteTranslator(exported).nbest([text])
    assert outputs(len(text)) == (expected.text, [0])
    for length in (0, -1, -(2**31)):
        assert outputs(length) == ("", [0])
    for length in (size + 1, 2**20, 2**31 - 1):
        assert outputs(length)[1] == [1]


def test_ids_stop_at_eos(translator, exported):
    """No slot is filled after it: the output is as long as the translation."""
    translate = Interpreter(str(exported / "translator_ids.tflite")).get_signature_runner()
    found = translator.graph.search(tf.constant([[40, 50, 60, EOS_ID]]))
    expected = [i for i in found.ids[0, 0].numpy().tolist() if i != PAD_ID]
    assert expected[-1] == EOS_ID
    assert translate(source=np.array([[EOS_ID]], np.int32))["target"].tolist() == [EOS_ID]
    output = translate(source=np.array([[40, 50, 60, EOS_ID]], np.int32))
    assert output["target"].tolist() == expected
    assert output["score"].shape == output["truncated"].shape == (1,)


def test_files(translator, exported):
    names = ["metadata.json", "source.model", "target.model"]
    names += ["translator.tflite", "translator_ids.tflite"]
    assert sorted(path.name for path in exported.iterdir()) == names
    metadata = json.loads((exported / "metadata.json").read_text())
    assert metadata["format"] == "tflite"
    assert metadata["quantization"] == "float32"
    assert metadata["files"] == ["translator.tflite", "translator_ids.tflite"]
    assert metadata["limits"]["max_length"] == MAX_LENGTH
    assert metadata["decoding"]["beam_size"] == translator.config.beam_size
    assert metadata["vocabulary"] == {"source": 400, "target": 400}


def test_less_room(make, tmp_path, pairs):
    """As a translator does whose model ends there."""
    translator = make(beam_size=1, min_length=2)
    path = export_tflite(translator, tmp_path / "exports", max_length=9)
    assert json.loads((path / "metadata.json").read_text())["limits"] == {
        "max_length": 9,
        "max_bytes": 288,
    }
    lite = LiteTranslator(path)
    library = sentencepiece.SentencePieceProcessor(model_proto=translator.source_tokenizer.model)
    lines = [source for source, _ in pairs if len(library.encode(source)) < 9][:20]
    ids = translator.source_tokenizer.tokenize(lines).to_tensor()
    most = tf.fill([len(lines)], 9)
    expected = translator.graph.search(ids, max_tokens=most).ids[:, 0]
    texts = [text.decode() for text in translator.target_tokenizer.detokenize(expected).numpy()]
    assert [best.text for [best] in lite.nbest([line.encode() for line in lines])] == texts
    assert len({*texts}) > 3
    translate = lite._translate
    assert translate(text=np.array([b"the dog " * 5], dtype=object))["truncated"][0]
    for wrong in (0, 1, 17):
        with pytest.raises(ValueError, match="`max_length` must be within 2 and the model's 16"):
            export_tflite(translator, tmp_path / "exports", max_length=wrong)


@pytest.fixture(scope="module")
def wide(pairs, tmp_path_factory):
    """A translator of which most is matrices, and its export in float32."""
    tokenizer = SubwordTokenizer.train((line for pair in pairs for line in pair), 400)
    size = dict(num_layers=1, d_model=128, d_ff=512, num_heads=2, max_length=MAX_LENGTH)
    model = Transformer(TransformerConfig(400, **size, norm_first=True))
    translator = Translator(model, tokenizer, config=DecodingConfig(beam_size=1))
    return translator, export_tflite(translator, tmp_path_factory.mktemp("exports"))


@pytest.mark.parametrize(
    ("quantization", "saved", "error"),
    [*thorough.number([], [("float16", 1.9, 0.05)]), ("int8", 2.6, 0.05), ("int4", 3.0, 0.1)],
)
def test_quantization(wide, tmp_path, quantization, saved, error):
    """Smaller files; log-probabilities close to those of float32, over all tokens of a search."""
    translator, plain = wide
    path = export_tflite(translator, tmp_path, quantization=quantization)
    sizes = [(folder / "translator_ids.tflite").stat().st_size for folder in (plain, path)]
    assert (sizes[0] - sizes[1]) / translator.models[0].count_params() > saved
    [[one]], [[other]] = (LiteTranslator(folder).nbest([b"the dog"]) for folder in (plain, path))
    assert other.log_prob == pytest.approx(one.log_prob, rel=error)


@pytest.fixture(scope="module")
def with_bytes():
    """A translator whose vocabulary falls back to bytes."""
    tokenizer = SubwordTokenizer.train(["the cat sat"], 280, byte_fallback=True)
    size = dict(num_layers=1, d_model=8, d_ff=8, num_heads=1, max_length=8)
    model = vary(Transformer(TransformerConfig(280, **size)), 0)
    return Translator(model, tokenizer, config=DecodingConfig(beam_size=1))


def test_a_vocabulary_with_bytes(with_bytes, tmp_path):
    path = export_tflite(with_bytes, tmp_path)
    lines = ["the cat", "", "\u00fc\u4e2d"]
    assert [best.text for [best] in LiteTranslator(path).nbest(lines)] == with_bytes(lines)
    with pytest.raises(ValueError, match="must not fall back to bytes, which TFLite's kernel"):
        export_tflite(with_bytes, tmp_path, strings=True)


def test_what_cannot_be_followed_has_no_text_model(with_bytes, tmp_path):
    """Its tokenizers are beside the model of ids, so it is opened as any export is."""
    proto = sentencepiece_model_pb2.ModelProto.FromString(with_bytes.source_tokenizer.model)
    proto.pieces[-1].type = proto.SentencePiece.Type.USER_DEFINED
    tokenizer = SubwordTokenizer(proto.SerializeToString())
    translator = Translator(with_bytes.models[0], tokenizer, config=with_bytes.config)
    with pytest.warns(UserWarning, match=r"translator.tflite is left out: .*the user's own"):
        path = export_tflite(translator, tmp_path)
    assert [file.name for file in path.glob("*.tflite")] == ["translator_ids.tflite"]
    lines = ["the cat", "cats sat", "", "\u00fc"]
    opened = open_translator([path])
    assert [best.text for [best] in opened.nbest(lines)] == translator(lines)


def test_strings(make, pairs, tmp_path):
    """With TF Text's operations, where they are asked for."""
    translator = make(beam_size=1)
    path = export_tflite(translator, tmp_path, strings=True)
    lite = LiteTranslator(path / "translator_strings.tflite")
    lines = [source for source, _ in pairs if len(source) < MAX_LENGTH]
    assert [best.text for [best] in lite.nbest(lines)] == translator(lines)


@pytest.mark.parametrize(
    ("options", "quantization", "message"),
    [
        ({}, "int2", "`quantization` must be one of float16, int8, int4 or None.*'int2'"),
        ({"sampling": True}, None, "`sampling` is not for TFLite"),
        ({"beam_size": 1}, None, "`nbest` takes a beam of more than 1.*beam_size=1"),
    ],
)
def test_what_cannot_be(make, tmp_path, options, quantization, message):
    with pytest.raises(ValueError, match=message):
        export_tflite(make(**options), tmp_path / "exports", quantization=quantization, nbest=True)
    assert not (tmp_path / "exports").exists()


def test_without_litert(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    with pytest.raises(ImportError, match=r"pip install 'keras_transformer\[tflite\]'"):
        LiteTranslator(tmp_path)
