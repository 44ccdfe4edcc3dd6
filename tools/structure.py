"""Measures the structure of the code; `make lint` fails where a bound is passed.

    python tools/structure.py            this checkout
    python tools/structure.py --root X   another one, to compare with

Which package may import which is import-linter's to check, by the layers in `pyproject.toml`.
"""

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("keras_transformer", "phrasebook")
# Lines of code, without the docstring: what fits a screen.
LONGEST_FUNCTION = 50
# Where the class of one family may be named: its own folder and the table there, the package's
# face, and the formats of other toolkits, which have Transformers alone here.
TRANSFORMER_PLACES = (
    *("models/", "__init__.py", "importing/"),
    *("export/ctranslate2.py", "export/huggingface.py", "export/one_transformer.py"),
)


def main() -> int:
    """Prints the measures; returns 1 where a bound is passed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    root = parser.parse_args().root
    files = [path for package in PACKAGES for path in sorted((root / package).rglob("*.py"))]
    for folder, (count, lines) in folders(files, root).items():
        print(f"{folder:40} {count:3} files {lines:6} lines")
    length, place = max(functions(files, root))
    print(f"longest function: {length} lines ({place})")
    named = [place for path in files for place in transformer_names(path, root)]
    print(f"the name Transformer elsewhere than in {', '.join(TRANSFORMER_PLACES)}: {len(named)}")
    for place in named:
        print(f"  {place}")
    return int(length > LONGEST_FUNCTION or bool(named))


def folders(files: list[Path], root: Path) -> dict[str, tuple[int, int]]:
    """Counts files and lines of each folder."""
    count: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for path in files:
        folder = str(path.parent.relative_to(root))
        count[folder] += 1
        lines[folder] += len(path.read_text("utf-8").splitlines())
    return {folder: (count[folder], lines[folder]) for folder in sorted(count)}


def functions(files: list[Path], root: Path) -> Iterator[tuple[int, str]]:
    """Yields the length of each function without its docstring, and where it is."""
    for path in files:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                docstring = ast.get_docstring(node, clean=False)
                documented = 0 if docstring is None else docstring.count("\n") + 1
                lines = (node.end_lineno or node.lineno) - node.lineno + 1 - documented
                yield lines, f"{path.relative_to(root)}:{node.lineno} {node.name}"


def transformer_names(path: Path, root: Path) -> Iterator[str]:
    """Yields the places in a file's code, its text aside, that name the model class."""
    name = str(path.relative_to(root / PACKAGES[0])) if PACKAGES[0] in path.parts else ""
    if not name or name.startswith(TRANSFORMER_PLACES):
        return
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        found = isinstance(node, ast.Name) and node.id == "Transformer"
        found |= isinstance(node, ast.Attribute) and node.attr == "Transformer"
        found |= isinstance(node, ast.alias) and node.name == "Transformer"
        # An annotation in quotes.
        found |= isinstance(node, ast.Constant) and bool(
            re.fullmatch(r"[\w\[\], |]*\bTransformer\b[\w\[\], |]*", str(node.value))
            and "[" in str(node.value)
        )
        if found:
            yield f"{name}:{node.lineno}"


if __name__ == "__main__":
    sys.exit(main())
