"""The SavedModel: its signature, a load without Keras, and that it appears whole or not at all."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from random_models import vary

from keras_transformer import TrainingConfig, Transformer, TransformerConfig, compile_model
from keras_transformer.data.corpora import open_corpus
from keras_transformer.export.saved_model import export_saved_model
from keras_transformer.export.saved_translator import SavedTranslator
from keras_transformer.export.versions import version_path
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.translation.translator import Translator

ROOT = Path(__file__).parents[2]

# As a server loads the model: no Python package has anything to do with it. Keras, which imports
# beside TensorFlow, and TF Text, which imports Keras, cannot be found; TF Text's ops come from its
# libraries.
LOAD = """
import json, sys

class Without:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        blocked = ("keras", "keras_transformer", "tf_keras", "tensorflow_text")
        is_blocked = name.partition(".")[0] in blocked
        return None if is_blocked else self.finder.find_spec(name, path, target)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
for blocked in ("keras", "keras_transformer", "tensorflow_text"):
    try:
        __import__(blocked)
    except ImportError:
        continue
    sys.exit(f"{blocked} can be imported")

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

model, library, sentences, output = sys.argv[1:]
saved = saved_model_pb2.SavedModel.FromString(open(f"{model}/saved_model.pb", "rb").read())
graph = saved.meta_graphs[0].graph_def
operations = {node.op for node in graph.node}
functions = {function.signature.name for function in graph.library.function}
operations |= {node.op for function in graph.library.function for node in function.node_def}
operations -= functions

tf.load_op_library(library)
translate = tf.saved_model.load(model).signatures["serving_default"]
text = tf.constant(json.load(open(sentences)))
first = translate(text=text)
tf.random.set_seed(1)
second = translate(text=text)
result = {
    "operations": sorted(operations),
    "modules": [name for name in sys.modules if name.partition(".")[0].startswith("keras")],
    "translations": [line.decode() for line in first["translation"].numpy()],
    "scores": first["score"].numpy().tolist(),
    "again": [line.decode() for line in second["translation"].numpy()],
}
json.dump(result, open(output, "w"))
"""


@pytest.fixture(scope="module")
def pairs():
    return list(open_corpus("phrasebook:train:400", "en", "de"))


@pytest.fixture(scope="module")
def translator(pairs):
    """A model in the midst of its training: with an optimizer, and dropout to leave out."""
    tokenizer = SubwordTokenizer.train((line for pair in pairs for line in pair), 400)
    size = dict(num_layers=1, d_model=64, d_ff=128, num_heads=2, max_length=32)
    config = TransformerConfig(vocab_size=400, **size, dropout=0.5, norm_first=True)
    model = compile_model(vary(Transformer(config), seed=0), TrainingConfig())
    ids = np.random.default_rng(0).integers(4, 400, (8, 9), "int32")
    model.train_on_batch({"source": ids, "target": ids[:, :-1]}, ids[:, 1:])
    assert model.optimizer.iterations == 1
    return Translator(model, tokenizer)


@pytest.fixture(scope="module")
def exported(translator, tmp_path_factory):
    return export_saved_model(translator, tmp_path_factory.mktemp("exports"))


@pytest.fixture(scope="module")
def small_translator():
    tokenizer = SubwordTokenizer.train(["the cat sat", "the dog ran"], 20)
    config = TransformerConfig(
        vocab_size=20, num_layers=1, d_model=8, d_ff=8, num_heads=1, max_length=8
    )
    return Translator(Transformer(config), tokenizer)


@pytest.fixture
def fake_save(monkeypatch):
    """Replaces TensorFlow's `save`, which takes seconds, and ends as it is told."""

    def replace(error=None):
        def save(module, folder, signatures=None):
            (Path(folder) / "variables").mkdir()
            (Path(folder) / "variables" / "variables.data-00000-of-00001").write_bytes(b"half")
            if error is not None:
                raise error
            (Path(folder) / "saved_model.pb").write_bytes(b"whole")

        monkeypatch.setattr(tf.saved_model, "save", save)

    return replace


def content_of(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


def test_signatures(exported):
    """Names, types and shapes; the batch comes first in all of them."""
    text, floats, one = (tf.string, [None]), (tf.float32, [None]), (tf.int32, [None])
    flag, tokens, heads = (tf.bool, [None]), (tf.string, [None, None]), [None, 2, None, None]
    best = {"translation": text, "score": floats, "pieces": one, "truncated": flag}
    options = {"max_length": one, "length_penalty": floats}
    token_log_probs = (tf.float32, [None, None])
    expected = {
        "serving_default": ({"text": text}, best),
        "translate": ({"text": text, **options}, best),
        "nbest": (
            {"text": text},
            {"translations": (tf.string, [None, 4]), "scores": (tf.float32, [None, 4])}
            | {"pieces": one},
        ),
        "score": (
            {"source": text, "target": text},
            {"log_prob": floats, "tokens": tokens, "token_log_probs": token_log_probs}
            | {"truncated": flag},
        ),
        "attention": (
            {"text": text},
            {"translation": text, "source_tokens": tokens, "target_tokens": tokens}
            | {"weights": (tf.float32, heads), "truncated": flag},
        ),
    }

    def plain(specs):
        return {name: (spec.dtype, spec.shape.as_list()) for name, spec in specs.items()}

    signatures = tf.saved_model.load(exported).signatures
    found = {
        name: (plain(one.structured_input_signature[1]), plain(one.structured_outputs))
        for name, one in signatures.items()
    }
    assert found == expected


def test_fewer_signatures(translator, tmp_path, monkeypatch):
    """Those that are named, and the default; a command that needs another says which."""
    saved = {}
    monkeypatch.setattr(
        tf.saved_model, "save", lambda module, folder, signatures: saved.update(signatures)
    )
    export_saved_model(translator, tmp_path, signatures=["score"])
    assert sorted(saved) == ["score", "serving_default"]
    monkeypatch.setattr(tf.saved_model, "load", lambda path: SimpleNamespace(signatures=saved))
    for wrong in ("score", ["nbset"]):
        with pytest.raises(ValueError, match=r"`signatures` must be a list of translate, nbest"):
            export_saved_model(translator, tmp_path, signatures=wrong)
    with pytest.raises(ValueError, match=r"--signatures attention\. Received: one with s"):
        SavedTranslator(tmp_path).attend([b"a dog"])


def test_a_batch_of_nothing(exported):
    """Each signature gives nothing for it."""
    loaded = tf.saved_model.load(exported)
    for signature in loaded.signatures.values():
        specs = signature.structured_input_signature[1]
        outputs = signature(**{name: tf.zeros([0], spec.dtype) for name, spec in specs.items()})
        assert {len(output) for output in outputs.values()} == {0}


def test_files(exported):
    assert exported.name == "1"
    assert {"saved_model.pb", "variables/variables.index"} <= set(content_of(exported))
    assert [path.name for path in exported.parent.iterdir()] == ["1"]


@pytest.fixture(scope="module")
def loaded_elsewhere(exported, pairs, tmp_path_factory):
    import tensorflow_text

    folder = tmp_path_factory.mktemp("elsewhere")
    operations = Path(tensorflow_text.__file__).parent / "python" / "ops"
    (folder / "sentences.json").write_text(json.dumps([source for source, _ in pairs[:200]]))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", LOAD, exported, operations / "_sentencepiece_tokenizer.so"]
        + [folder / "sentences.json", folder / "result.json"],
        cwd=folder,
        env=environment | {"TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "result.json").read_text())


def test_a_process_without_keras_gives_the_same(translator, pairs, loaded_elsewhere):
    sentences = [source for source, _ in pairs[:200]]
    expected = translator.graph.translate(tf.constant(sentences))
    lines = [line.decode() for line in expected["translation"].numpy()]
    assert len(set(lines)) > 20, "a model that always says the same would show little"
    assert loaded_elsewhere["translations"] == lines
    np.testing.assert_allclose(loaded_elsewhere["scores"], expected["score"], rtol=1e-4)
    assert not loaded_elsewhere["modules"]


def test_a_new_random_seed_changes_nothing(loaded_elsewhere):
    assert loaded_elsewhere["again"] == loaded_elsewhere["translations"]


def test_holds_no_randomness(loaded_elsewhere):
    """So no dropout. What a server links is the matter of `test_stock_ops`."""
    assert "StatelessRandomUniformV2" not in loaded_elsewhere["operations"]


def test_holds_the_weights_once_and_no_optimizer(translator, exported):
    parameters = translator.models[0].count_params()
    shapes = [
        shape
        for name, shape in tf.train.list_variables(str(exported / "variables" / "variables"))
        if not name.startswith("_CHECKPOINTABLE")
    ]
    elements = sum(int(np.prod(shape)) for shape in shapes)
    assert elements == parameters
    assert sum(shape == [400, 64] for shape in shapes) == 1
    [data] = (exported / "variables").glob("variables.data-*")
    assert 4 * parameters <= data.stat().st_size < 1.1 * 4 * parameters


def test_example_translates_with_the_export(exported, translator, pairs):
    """`examples/python/translate.py`, which has TensorFlow and TF Text only, on standard input."""
    sentences = [source for source, _ in pairs[:3]]
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "python" / "translate.py", exported],
        input="\n".join(sentences) + "\n",
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        cwd=exported,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    translations = translator(sentences)
    expected = [f"{s}\n  -> {t}" for s, t in zip(sentences, translations, strict=True)]
    assert done.stdout.splitlines() == "\n".join(expected).splitlines()


def test_versions_count_up(small_translator, fake_save, tmp_path):
    fake_save()
    assert version_path(tmp_path / "missing").name == "1"
    assert export_saved_model(small_translator, tmp_path).name == "1"
    assert export_saved_model(small_translator, tmp_path).name == "2"
    assert export_saved_model(small_translator, tmp_path, version=9).name == "9"
    (tmp_path / "notes.txt").write_text("not a version")
    (tmp_path / "v11").mkdir()
    assert version_path(tmp_path).name == "10", "numbers, not names, are compared"
    assert export_saved_model(small_translator, str(tmp_path)) == tmp_path / "10"


def test_an_existing_version_stays(small_translator, fake_save, tmp_path):
    fake_save()
    export_saved_model(small_translator, tmp_path)
    before = content_of(tmp_path)
    with pytest.raises(FileExistsError, match=rf"must not exist yet.*{tmp_path}/1"):
        export_saved_model(small_translator, tmp_path, version=1)
    assert content_of(tmp_path) == before


@pytest.mark.parametrize("version", [0, -3])
def test_a_version_is_positive(small_translator, tmp_path, version):
    with pytest.raises(ValueError, match=f"`version` must be positive.*version={version}"):
        export_saved_model(small_translator, tmp_path, version=version)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("error", [OSError("no space left on device"), KeyboardInterrupt()])
def test_an_interrupted_export_leaves_nothing(small_translator, fake_save, tmp_path, error):
    fake_save()
    export_saved_model(small_translator, tmp_path)
    before = content_of(tmp_path)
    fake_save(error)
    with pytest.raises(type(error)):
        export_saved_model(small_translator, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["1"]
    assert content_of(tmp_path) == before
    fake_save()
    assert export_saved_model(small_translator, tmp_path).name == "2"
