"""The pages agree with the code: what they name is there, and defaults are what they say."""

import ast
import dataclasses
import importlib
import re
import shlex
from pathlib import Path

import pytest

from keras_transformer.commands.main import COMMANDS
from keras_transformer.config import (
    BERT_PRESETS,
    PRESETS,
    RECURRENT_PRESETS,
    BertConfig,
    DataConfig,
    DecodingConfig,
    DocumentsConfig,
    PiecesConfig,
    RecurrentConfig,
    TokenizerConfig,
    TrainingConfig,
    TransformerConfig,
    ValidationConfig,
)
from keras_transformer.config.labelled import (
    ClassificationDataConfig,
    PairsDataConfig,
    SpansDataConfig,
    TagsDataConfig,
)
from keras_transformer.config.run import RUN_CONFIGS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = [*PAGES, *sorted((ROOT / "configs").glob("*.yaml"))]
FOLDERS = (
    *("benchmarks", "configs", "docs", "examples"),
    *("keras_transformer", "phrasebook", "tests", "tools"),
)

# Each section of a run's configuration, with the fields that it has in any task.
SECTIONS = {
    "model": {
        field.name
        for kind in (TransformerConfig, RecurrentConfig, BertConfig)
        for field in dataclasses.fields(kind)
    }
}
for _sections in RUN_CONFIGS.values():
    for _section in dataclasses.fields(_sections):
        if _section.name != "model":
            _names = {field.name for field in dataclasses.fields(_section.type)}
            SECTIONS.setdefault(_section.name, set()).update(_names)

# The heading above each table of options, by page.
TABLES = [
    ("docs/attention.md", "### `model`", RecurrentConfig),
    ("docs/bert.md", "### `model`", BertConfig),
    ("docs/bert.md", "### `data`", DocumentsConfig),
    ("docs/bert.md", "### `tokenizer`", PiecesConfig),
    ("docs/decoding.md", "## Options", DecodingConfig),
    ("docs/fine_tuning.md", "### `data` of `classification`", ClassificationDataConfig),
    ("docs/fine_tuning.md", "### `data` of `pairs`", PairsDataConfig),
    ("docs/fine_tuning.md", "### `data` of `spans`", SpansDataConfig),
    ("docs/fine_tuning.md", "### `data` of `tags`", TagsDataConfig),
    ("docs/training.md", "### `model`", TransformerConfig),
    ("docs/training.md", "### `data`", DataConfig),
    ("docs/training.md", "### `tokenizer`", TokenizerConfig),
    ("docs/training.md", "### `training`", TrainingConfig),
    ("docs/training.md", "### `validation`", ValidationConfig),
]

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
texts = pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))


def code_spans(page):
    """What stands in backticks, outside of blocks of code, and is ours."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    if page.parent.name == "coming_from":  # There the first column is another toolkit's.
        text = re.sub(r"^\|[^|]*\|", "|", text, flags=re.MULTILINE)
    return re.findall(r"`([^`]+)`", text)


def repository_files():
    """Paths of the source files, without what is built or made."""
    return [
        path.relative_to(ROOT)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]


def table(path, heading):
    """The rows of the first table below a heading, without its head."""
    _, found, below = (ROOT / path).read_text("utf-8").partition(f"\n{heading}\n")
    assert found, f"{path} has no heading {heading!r}"
    rows = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def default_of(field):
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


@pytest.mark.parametrize(("path", "heading", "config"), TABLES)
def test_tables_of_options(path, heading, config):
    """In the order of the dataclass: each field with its default, and nothing else."""
    expected = [(f"`{f.name}`", f"`{default_of(f)!r}`") for f in dataclasses.fields(config)]
    rows = table(path, heading)
    assert [(name, default) for name, default, _ in rows] == expected
    assert all(meaning for *_, meaning in rows)


def test_every_page_is_in_the_site():
    content = (ROOT / "mkdocs.yml").read_text("utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        assert f" {page.relative_to(ROOT / 'docs')}\n" in content, page


@pages
def test_paths(page):
    """A file may be named from the package on, or by its name alone."""
    known = [f"/{path.as_posix()}" for path in repository_files()]
    known += [f"/{path.name}" for path in ROOT.glob("*.*")]
    for span in code_spans(page):
        if re.fullmatch(rf"({'|'.join(FOLDERS)})/[\w./-]*", span):
            assert (ROOT / span).exists(), f"{page.name} names {span}"
        elif re.fullmatch(r"[\w/-]+\.(py|md|sh|c)", span):
            assert any(path.endswith(f"/{span}") for path in known), f"{page.name} names {span}"


@texts
def test_scripts_of_commands(page):
    """Scripts that commands run are there; those of benchmarks have the options that are given."""
    text = page.read_text("utf-8").replace("\\\n", " ")
    commands = re.findall(r"\bpython ((?:\w+/)*\w+\.py)([^\n`;|]*)", text)
    for script, arguments in commands:
        assert (ROOT / script).is_file(), f"{page.name} runs {script}"
        if script.startswith("benchmarks/"):
            source = (ROOT / script).read_text("utf-8")
            for option in re.findall(r"--[\w-]+", arguments):
                assert f'"{option}"' in source, f"{page.name} gives {option} to {script}"


@texts
def test_options_of_commands(page, monkeypatch, capsys):
    """A command that a page gives is one that its parser takes."""
    monkeypatch.chdir(ROOT)
    text = re.sub(r"\[[^\]\n]*\]", "", page.read_text("utf-8").replace("\\\n", " "))
    # What a reader has of his own, and what stands for any option.
    text = re.sub(r"--config my\.yaml|--OPTION \.\.\.", "", text)
    names = r"-m keras_transformer ([a-z]+)|(train|export)\.py"
    script = r"(?:^ +|`)keras-transformer ([a-z]+)\b(?! *`)"  # Not the name of a command alone.
    command = rf"(?:\bpython (?:{names})|{script})([^\n`;|<>#&]*)"
    for *names, arguments in re.findall(command, text, re.MULTILINE):
        [name] = filter(None, names)
        arguments = shlex.split(arguments)
        if "--help" in arguments:
            continue
        try:
            COMMANDS[name].parsed(arguments, "python")
        except SystemExit:
            pytest.fail(f"{page.name}, {name}: {capsys.readouterr().err}")


# Names in backticks that are others'.
FOREIGN = {"group_by_window", "output_filter", "tensorflow_model_server"}


@pages
def test_names_in_code(page):
    """Functions, options and classes in backticks are somewhere in the code."""
    code = {".py", ".c", ".yaml", ".config", ".txt"}
    files = [f for f in repository_files() if f.suffix in code and f.name != Path(__file__).name]
    known = {*FOREIGN}.union(*(re.findall(r"\w+", (ROOT / f).read_text("utf-8")) for f in files))
    for span in code_spans(page):
        for name in re.findall(r"^_?(?:[a-z]+_\w+|[A-Z]\w+[a-z][A-Z]\w+)(?=$|\()", span):
            assert name in known, f"{page.name} names {name}"


# What looks like an option in backticks and is none: a file of a checkpoint.
FILES = {("training", "npz")}


@texts
def test_options(page):
    """`--section.name` anywhere, and `section.name` in backticks, where `model.x` is Python too."""
    given = re.findall(rf"--({'|'.join(SECTIONS)})\.(\w+)", page.read_text("utf-8"))
    for span in code_spans(page) if page.suffix == ".md" else []:
        given += re.findall(rf"^({'|'.join({*SECTIONS} - {'model'})})\.(\w+)(?![\w./])", span)
    for section, name in {*given} - FILES:
        known = name in SECTIONS[section] or name == "NAME"
        assert known, f"{page.name} names the option {section}.{name}"


@texts
def test_presets(page):
    """In commands, in Python and in recipes; `toy` is of the tests."""
    known = {*PRESETS, *RECURRENT_PRESETS, *BERT_PRESETS, "NAME", "toy"}
    text = page.read_text("utf-8")
    named = {*re.findall(r"""(?:--preset[ =]|preset\("|^preset: )(\w+)""", text, re.MULTILINE)}
    assert named <= known, f"{page.name} names {named - known}"


def test_renamed_options_are_gone():
    """Names that options had before, but for benchmarks' own."""
    old = r"(?<![\w-])(learning_rate|model\.label_smoothing|training\.(bleu_\w+|samples))(?![\w_])"
    for page in TEXTS:
        for span in code_spans(page):
            assert not re.search(old, span), f"{page.name} has {span}"


def python_blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


BLOCKS = [
    pytest.param(block, id=f"{page.name}: {block.splitlines()[0]}")
    for page in PAGES
    for block in python_blocks(page)
]


@pytest.mark.parametrize("block", BLOCKS)
def test_python_blocks(block):
    """They are Python, and what they import from the package is there."""
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "keras_transformer":
            module = importlib.import_module(node.module)
            for alias in node.names:
                assert hasattr(module, alias.name), f"{node.module} has no {alias.name}"


def test_the_model_in_python():
    """README's block runs, and its comments tell shapes that are so."""
    [block] = [block for block in python_blocks(PAGES[0]) if "compile_model" in block]
    names = {}
    exec(block.replace("base_h4", "tiny"), names)
    assert names["logits"].shape == (1, 3, 8000)
    heads = names["config"].num_heads
    assert names["weights"]["cross"][0].shape == (1, heads, 3, 3)
