"""examples/beam: line for line what the export gives, whatever failed or was there before."""

import math
import os
import subprocess
from pathlib import Path

import pytest
from small_translator import LINES, TARGETS, small_translator, train_tokenizers

from keras_transformer.export.opening import open_translator
from keras_transformer.export.saved_model import export_saved_model

SCRIPT = Path(__file__).parents[1] / "examples" / "beam" / "translate.py"
TEXT = [
    line for number in range(9) for line in (LINES[number % 6], "", f"dog {number}", "\udcff a")
]
# Beam and SentencePiece ask for versions of protobuf that exclude each other.
PYTHON = os.environ.get("KERAS_TRANSFORMER_BEAM_PYTHON")

pytestmark = pytest.mark.skipif(
    PYTHON is None,
    reason="KERAS_TRANSFORMER_BEAM_PYTHON names no Python that has examples/beam/requirements.txt",
)


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    translator = small_translator(train_tokenizers(), False, {})
    return str(export_saved_model(translator, tmp_path_factory.mktemp("exports") / "small"))


@pytest.fixture
def run(export, tmp_path):
    for name, lines in {"a.en": TEXT, "b.en": TEXT[3:4] + TEXT[:5]}.items():
        text = "".join(f"{line}\n" for line in lines)
        (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))

    def run(*options, pattern="*.en", error=""):
        command = [PYTHON, SCRIPT, "--model", export, "--input", str(tmp_path / pattern)]
        command += ["--output", str(tmp_path / "out"), "--shard_lines", "8", "--batch_size", "4"]
        done = subprocess.run([*command, *options], capture_output=True, text=True)
        assert (done.returncode == 0) == (not error), done.stderr
        assert error in done.stderr
        return tmp_path / "out"

    return run


def shards(out):
    return {path.name: path for path in sorted(out.glob("[!.]*-*"))}


def joined(out, name):
    return "".join(path.read_text() for path in sorted(out.glob(f"{name}-*"))).splitlines()


def expected(export, lines):
    found = open_translator([export]).nbest(
        [one.encode("utf-8", "surrogateescape") for one in lines]
    )
    return [" ".join(best.text.split()) for best, *_ in found]


def test_a_line_for_each_line_and_only_what_is_missing_is_done_again(run, export):
    out = run()
    assert list(shards(out)) == [*(f"a.en-{n:05}" for n in range(5)), "b.en-00000"]
    assert joined(out, "a.en") == expected(export, TEXT)
    assert joined(out, "b.en") == expected(export, TEXT[3:4] + TEXT[:5])
    assert not list((out / "failed").iterdir())
    # What a worker that is killed leaves: a shard that is not there, and the beginning of one.
    before = {name: path.stat().st_mtime_ns for name, path in shards(out).items()}
    lost = shards(out)["a.en-00002"]
    lost.unlink()
    (out / ".a.en-00002.0123").write_text("ein H")
    (out / "failed" / "a.en-00002").write_text("17\tan error that comes no more\n")
    run()
    after = {name: path.stat().st_mtime_ns for name, path in shards(out).items()}
    assert {name for name in after if after[name] != before[name]} == {"a.en-00002"}
    assert not list((out / "failed").iterdir())
    assert joined(out, "a.en") == expected(export, TEXT)


def test_two_processes_give_what_one_gives(run, export):
    out = run("--direct_running_mode", "multi_processing", "--direct_num_workers", "2")
    assert joined(out, "a.en") == expected(export, TEXT)
    assert joined(out, "b.en") == expected(export, TEXT[3:4] + TEXT[:5])


def test_scores_are_the_exports_and_a_line_that_fails_is_marked_and_spares_its_batch(
    run, export, tmp_path
):
    pairs = [*zip(LINES[:5], TARGETS, strict=True), ("the cat " * 9, "Hunde")]
    text = "".join(f"{source}\t{target}\n" for source, target in pairs)
    (tmp_path / "pairs.tsv").write_text(f"{text}no tab\n")
    out = run("--task", "score", pattern="pairs.tsv")
    *scores, last = joined(out, "pairs.tsv")
    found = open_translator([export]).score(*zip(*pairs, strict=True))
    assert scores == [
        "too long" if math.isnan(score.log_prob) else f"{score.log_prob:.4f}" for score in found
    ]
    assert scores[-1] == "too long"
    assert last == ""
    assert (out / "failed" / "pairs.tsv-00000").read_text().startswith("7\tValueError: a line must")


def test_other_options_for_the_same_folder_are_refused(run):
    run(pattern="b.en")
    run("--shard_lines", "9", pattern="b.en", error="--output must be new for other options")
    run(pattern="*.nothing", error="--input must be of files")
    run("--batch_size", "0", error="--batch_size must be at least 1. Received: 0")
