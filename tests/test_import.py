"""`import keras_transformer` is quick, and leaves alone what only a part of the package needs."""

import importlib.metadata
import json

import keras_transformer

IMPORT = """
import json, sys, time

start = time.perf_counter()
import keras
with_keras = time.perf_counter()
before = set(sys.modules)
import keras_transformer
end = time.perf_counter()
print(json.dumps({
    "keras": with_keras - start,
    "package": end - with_keras,
    "modules": sorted({name.partition(".")[0] for name in set(sys.modules) - before}),
    "names": [name for name in keras_transformer.__all__ if hasattr(keras_transformer, name)],
    "all": keras_transformer.__all__,
}))
"""
HEAVY = {
    "jsonargparse",
    "keras_hub",
    "sacrebleu",
    "sentencepiece",
    "tensorboard",
    "tensorflow_datasets",
    "tensorflow_text",
}


def test_import(fresh_process):
    found = json.loads(fresh_process(IMPORT).splitlines()[-1])
    assert "keras_transformer" in found["modules"]
    assert not HEAVY & {*found["modules"]}
    assert found["package"] < 0.5
    assert found["names"] == found["all"]


def test_version_is_that_of_the_distribution():
    assert keras_transformer.__version__ == importlib.metadata.version("keras_transformer")
