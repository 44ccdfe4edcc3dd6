"""Benchmarks of training at a tiny size; their peers have our models' parameters."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from keras_transformer import BertConfig, Transformer, TransformerConfig
from keras_transformer.models.masked_language_model import MaskedLanguageModel

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

pytestmark = pytest.mark.skipif(
    None in map(importlib.util.find_spec, ("torch", "keras_hub")),
    reason="PyTorch and KerasHub are extras of the benchmarks",
)


def test_the_pytorch_model_has_the_parameters_of_ours(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from torch_transformer import TorchTransformer
    from training_peers import without_extras

    config = TransformerConfig.preset("tiny", vocab_size=50, num_layers=2)
    peer = TorchTransformer(config)
    without_extras(peer.transformer)
    count = sum(parameter.numel() for parameter in peer.parameters())
    assert count == Transformer(config).count_params()


def test_the_bert_of_transformers_is_trained_on_the_same(monkeypatch):
    """It has our parameters, and its loss of masked places alone is the one that it has itself."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    torch, _ = pytest.importorskip("torch"), pytest.importorskip("transformers")
    import pretraining
    from training_peers import Options

    sizes = {"vocab_size": 60, "num_layers": 1, "d_model": 16, "d_ff": 24, "max_length": 8}
    config = BertConfig(**sizes, num_heads=2, dropout=0.0, attention_dropout=0.0)
    peer = pretraining.transformers_model(config)
    count = sum(parameter.numel() for parameter in peer.parameters())
    assert count == MaskedLanguageModel(config).count_params()
    ids = np.array([[2, 4, 9, 3, 8, 3], [2, 7, 3, 4, 3, 0]])
    segments = np.array([[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0]])
    inputs = {"ids": ids, "segments": segments, "places": np.array([[1, 4], [3, 0]])}
    labels = {"masked": np.array([[11, 8], [12, 0]]), "next": np.array([[1], [2]])}
    losses = []
    for make in (pretraining.pytorch, pretraining.all_places):
        torch.manual_seed(0)
        losses.append(make(config, Options(threads=1))([(inputs, labels)]))
    torch.manual_seed(0)
    model = pretraining.transformers_model(config).eval()
    words = torch.full((2, 6), -100)
    words[0, 1], words[0, 4], words[1, 3] = 11, 8, 12
    given = {"input_ids": ids, "attention_mask": ids != 0, "token_type_ids": segments}
    own = model(
        **{name: torch.from_numpy(array) for name, array in given.items()},
        labels=words,
        next_sentence_label=torch.tensor([0, 1]),
    )
    assert losses == pytest.approx([own.loss.item()] * 2, rel=1e-5)


def test_the_table_agrees_with_itself():
    command = [sys.executable, BENCHMARKS / "train.py", "phrasebook:train:200", "--rounds", "1"]
    command += ["--layers", "1", "--vocab_size", "300", "--batch_tokens", "256", "--batches", "2"]
    command += ["--models", "keras_transformer", "PyTorch"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^\| (\w+) \|(.*)\|$", done.stdout, re.MULTILINE)
    assert [name for name, _ in rows] == ["keras_transformer", "PyTorch"]
    ours, pytorch = (
        [float(cell.replace(",", "").rstrip("% ")) for cell in row.split("|") if "-" not in cell]
        for _, row in rows
    )
    # Target tokens/s, source and target, ms a step, ratio, GFLOP/s, share: the work is the same.
    assert ours[0] / ours[1] == pytest.approx(pytorch[0] / pytorch[1], rel=0.01)
    assert pytorch[3] == pytest.approx(ours[2] / pytorch[2], abs=0.3)


def test_both_models_begin_to_learn_from_the_same_place():
    command = [sys.executable, BENCHMARKS / "learning.py", "phrasebook:train:200"]
    command += ["--vocab_size", "300", "--batch_tokens", "256", "--steps", "4", "--every", "2"]
    losses = []
    for model in ("keras_transformer", "PyTorch"):
        done = subprocess.run([*command, "--model", model], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found = re.findall(r"^steps (\d+)-(\d+): loss ([\d.]+),", done.stdout, re.MULTILINE)
        assert [row[:2] for row in found] == [("1", "2"), ("3", "4")]
        losses.append(float(found[0][2]))
    assert losses[0] == pytest.approx(losses[1], rel=0.15)
