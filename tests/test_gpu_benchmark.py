"""`benchmarks/gpu_train.py` where there is no GPU and no TensorFlow, and what it relies on."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from keras_transformer import Transformer, TransformerConfig

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
CONFIG = TransformerConfig(
    vocab_size=50, num_layers=2, d_model=16, d_ff=24, num_heads=2, key_dim=4, value_dim=6
)

WITHOUT_TENSORFLOW = """
import runpy, sys
for name in ("tensorflow", "tensorflow_text", "sentencepiece"):
    sys.modules[name] = None  # An import of it is an error now.
sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
def test_it_runs_without_tensorflow(fresh_process, monkeypatch, tmp_path):
    from gpu_batches import save, synthetic_batches

    batches = synthetic_batches([8], tokens=64, vocab_size=50, count=3)
    save(tmp_path / "batches.npz", batches, vocab_size=50)
    monkeypatch.setenv("XLA_FLAGS", "--xla_backend_optimization_level=0")
    arguments = "--preset tiny --layers 1 --batches 2 --rounds 1 --no-peer --matmul 64"
    arguments = [*arguments.split(), "--peak_tflops", "2", "--file", tmp_path / "batches.npz"]
    output = fresh_process(
        WITHOUT_TENSORFLOW, BENCHMARKS / "gpu_train.py", *arguments, backend="jax"
    )
    assert "batches of [(8, 8, 8)]" in output
    row = output.strip().splitlines()[-1]
    preset, name, tokens, milliseconds, teraflops, share, _ = map(
        str.strip, row.strip("|").split("|")
    )
    assert (preset, name) == ("tiny", "this package, JAX, mixed_bfloat16")
    real = np.mean([np.count_nonzero(batch["labels"]) for batch in batches[:2]])
    seconds = float(milliseconds) / 1000
    assert float(tokens.replace(",", "")) == pytest.approx(
        real / seconds, rel=0.02 + 0.05 / float(milliseconds)
    )
    assert float(share.rstrip("%")) == pytest.approx(100 * float(teraflops) / 2, abs=0.06)


def test_flops_are_those_of_the_models_matrices():
    """Six operations for each element of a matrix and each position that is multiplied by it."""
    from flops import training_flops

    rows, source, target = 3, 5, 7
    expected = 0
    for variable in Transformer(CONFIG).weights:
        if len(variable.shape) == 2:
            reads_source = "/encoder/" in variable.path or "/key_value/" in variable.path
            expected += 6 * int(np.prod(variable.shape)) * (source if reads_source else target)
    scores = source * source + target * target + target * source
    expected += 6 * CONFIG.num_layers * CONFIG.num_heads * (4 + 6) * scores
    assert training_flops(CONFIG, rows, source, target) == rows * expected


def test_synthetic_batches():
    from gpu_batches import synthetic_batches

    first, second = synthetic_batches([10, 20], tokens=330, vocab_size=50, count=2)
    assert (first["source"].shape, second["source"].shape) == ((32, 10), (16, 20))
    for batch, length in ((first, 10), (second, 20)):
        for ids in (batch["source"], batch["labels"]):
            lengths = np.count_nonzero(ids, axis=1)
            assert set(lengths) <= set(range(length * 4 // 5, length + 1))
            assert (ids[np.arange(len(ids)), lengths - 1] == 3).all()
            assert np.sort(ids[ids != 0])[[0, -1]].tolist() == [3, 49]
        # Teacher forcing: bos, then the labels without their eos.
        assert (batch["target"][:, 0] == 2).all()
        shifted = batch["labels"][:, :-1]
        np.testing.assert_array_equal(batch["target"][:, 1:], shifted * (shifted != 3))


def test_batches_of_a_corpus(monkeypatch, tmp_path, capsys):
    import gpu_batches

    path = tmp_path / "batches.npz"
    arguments = "--corpus phrasebook:train:300 --tokens 128 --vocab_size 200 --lengths 1 2"
    command = ["gpu_batches.py", *arguments.split(), "--count", "4", "--output", str(path)]
    monkeypatch.setattr("sys.argv", command)
    gpu_batches.main()
    batches, vocab_size = gpu_batches.load(path)
    assert vocab_size == 200
    assert len(batches) == len(capsys.readouterr().out.splitlines()) == 4
    assert len({batch["source"].shape for batch in batches}) == 2
    for batch in batches:
        assert max(ids.max() for ids in batch.values()) < 200
        assert np.mean(batch["source"] != 0) > 0.7


def test_the_peer():
    """PyTorch's model is causal and blind to padding, and its loss is ours."""
    torch = pytest.importorskip("torch", reason="PyTorch is an extra of the benchmarks")
    from torch_transformer import TorchTransformer, smoothed_loss

    from keras_transformer import LabelSmoothedCrossEntropy

    config = TransformerConfig(vocab_size=50, num_layers=2, d_model=16, d_ff=24, num_heads=2)
    torch.manual_seed(0)
    model = TorchTransformer(config).eval()
    source, target = torch.tensor([[5, 6, 3]]), torch.tensor([[2, 7, 8]])
    with torch.no_grad():
        logits = model(source, target)
        padded = model(torch.tensor([[5, 6, 3, 0, 0]]), torch.tensor([[2, 7, 9]]))
    torch.testing.assert_close(padded[:, :2], logits[:, :2], atol=1e-5, rtol=1e-4)
    assert not torch.allclose(padded[:, 2], logits[:, 2], atol=1e-3)
    labels = torch.tensor([[7, 3, 0]])
    loss = LabelSmoothedCrossEntropy(0.1)(labels.numpy(), logits.numpy())
    assert float(smoothed_loss(logits, labels, 0.1)) == pytest.approx(float(loss), rel=1e-5)
