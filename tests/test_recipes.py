"""The recipes under `configs/`: each one starts, and WMT 2014's are the paper's."""

import dataclasses
import functools
import itertools
import math
import re
import shlex
import types
from pathlib import Path

import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from keras_transformer import Transformer
from keras_transformer.commands.train import parse_training_command
from keras_transformer.models.token_normalized import TokenNormalizedModel
from keras_transformer.tasks import train
from keras_transformer.tasks.translation.defaults import choose
from phrasebook import phrasebook

ROOT = Path(__file__).parents[1]
RECIPES = sorted((ROOT / "configs").glob("*.yaml"))


def parse(path, *arguments, output="runs/a"):
    return parse_training_command([f"--output={output}", f"--config={path}", *arguments]).config


@functools.cache
def recipe(name):
    return parse(next(path for path in RECIPES if path.stem == name))


SIZES = ("base", "big")

# "Attention Is All You Need", read off the paper by hand: value for base, value for big.
PAPER = {
    # Section 5.1: sentences "have a shared source-target vocabulary of about 37000 tokens";
    # batches of "approximately 25000 source tokens and 25000 target tokens".
    "model.vocab_size": (37000, 37000),
    "model.source_vocab_size": (None, None),
    "tokenizer.algorithm": ("bpe", "bpe"),
    "data.source_language": ("en", "en"),
    "data.target_language": ("de", "de"),
    "data.train": ("tfds:wmt14_translate/de-en",) * 2,
    "data.valid": ("tfds:wmt14_translate/de-en:validation",) * 2,
    "data.batch_tokens": (25000, 25000),
    # Table 3: N, d_model, d_ff, h, d_k, d_v, P_drop, epsilon_ls, train steps.
    "model.num_layers": (6, 6),
    "model.d_model": (512, 1024),
    "model.d_ff": (2048, 4096),
    "model.num_heads": (8, 16),
    "model.head_key_dim": (64, 64),
    "model.head_value_dim": (64, 64),
    "model.dropout": (0.1, 0.3),
    "training.label_smoothing": (0.1, 0.1),
    "training.max_steps": (100_000, 300_000),
    # Sections 3.1, 3.3, 3.4, 3.5 and 5.4.
    "model.norm_first": (False, False),
    "model.activation": ("relu", "relu"),
    "model.tie_embeddings": (True, True),
    "model.positions": ("sinusoidal", "sinusoidal"),
    "model.attention_dropout": (0.0, 0.0),
    # Section 5.3 and Equation 3.
    "training.learning_rate_factor": (1.0, 1.0),
    "training.warmup_steps": (4000, 4000),
    "training.beta_1": (0.9, 0.9),
    "training.beta_2": (0.98, 0.98),
    "training.epsilon": (1e-9, 1e-9),
    # What the paper does not have.
    "training.clip_norm": (None, None),
    "training.ema_momentum": (None, None),
    "training.patience": (None, None),
    "data.subword_dropout": (0.0, 0.0),
    # Section 6.1: the last 5 or 20 checkpoints, 10 minutes apart; Section 5.2: 0.4 s or 1 s a step.
    "training.average_checkpoints": (5, 20),
    "training.average_best": (False, False),
    "training.checkpoint_steps": (600 / 0.4, 600 / 1.0),
    # Section 6.1: beam of 4, alpha 0.6, output of at most input length + 50.
    "decoding.beam_size": (4, 4),
    "decoding.length_penalty": (0.6, 0.6),
    "decoding.max_extra_tokens": (50, 50),
    "decoding.early_stopping": (False, False),
}


@pytest.mark.parametrize("name", PAPER)
def test_wmt14_is_the_papers(name):
    section, field = name.split(".")
    values = [getattr(getattr(recipe(f"wmt14_en_de_{size}"), section), field) for size in SIZES]
    assert tuple(values) == PAPER[name]


def test_wmt14_trains_for_long_enough():
    """4.5 million pairs of some 29 tokens: the steps end a run before its epochs do."""
    for size in SIZES:
        config = recipe(f"wmt14_en_de_{size}")
        steps_an_epoch = 4.5e6 * 29 / config.data.batch_tokens
        assert config.training.epochs * steps_an_epoch > 1.5 * config.training.max_steps
        assert config.training.keep_checkpoints >= config.training.average_checkpoints


def parameters(config):
    """Counts by the paper's formulas: projections without biases, two norms or three."""
    d, ff = config.d_model, config.d_ff
    feed_forward = d * ff + ff + ff * d + d
    encoder_layer = 4 * d * d + feed_forward + 2 * 2 * d
    decoder_layer = 8 * d * d + feed_forward + 3 * 2 * d
    vocabularies = config.vocab_size + (config.source_vocab_size or 0)
    return vocabularies * d + config.num_layers * (encoder_layer + decoder_layer)


def test_wmt14_sizes():
    """The paper prints 65 and 213 million (Table 3), which imply a slightly larger vocabulary."""
    base, big = (recipe(f"wmt14_en_de_{size}").model for size in SIZES)
    assert Transformer(base).count_params() == parameters(base)
    assert 63e6 < parameters(base) < 65.5e6
    assert parameters(big) == pytest.approx(213e6, rel=0.015)


def test_ted_is_the_tutorials():
    model = recipe("ted_pt_en").model
    shape = (model.num_layers, model.d_model, model.d_ff, model.num_heads, model.dropout)
    assert shape == (4, 128, 512, 8, 0.1)
    assert Transformer(model).count_params() == parameters(model)


@pytest.fixture
def data_sets(monkeypatch):
    """Stands in for TensorFlow Datasets: every data set is the phrasebook. Notes requests."""
    asked = []

    def builder(name):
        source, target = {"de-en": ("en", "de"), "pt_to_en": ("pt", "en")}[name.rpartition("/")[2]]

        def as_dataset(*, split, shuffle_files):
            asked.append((name, split))
            sources, targets = zip(*phrasebook("train", size=300), strict=True)
            return tf.data.Dataset.from_tensor_slices(
                {source: list(sources), target: list(targets)}
            )

        return types.SimpleNamespace(
            info=types.SimpleNamespace(features={source: None, target: None}),
            download_and_prepare=lambda: None,
            as_dataset=as_dataset,
        )

    monkeypatch.setattr(tfds, "builder", builder)
    return asked


SMALL = {"vocab_size": 200, "num_layers": 1, "d_model": 32, "d_ff": 32}
SMALL |= dict.fromkeys(("encoder_units", "decoder_units", "attention_units"), 16)


def small(path, output):
    """The recipe with a small model on a small corpus."""
    config = parse(path)
    fields = [field.name for field in dataclasses.fields(config.model) if field.name in SMALL]
    arguments = [f"--model.{name}={SMALL[name]}" for name in fields]
    if not getattr(config.model, "joint_vocabulary", True):
        arguments.append("--model.source_vocab_size=200")
    scheme = config.data.train.partition(":")[0]
    if scheme != "tfds":
        scheme = scheme if scheme in ("parses", "dialogue") else "phrasebook"
        arguments += [f"--data.train={scheme}:train:300", f"--data.valid={scheme}:valid:20"]
    if getattr(config.data, "mix", None):
        arguments.append('--data.mix={"reversed:phrasebook:train:300": 1}')
    return parse(path, *arguments, output=output)


def test_the_command_for_data_of_ones_own(monkeypatch):
    """README's, with a corpus of Multi30k's size: small, with a short warm-up, and an end."""
    monkeypatch.chdir(ROOT)
    _, text = Path("README.md").read_text().split("## Your own data")
    [command] = re.findall(r"^    python train\.py (.*?[^\\])\n", text, re.DOTALL | re.MULTILINE)
    parsed = parse_training_command(shlex.split(command))
    config, choices = parsed.config, parsed.choices
    assert (config.data.train, config.data.valid) == ("corpus/train", "held_out")
    assert config.training.minutes == 60
    options = [choice.options for choice in choose(29_000, None, timed=True)]
    config = choices.chosen(config, dict(itertools.chain.from_iterable(map(dict.items, options))))
    assert config.model.d_model < 256
    assert config.training.warmup_steps <= 2 * 540
    assert config.training.schedule == "trapezoid"


class ReachedFitError(Exception):
    """Raised by `fit` in place of training."""


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipes_start(path, data_sets, tmp_path, monkeypatch):
    """Up to the first step, with a loss of the first batch by the compiled model."""

    def fit(model, data, **options):
        inputs, labels = next(iter(data))
        loss = model.compute_loss(inputs, labels, model(inputs, training=True))
        # Logits of untrained models are small noise around a uniform distribution.
        assert 0.5 < float(loss) / math.log(200) < 2.0
        raise ReachedFitError

    monkeypatch.setattr(TokenNormalizedModel, "fit", fit)
    config = small(path, tmp_path / "run")
    with pytest.raises(ReachedFitError):
        train(tmp_path / "run", config)
    if str(config.data.train).startswith("tfds:"):
        name = config.data.train.removeprefix("tfds:")
        assert {(name, "train"), (name, "validation")} == {*data_sets}
