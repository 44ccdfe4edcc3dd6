"""The command line as a whole: its faces, help, errors and exit codes."""

import dataclasses
import importlib
import os
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from keras_transformer.__main__ import main as module_main
from keras_transformer.commands import main as commands
from keras_transformer.commands.main import COMMANDS, main
from keras_transformer.config import DecodingConfig, RunConfig

ROOT = Path(__file__).parents[2]
# What each command needs, and nothing more.
NEEDED = {
    "train": ["--output", "runs/none"],
    "prepare": ["--output", "runs/none", "--data.cache", "ids"],
    "import": ["none", "--output", "runs/none"],
    "export": ["runs/none", "--output", "exports/none"],
    "translate": ["runs/none"],
    "predict": ["runs/none"],
    "backtranslate": ["runs/none", "--text", "none.de", "--output", "none"],
    "evaluate": ["runs/none", "corpus"],
    "score": ["runs/none", "corpus"],
    "serve": ["runs/none"],
    "average": ["runs/none"],
    "info": ["runs/none"],
    "plot": ["attention", "runs/none", "the dog", "--output", "a.png"],
    "inspect": ["corpus"],
}
DECODING = {f"--{field.name}" for field in dataclasses.fields(DecodingConfig)}


@pytest.fixture
def call(capsys, monkeypatch, tmp_path):
    """Runs a face of the command line: its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(face, *arguments):
        monkeypatch.setattr(sys, "argv", ["called", *arguments])
        code = 0
        try:
            face()
        except SystemExit as error:
            code = error.code
        output, errors = capsys.readouterr()
        if isinstance(code, str):  # Python prints it and exits with 1.
            code, errors = 1, f"{errors}{code}\n"
        return code or 0, output, errors

    return run


def script(name):
    return lambda: runpy.run_path(str(ROOT / name), run_name="__main__")


def fail(monkeypatch, error):
    """Has `info` raise an error in place of what it does."""

    def run(arguments):
        raise error

    command = dataclasses.replace(COMMANDS["info"], run=run)
    monkeypatch.setitem(COMMANDS, "info", command)


def test_the_script_is_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, name = project["scripts"]["keras-transformer"].partition(":")
    assert getattr(importlib.import_module(module), name) is main


def test_every_command_is_tested():
    assert list(COMMANDS) == list(NEEDED)


@pytest.mark.parametrize(
    ("face", "before", "called"),
    [
        (module_main, ["train"], "python -m keras_transformer train"),
        (module_main, ["export"], "python -m keras_transformer export"),
        (script("train.py"), [], "train.py"),
        (script("export.py"), [], "export.py"),
    ],
)
def test_all_faces_give_the_same(call, face, before, called):
    name = before[0] if before else called.removesuffix(".py")
    as_script = f"keras-transformer {name}"
    expected = call(main, name, "--help")[1]
    example = f"python {called}" if called.endswith(".py") else called
    expected = expected.replace(f"Example: {as_script}", f"Example: {example}")
    assert call(face, *before, "--help") == (0, expected.replace(as_script, called), "")
    code, output, errors = call(main, name, "--beam", "3")
    expected = code, output, errors.replace(as_script, called)
    assert code == 2
    assert call(face, *before, "--beam", "3") == expected


@pytest.mark.parametrize(
    ("face", "before", "start"),
    [
        (main, ["export"], "keras-transformer export: error: "),
        (module_main, ["export"], "keras_transformer: error: "),
        (script("export.py"), [], "export.py: error: "),
    ],
)
def test_an_error_is_one_line(call, face, before, start):
    code, output, errors = call(face, *before, *NEEDED["export"])
    assert (code, output) == (1, "")
    assert errors.startswith(f"{start}`path` must be a run directory")
    assert errors.count("\n") == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_help(call, name):
    code, text, errors = call(main, name, "--help")
    assert (code, errors) == (0, "")
    assert text.startswith(COMMANDS[name].summary)
    assert f"\n\nExample: keras-transformer {name} {COMMANDS[name].example}\n\n" in text
    assert max(map(len, text.splitlines())) <= 80
    assert {"--verbose", "--traceback", "--help"} <= {*text.replace(",", " ").split()}
    if name in ("translate", "evaluate", "export"):
        assert {*text.replace(",", " ").split()} >= DECODING | {"--checkpoint"}


def test_groups_of_options(call):
    text = call(main, "train", "--help")[1]
    groups = [line for line in text.splitlines() if line.endswith(":") and line[0] != " "]
    sections = [section.name for section in dataclasses.fields(RunConfig)]
    assert groups == [f"{name}:" for name in ["general", *sections]]
    text = call(main, "translate", "--help")[1]
    assert text.index("\ngeneral:") < text.index("--checkpoint") < text.index("\ndecoding:")


@pytest.mark.parametrize("face", [main, module_main])
def test_help_lists_the_commands(call, face):
    code, text, _ = call(face, "--help")
    assert code == 0
    lines = text[text.index("\ncommands:\n") :].splitlines()[2:]
    assert [line.split()[0] for line in lines] == list(COMMANDS)
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "Received: none"),
        (["paint"], "Received: paint"),
        (["--paint"], "--paint"),
        (["average", "runs/none", "--last", "0"], "argument --last: must be at least 1"),
        (["translate", "runs/none", "--beam_size", "many"], "argument --beam_size: Expected int"),
        (["translate"], "required"),
        *(([name, *needed, "--verb"], "arguments: --verb") for name, needed in NEEDED.items()),
        *(([name, *needed, "--paint"], "arguments: --paint") for name, needed in NEEDED.items()),
    ],
)
def test_wrong_usage(call, arguments, word):
    code, output, errors = call(main, *arguments)
    assert (code, output) == (2, "")
    assert word in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize("error", [ValueError, OSError, ImportError])
def test_a_traceback_is_shown_on_demand(call, monkeypatch, error):
    fail(monkeypatch, error("first\n  second"))
    expected = 1, "", "keras-transformer info: error: first second\n"
    assert call(main, "info", "a") == expected
    with pytest.raises(error):
        call(main, "info", "a", "--traceback")


def test_a_bug_shows_where_it_is(call, monkeypatch):
    fail(monkeypatch, RuntimeError("a bug"))
    with pytest.raises(RuntimeError):
        call(main, "info", "a")


def test_an_interrupt(call, monkeypatch):
    fail(monkeypatch, KeyboardInterrupt())
    assert call(main, "info", "a") == (130, "", "")


@pytest.fixture
def exported(tmp_path):
    """What `info` takes for an export, and reads without TensorFlow."""
    for name, content in {"model.bin": "", "config.json": "{}"}.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "shared_vocabulary.json").write_text("[]")
    return tmp_path


@pytest.mark.parametrize(
    ("redirected", "code", "error"),
    [
        # `exec true` ends before there is something to read.
        ("3> >(exec true) >&3", 141, ""),
        (">/dev/full", 1, "keras_transformer: error: [Errno 28] No space left on device"),
        (">&-", 1, "keras_transformer: error: [Errno 9] Bad file descriptor"),
        ("--paint >/dev/null 2>/dev/full", 2, ""),
        (">/dev/full 2>&1", 1, ""),
    ],
)
def test_a_result_that_cannot_be_written(exported, redirected, code, error):
    """In a shell: Python must not fail once more, with a code of its own, when it ends."""
    command = f"{sys.executable} -m keras_transformer info {exported} {redirected}"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.strip()) == (code, error)


def test_verbose_is_told_to_tensorflow(call, monkeypatch):
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    fail(monkeypatch, ValueError("none"))
    call(main, "info", "a")
    assert "TF_CPP_MIN_LOG_LEVEL" not in os.environ
    call(main, "info", "a", "--verbose")
    assert os.environ.pop("TF_CPP_MIN_LOG_LEVEL") == "0"


WITHOUT_KERAS = """
import sys
from keras_transformer.commands.main import main
for arguments in (["--help"], ["translate", "--help"], ["score"], ["export", "a", "--paint"]):
    try:
        main(arguments)
    except SystemExit:
        pass
print(sorted({"keras", "numpy", "tensorflow"} & {*sys.modules}))
"""


def test_help_and_wrong_usage_load_no_tensorflow(fresh_process):
    assert fresh_process(WITHOUT_KERAS).splitlines()[-1] == "[]"


def test_names_in_errors():
    assert commands.one_line("a\n  b\n\nc ") == "a b c"
