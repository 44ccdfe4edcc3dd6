"""`benchmarks/train.py` and `learning.py` at a tiny size; their peer has our model's parameters."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from keras_transformer import Transformer, TransformerConfig

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
