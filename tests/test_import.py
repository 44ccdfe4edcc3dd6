"""`import keras_transformer` is quick: beside Keras it loads one small package and no other.

A list of what it may load tells more than a clock, which on a busy machine tells nothing.
"""

import importlib.metadata
import json

import keras_transformer

IMPORT = """
import json, sys
import keras

def packages():
    return {name.partition(".")[0] for name in sys.modules}

before = packages()
import keras_transformer
names = [name for name in keras_transformer.__all__ if hasattr(keras_transformer, name)]
new = packages() - before - sys.stdlib_module_names
print(json.dumps({
    "packages": sorted(name for name in new if not name.startswith("_")),
    "names": names,
    "all": keras_transformer.__all__,
}))
"""


def test_import(fresh_process):
    found = json.loads(fresh_process(IMPORT).splitlines()[-1])
    assert found["packages"] == ["keras_transformer", "tqdm"]
    assert found["names"] == found["all"]


def test_version_is_that_of_the_distribution():
    assert keras_transformer.__version__ == importlib.metadata.version("keras_transformer")
