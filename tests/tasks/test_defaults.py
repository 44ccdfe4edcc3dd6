"""What rules choose for a corpus and a machine, and that the page on them says the same."""

import itertools
import math
import re
from pathlib import Path

import pytest
import tensorflow as tf

from keras_transformer import DecodingConfig, RunConfig
from keras_transformer.config.choices import Choices
from keras_transformer.tasks.translation.defaults import (
    ON_ACCELERATOR,
    ON_CPU,
    choose,
    scale_of,
)
from keras_transformer.training.accelerator import Accelerator, find_accelerator

PAGE = Path(__file__).parents[2] / "docs" / "defaults.md"
GPU = Accelerator("a GPU", "mixed_bfloat16")


def values_of(pairs, accelerator=None, **options):
    chosen = choose(pairs, accelerator, **options)
    return dict(itertools.chain.from_iterable(choice.options.items() for choice in chosen))


def configuration(pairs, accelerator=None, **options):
    """All that is chosen, as a configuration."""
    values = values_of(pairs, accelerator, **options)
    return Choices(frozenset(), automatic=True).chosen(RunConfig(), values)


def test_a_small_corpus():
    """The recipe that was the best on Multi30k, but for how its learning rate ends."""
    for accelerator in (None, GPU):
        config = configuration(29_000, accelerator)
        model = config.model
        assert (model.num_layers, model.d_model, model.d_ff, model.num_heads) == (4, 128, 256, 4)
        assert (model.vocab_size, model.dropout, model.norm_first) == (6000, 0.2, True)
        assert config.data.batch_tokens == 1024
        training = config.training
        assert (training.warmup_steps, training.learning_rate_factor) == (1000, 0.7)
        assert training.precision == ("float32" if accelerator is None else "mixed_bfloat16")
        assert training.epochs == 30
        assert config.decoding == DecodingConfig(length_penalty=1.0)


def test_a_large_corpus_on_a_gpu_is_the_papers():
    config = configuration(4_500_000, GPU)
    paper = RunConfig()
    assert config.model == type(paper.model)(norm_first=True)
    assert config.data.batch_tokens == 25_000  # Section 5.1.
    assert config.training.warmup_steps == paper.training.warmup_steps
    assert config.training.learning_rate_factor == 1.0
    assert config.decoding == paper.decoding


def test_what_ends_by_the_clock_or_after_steps_has_no_other_end():
    timed, other = values_of(29_000, timed=True), values_of(29_000)
    assert timed == {**other, "training.epochs": None}
    assert values_of(29_000, limited=True) == timed


def test_a_run_that_begins_with_another_has_its_model():
    changed = configuration(29_000, fine_tuned=True)
    default = RunConfig()
    assert changed.model == type(default.model)(dropout=0.2)
    assert changed.decoding == default.decoding, "that of the other one is taken over elsewhere"
    assert (
        changed.training.learning_rate_factor < configuration(29_000).training.learning_rate_factor
    )


@pytest.mark.parametrize(("scales", "accelerator"), [(ON_CPU, None), (ON_ACCELERATOR, GPU)])
def test_every_corpus_has_a_scale_and_larger_ones_larger_vocabularies(scales, accelerator):
    assert scales[-1].pairs == math.inf
    for one, other in itertools.pairwise(scales):
        assert one.pairs < other.pairs
        assert one.vocab_size < other.vocab_size
        assert one.batch_tokens <= other.batch_tokens
        assert scale_of(one.pairs - 1, accelerator) == one
        assert scale_of(one.pairs, accelerator) == other


@pytest.mark.parametrize(("heading", "scales"), [("CPU", ON_CPU), ("GPU or TPU", ON_ACCELERATOR)])
def test_the_page_has_the_scales(heading, scales):
    """Each row with its numbers, in the order of the table in the code."""
    _, found, below = PAGE.read_text("utf-8").partition(f"\n### On a {heading}\n")
    assert found
    rows = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)[0].splitlines()[2:]
    cells = [
        [cell.strip(" `").replace(",", "") for cell in row.strip("|").split("|")] for row in rows
    ]
    expected = [
        [
            str(scale.pairs) if math.isfinite(scale.pairs) else "any number",
            *map(str, (scale.preset, scale.vocab_size, scale.dropout)),
            *map(str, (scale.batch_tokens, scale.epochs)),
        ]
        for scale in scales
    ]
    assert [row[:6] for row in cells] == expected


def test_the_accelerator_that_tensorflow_finds(monkeypatch):
    assert find_accelerator() is None
    details = {"device_name": "NVIDIA T4", "compute_capability": (7, 5)}
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [kind])
    monkeypatch.setattr(tf.config.experimental, "get_device_details", {"GPU": details}.__getitem__)
    assert find_accelerator() == Accelerator("NVIDIA T4", "mixed_float16")
    details["compute_capability"] = (9, 0)
    assert find_accelerator().precision == "mixed_bfloat16"
