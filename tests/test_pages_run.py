"""What the pages tell a reader to type is typed: commands and snippets, in order, at a small size.

The usual form types README, the thorough one the guide as well.
"""

import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest
import thorough

from keras_transformer.commands.main import main
from phrasebook import phrasebook

ROOT = Path(__file__).parents[1]
USUAL = ["README.md"]
ALL = [
    *USUAL,
    "docs/quickstart.md",
    "docs/concepts.md",
    "docs/data.md",
    "docs/decoding.md",
    "docs/evaluation.md",
    "docs/pictures.md",
]

SMALL = {
    **{"model.num_layers": 2, "model.d_model": 16, "model.d_ff": 16, "model.num_heads": 2},
    **{"model.vocab_size": 400, "training.max_steps": 2, "validation.bleu_sentences": 4},
}
PAIRS = {"train": 300, "valid": 20, "test": 20}
PACKAGES = r"python -m keras_transformer |keras-transformer "
# What is other people's to run, or run by other tests. `serve` goes on until it is stopped, and
# COMET is a program of its own.
LEFT_OUT = (
    r"(make|pip|docker|curl|python3?(\.11)? (-m venv|benchmarks|tests)|\. \.venv"
    rf"|({PACKAGES})serve|.* --comet )"
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A reader's folder: a corpus, and the demo's run and export."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "corpus").mkdir()
    for split, count in PAIRS.items():
        for side, language in enumerate(("en", "de")):
            lines = [pair[side] for pair in phrasebook(split, size=count)]
            write(folder / f"corpus/{split}.{language}", lines)
    write(folder / "in.txt", ["The dog sleeps.", "A cat runs."])
    write(folder / "hyp.txt", [target for _, target in phrasebook("test", size=PAIRS["test"])])
    (folder / "configs").symlink_to(ROOT / "configs")
    (folder / "examples").symlink_to(ROOT / "examples")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run("keras-transformer train --data.train corpus/train --output runs/demo", patch)
        run("keras-transformer export runs/demo --output exports/demo", patch)
        for name in ("a", "b"):
            (folder / "runs" / name).symlink_to("demo")
    return folder


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def steps(page):
    """The commands and the blocks of Python of a page, in its order."""
    text = page.read_text("utf-8").replace("\\\n", " ")
    found = (
        r"^```python\n(.*?)^```|^    (?!\s)((?:python|keras-transformer|\.venv/bin/python) [^\n]*)$"
    )
    for block, command in re.findall(found, text, re.DOTALL | re.MULTILINE):
        if not re.match(LEFT_OUT, command):
            yield block or command, bool(block)


def run(command, patch):
    """Runs a command of a page in this process, in a small size."""
    words = shlex.split(re.sub(r" +# .*", "", command.replace(".venv/bin/", "")))
    for sign, name, mode in (("<", "stdin", "r"), (">", "stdout", "w")):
        if sign in words:
            place = words.index(sign)
            patch.setattr(sys, name, open(words[place + 1], mode, encoding="utf-8"))  # noqa: SIM115
            del words[place : place + 2]
    if words[0] == "python" and words[1].startswith("examples/"):
        patch.setattr(sys, "argv", words[1:])
        runpy.run_path(words[1], run_name="__main__")
        return
    name, *arguments = shlex.split(
        re.sub(rf"^(?:{PACKAGES}|python (\w+)\.py )", r"\1 ", shlex.join(words))
    )
    main([name, *(small(arguments) if name == "train" else arguments)])


def small(arguments):
    """The options of a training that takes no time."""
    if "--time" in arguments:
        place = arguments.index("--time")
        arguments = arguments[:place] + arguments[place + 2 :]
    return [*arguments, *(f"--{name}={value}" for name, value in SMALL.items())]


@pytest.mark.parametrize("name", thorough.number(USUAL, ALL))
def test_a_page_from_top_to_bottom(name, place, monkeypatch):
    monkeypatch.chdir(place)
    done = 0
    for step, is_python in steps(ROOT / name):
        with pytest.MonkeyPatch.context() as patch:
            print(step)  # Shown if it fails.
            if is_python:
                exec(compile(re.sub(r"\bbase_\w+", "tiny", step), name, "exec"), {})
            else:
                run(step, patch)
        done += 1
    assert done, "the page has steps"
