"""The examples in docstrings run, and print what they say."""

import doctest
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


@pytest.fixture
def names(config):
    """What examples use without making it: a model, its tokenizer, data, and a way to decode."""
    tokenizer = SubwordTokenizer.train([side for pair in PAIRS for side in pair], vocab_size=40)
    size = dict(num_layers=1, d_model=16, d_ff=32, num_heads=2, max_length=32)
    model = Transformer(TransformerConfig(vocab_size=40, **size))
    compile_model(model, TrainingConfig())
    corpus = Corpus("pairs", lambda: iter(PAIRS))
    source = np.array([[5, 6, 3]], "int32")
    preprocess = PairPreprocessor((tokenizer, tokenizer), max_length=32)
    plan, _ = fit_plan(corpus, preprocess, batch_tokens=64)
    batches = TranslationBatches(corpus, preprocess, plan)
    return {
        **{name: getattr(layers, name) for name in layers.__all__},
        **{name: getattr(keras_transformer, name) for name in keras_transformer.__all__},
        "np": np,
        "tf": tf,
        "keras": keras,
        "config": config,
        "model": model,
        "optimizer": model.optimizer,
        "loss": model.loss,
        "corpus": corpus,
        "origin": Origin(corpus.name, fingerprint(corpus), (tokenizer, tokenizer)),
        "prepare": prepare,
        "batches": batches,
        "dataset": batches.dataset(),
        "tokenizer": tokenizer,
        "train_sentencepiece": train_sentencepiece,
        "translator": Translator(model, tokenizer),
        "pairs": PAIRS,
        "greedy_search": greedy_search,
        "propose_best": propose_best,
        "step": model.decode_step,
        "state": model.start_decoding(source, max_length=5),
        "limits": keras.ops.convert_to_tensor([5]),
    }


def prediction_names():
    """What examples of predictions use: a vocabulary of words, and a model of each kind."""
    words = ["the", "cat", "##s", "sat", "who", "?", ".", "a"]
    wordpiece = WordPieceTokenizer([*SPECIAL, *words])
    config = BertConfig(wordpiece.vocab_size, num_layers=1, d_model=8, num_heads=1, max_length=16)
    return {
        "wordpiece": wordpiece,
        "classifier": TextClassifier(config, outputs=2),
        "span_finder": SpanFinder(config),
        "tagger": TokenTagger(config, outputs=2),
    }


class WhatIsShown(doctest.OutputChecker):
    """Compares output where the example shows any; a progress bar is not worth showing."""

    def check_output(self, want, got, optionflags):
        return not want or super().check_output(want, got, optionflags)


def training_names(names):
    """What examples of the training use, in a folder with runs."""
    run = open_run("runs/demo")
    return {
        "state": TrainingState(names["model"], Checkpoints("checkpoints"), Interruption()),
        "run": run,
        "task": task_of(run.config),
        "open_run": open_run,
        "plan": run.plan,
        "source": run.source_tokenizer,
        "target": run.target_tokenizer,
    }


@pytest.mark.parametrize("example", list(examples()))
def test_example(example, names, runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(runs, "runs")
    if example.name.split(".")[1] in ("runs", "tasks", "training"):
        names.update(training_names(names))
    if example.name.split(".")[1] in ("prediction", "tasks"):
        names.update(prediction_names())
    example.globs = {**names, **example.globs}
    report = []
    doctest.DocTestRunner(WhatIsShown(), verbose=False).run(example, out=report.append)
    assert not report, "".join(report)
