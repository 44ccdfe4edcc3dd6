"""`examples/c`: builds against the installed wheels, and translates as the Translator does."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from random_models import vary

from keras_transformer import Transformer, TransformerConfig
from keras_transformer.data.corpora import open_corpus
from keras_transformer.export.saved_model import export_saved_model
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.translation.translator import Translator

EXAMPLE = Path(__file__).parents[2] / "examples" / "c"

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="examples/c links as Linux does"),
    pytest.mark.skipif(not shutil.which("make"), reason="examples/c is built by make"),
    pytest.mark.skipif(not shutil.which("cc"), reason="examples/c needs a C compiler, cc"),
]


@pytest.fixture(scope="module")
def pairs():
    return list(open_corpus("phrasebook:train:300", "en", "de"))


@pytest.fixture(scope="module")
def translator(pairs):
    tokenizer = SubwordTokenizer.train((line for pair in pairs for line in pair), 300)
    size = dict(num_layers=1, d_model=16, d_ff=32, num_heads=2, max_length=32)
    model = Transformer(TransformerConfig(vocab_size=300, **size, norm_first=True))
    return Translator(vary(model, seed=0), tokenizer)


@pytest.fixture(scope="module")
def exported(translator, tmp_path_factory):
    return export_saved_model(translator, tmp_path_factory.mktemp("exports"))


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    build = tmp_path_factory.mktemp("build")
    subprocess.run(
        ["make", "-C", EXAMPLE, f"BUILD={build}", f"PYTHON={sys.executable}", "CFLAGS=-Werror"],
        check=True,
    )
    return build / "translate"


@pytest.fixture(scope="module")
def sentences(pairs):
    """More than one batch, and what may trip a program that reads strings."""
    odd = ["", " \t ", "naïve Größe, 早上好", "\U0001f600 \U0001f468\u200d\U0001f469"]
    lines = [source for source, _ in pairs[:30]]
    lines = [line.encode() for line in [*lines, *odd, "a long line " * 1667]]
    return [*lines, b"\xff\xfe invalid \xc3", pairs[30][0].encode()]


def run(program, *arguments, lines=b"", **environment):
    return subprocess.run(
        [program, *arguments],
        input=lines,
        capture_output=True,
        env={**os.environ, **environment},
    )


def test_lines_of_standard_input(program, exported, translator, sentences):
    sentences = [*sentences, b"one\0two", b"without an end"]
    done = run(program, exported, lines=b"\n".join(sentences))
    assert done.returncode == 0, done.stderr.decode()
    translations = translator(sentences)
    assert len(set(translations)) > 20, "a model that always says the same would show little"
    assert done.stdout.decode().split("\n") == [*translations, ""]


def test_arguments(program, exported, translator, sentences):
    done = run(program, exported, *sentences[-7:], lines=b"not read\n")
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().split("\n") == [*translator(sentences[-7:]), ""]


@pytest.mark.parametrize(
    ("arguments", "environment", "message"),
    [
        ([], {}, "usage: translate MODEL_DIR"),
        (["missing"], {}, "cannot load the model; MODEL_DIR must be the folder of a version"),
        (["missing"], {"TF_TEXT_OPS": "no.so"}, "set TF_TEXT_OPS to the path of _sentencepiece"),
    ],
    ids=["usage", "model", "operations"],
)
def test_errors_say_what_to_do(program, arguments, environment, message):
    done = run(program, *arguments, **environment)
    assert done.returncode == 1
    assert message in done.stderr.decode()
    assert not done.stdout
