"""The examples in docstrings run, and print what they say."""

import doctest
import functools
import importlib
import pkgutil
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_transformer
import phrasebook
from keras_transformer import (
    BertConfig,
    DataConfig,
    RunConfig,
    TrainingConfig,
    Transformer,
    TransformerConfig,
    ValidationConfig,
    compile_model,
    layers,
)
from keras_transformer.data.batches import TranslationBatches
from keras_transformer.data.corpora import Corpus
from keras_transformer.data.fingerprint import fingerprint
from keras_transformer.data.planning import fit_plan
from keras_transformer.data.prepared.origin import Origin
from keras_transformer.data.prepared.preparing import prepare
from keras_transformer.data.preprocessing import PairPreprocessor
from keras_transformer.decoding import greedy_search
from keras_transformer.decoding.greedy import propose_best
from keras_transformer.models.bert_heads import SpanFinder, TextClassifier, TokenTagger
from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.run import open_run
from keras_transformer.tasks import task_of, train
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.training import train_sentencepiece
from keras_transformer.text.wordpiece import SPECIAL, WordPieceTokenizer
from keras_transformer.training.interruption import Interruption
from keras_transformer.training.state import TrainingState
from keras_transformer.translation.translator import Translator

PAIRS = [("a small dog", "ein kleiner Hund"), ("the dog sleeps", "der Hund schläft")] * 4


def examples():
    """Finds the examples of every module but the commands', which parse the process's arguments."""
    modules = ["keras_transformer", "phrasebook"]
    modules += [
        module.name
        for package in (keras_transformer, phrasebook)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not module.name.endswith("__main__")
    ]
    for name in modules:
        finder = doctest.DocTestFinder(exclude_empty=True)
        for example in finder.find(importlib.import_module(name)):
            if example.examples:
                yield pytest.param(example, id=example.name.removeprefix("keras_transformer."))


@pytest.fixture(scope="module")
def config():
    """A run of seconds."""
    return RunConfig(
        TransformerConfig(vocab_size=300, num_layers=1, d_model=16, d_ff=32, num_heads=2),
        data=DataConfig("phrasebook:train:200", valid="phrasebook:valid:3"),
        training=TrainingConfig(epochs=1),
        validation=ValidationConfig(bleu_sentences=2),
    )


@pytest.fixture(scope="module")
def runs(config, tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples") / "runs"
    train(folder / "demo", config)
    shutil.copytree(folder / "demo", folder / "general")
    return folder


def small_model():
    size = dict(num_layers=1, d_model=16, d_ff=32, num_heads=2, max_length=32)
    return compile_model(Transformer(TransformerConfig(vocab_size=40, **size)), TrainingConfig())


@functools.cache
def small_translator():
    """One for all examples, which share its traces."""
    lines = [side for pair in PAIRS for side in pair]
    return Translator(small_model(), SubwordTokenizer.train(lines, vocab_size=40))


def small_batches(names):
    plan, _ = fit_plan(names["corpus"], names["preprocess"], batch_tokens=64)
    return TranslationBatches(names["corpus"], names["preprocess"], plan)


def origin(names):
    corpus, tokenizer = names["corpus"], names["tokenizer"]
    return Origin(corpus.name, fingerprint(corpus), (tokenizer, tokenizer))


# What examples use without making it: a model, its tokenizer, data, and a way to decode.
TRANSLATION = {
    "tokenizer": lambda names: SubwordTokenizer.train(
        [side for pair in PAIRS for side in pair], vocab_size=40
    ),
    "model": lambda names: small_model(),
    "optimizer": lambda names: names["model"].optimizer,
    "loss": lambda names: names["model"].loss,
    "translator": lambda names: small_translator(),
    "corpus": lambda names: Corpus("pairs", lambda: iter(PAIRS)),
    "preprocess": lambda names: PairPreprocessor((names["tokenizer"],) * 2, max_length=32),
    "batches": small_batches,
    "dataset": lambda names: names["batches"].dataset(),
    "origin": origin,
    "step": lambda names: names["model"].decode_step,
    "state": lambda names: names["model"].start_decoding(np.array([[5, 6, 3]]), max_length=5),
    "limits": lambda names: keras.ops.convert_to_tensor([5]),
}
# Of trainings, in a folder with runs.
TRAINING = {
    "state": lambda names: TrainingState(
        names["model"], Checkpoints("checkpoints"), Interruption()
    ),
    "run": lambda names: open_run("runs/demo"),
    "task": lambda names: task_of(names["run"].config),
    "plan": lambda names: names["run"].plan,
    "source": lambda names: names["run"].source_tokenizer,
    "target": lambda names: names["run"].target_tokenizer,
}
# Of predictions: a vocabulary of words, and a model of each kind.
PREDICTION = {
    "wordpiece": lambda names: WordPieceTokenizer(
        [*SPECIAL, "the", "cat", "##s", "sat", "who", "?", ".", "a"]
    ),
    "bert": lambda names: BertConfig(
        names["wordpiece"].vocab_size, num_layers=1, d_model=8, num_heads=1, max_length=16
    ),
    "classifier": lambda names: TextClassifier(names["bert"], outputs=2),
    "span_finder": lambda names: SpanFinder(names["bert"]),
    "tagger": lambda names: TokenTagger(names["bert"], outputs=2),
}


class Names(dict):
    """The names that an example may use, of which some are made when they are used."""

    def __init__(self, makers, *named):
        super().__init__(*named)
        self._makers = makers

    def __missing__(self, name):
        if name not in self._makers:
            raise KeyError(name)
        self[name] = self._makers[name](self)
        return self[name]


@pytest.fixture
def names(config):
    """What all examples may use as it is."""
    return {
        **{name: getattr(layers, name) for name in layers.__all__},
        **{name: getattr(keras_transformer, name) for name in keras_transformer.__all__},
        "np": np,
        "tf": tf,
        "keras": keras,
        "config": config,
        "pairs": PAIRS,
        "prepare": prepare,
        "open_run": open_run,
        "train_sentencepiece": train_sentencepiece,
        "greedy_search": greedy_search,
        "propose_best": propose_best,
    }


class WhatIsShown(doctest.OutputChecker):
    """Compares output where the example shows any; a progress bar is not worth showing."""

    def check_output(self, want, got, optionflags):
        return not want or super().check_output(want, got, optionflags)


@pytest.mark.parametrize("example", list(examples()))
def test_example(example, names, runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(runs, "runs")
    package, makers = example.name.split(".")[1], TRANSLATION
    if package in ("runs", "tasks", "training"):
        makers = makers | TRAINING
    if package in ("prediction", "tasks", "export"):
        makers = makers | PREDICTION
    example.globs = Names(makers, {**names, **example.globs})
    report = []
    doctest.DocTestRunner(WhatIsShown(), verbose=False).run(example, out=report.append)
    assert not report, "".join(report)
