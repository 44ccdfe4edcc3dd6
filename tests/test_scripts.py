"""What benchmarks, examples and tools import of this package is there: no test runs all of them."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(
    path.relative_to(ROOT)
    for folder in ("benchmarks", "examples", "tools")
    for path in (ROOT / folder).rglob("*.py")
)


@pytest.mark.parametrize("script", SCRIPTS, ids=str)
def test_what_it_imports_is_there(script):
    for node in ast.walk(ast.parse((ROOT / script).read_text("utf-8"))):
        package = (getattr(node, "module", None) or "").partition(".")[0]
        if package in ("keras_transformer", "phrasebook"):
            module = importlib.import_module(node.module)
            for name in node.names:
                assert hasattr(module, name.name), f"{node.module}.{name.name}"
