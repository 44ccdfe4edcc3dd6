"""The notebook runs from its first cell to its last, with a training of a few steps."""

import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "walkthrough.ipynb"


def code_cells():
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def test_the_notebook_runs(monkeypatch):
    """Its cells assert themselves that Equation 1 is what the function computes."""
    pytest.importorskip("matplotlib", reason="needs the extra `plot`")
    monkeypatch.setenv("WALKTHROUGH_STEPS", "20")
    names = {}
    for number, source in enumerate(code_cells()):
        exec(compile(source, f"cell {number}", "exec"), names)
    losses = names["history"].history["loss"]
    assert losses[-1] < losses[0]
    weights = names["attended"].weights  # What is left of a row's sum went to eos.
    assert (weights >= 0).all()
    assert (weights.sum(-1) <= 1 + 1e-5).all()
