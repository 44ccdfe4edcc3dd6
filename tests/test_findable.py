"""A search for a section of the paper finds what `docs/architecture.md` names, and nothing else."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "keras_transformer"
# "Section 3.1" is not to be found in "Section 3.1.2".
PLACE = re.compile(r"Section \d\.\d(?:\.\d)?(?!\.?\d)|Table \d")
REQUIRED = ["3.1", "3.2.1", "3.2.2", "3.2.3", "3.3", "3.4", "3.5"]
REQUIRED += ["5.1", "5.2", "5.3", "5.4", "6.1"]


def rows():
    """Yields, for each row of the table "Where the paper is": places, files, symbols with files."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    section = text.split("## Where the paper is\n")[1].split("\n## ")[0]
    for line in section.splitlines():
        if line.startswith("| ") and "`" in line:
            paper, code = line.strip("| ").split(" | ")
            places = [f"Section {number}" for number in re.findall(r"\b\d\.\d(?:\.\d)?\b", paper)]
            places += re.findall(r"Table \d", paper)
            files = [path_of(name) for name in re.findall(r"`([^`]+\.\w+)`", code)]
            symbols = []
            for names, file in re.findall(r"((?:`\w+`(?:, )?)+) in `([^`]+)`", code):
                symbols += [(name, path_of(file)) for name in re.findall(r"\w+", names)]
            yield places, files, symbols


def path_of(name):
    return next(path for path in (PACKAGE / name, ROOT / name) if path.exists())


ROWS = list(rows())
FILES_OF = defaultdict(set)
for places_of_row, files_of_row, _ in ROWS:
    for place_of_row in places_of_row:
        FILES_OF[place_of_row].update(files_of_row)


def docstrings(path):
    """Returns the docstrings of a module by the names of what has them; the module's own by ""."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = ast.FunctionDef | ast.ClassDef
    found = {
        node.name: ast.get_docstring(node) for node in tree.body if isinstance(node, documented)
    }
    return {"": ast.get_docstring(tree), **found}


def test_the_table_has_every_section_that_is_built():
    tables = {"Table 1", "Table 3"}
    assert set(FILES_OF) == {f"Section {number}" for number in REQUIRED} | tables


@pytest.mark.parametrize("place", FILES_OF)
def test_the_package_names_a_place_where_the_table_does_and_nowhere_else(place):
    naming = {
        path
        for path in PACKAGE.rglob("*.py")
        if place in PLACE.findall(path.read_text(encoding="utf-8"))
    }
    assert naming == {path for path in FILES_OF[place] if path.is_relative_to(PACKAGE)}
    for path in FILES_OF[place] - naming:
        assert place in PLACE.findall(path.read_text(encoding="utf-8"))
    for path in naming:
        texts = " ".join(text or "" for text in docstrings(path).values())
        assert place in PLACE.findall(texts), path


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][0])
def test_the_symbols_of_the_table_are_there_and_name_their_place(row):
    places, _, symbols = row
    for name, path in symbols:
        assert re.search(rf"^(class |def )?{name}\b", path.read_text(encoding="utf-8"), re.M)
        text = docstrings(path).get(name, docstrings(path)[""])
        assert set(places) <= set(PLACE.findall(text)), name


def test_what_the_answers_of_the_architecture_name_is_there():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    answers = text.split("### Where to look\n")[1].split("\n## ")[0]
    named = re.findall(r"`(\w+)`(?: in| links)? ?(?:in )?`([\w/]+\.py)`", answers)
    assert len(named) > 8
    for name, file in named:
        source = path_of(file).read_text(encoding="utf-8")
        assert re.search(rf"^(class |def )?{name}\b", source, re.M), (name, file)


def test_no_other_place_is_named_and_none_in_a_way_that_a_search_misses():
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert set(PLACE.findall(text)) <= set(FILES_OF), path
        assert not re.search(r"Sections \d", text), path
        # Broken over two lines.
        assert not re.search(r"(Section|Table)\n\s*\d\.?\d?", text), path
