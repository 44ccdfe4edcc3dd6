"""COMET, a learned metric, by its authors' own program.

Their package asks for versions of NumPy and protobuf that TensorFlow does not run with. So the two
are in environments of their own, and what is between them is files.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

MODEL = "Unbabel/wmt22-comet-da"

_SCORE = re.compile(r"^(\d+)\.txt\tscore: (\S+)$", re.MULTILINE)


def score_comet(
    systems: Mapping[str, Sequence[str]],
    sources: Sequence[str],
    references: Sequence[str],
    program: str = "comet-score",
    model: str = MODEL,
) -> list[float]:
    """Scores systems with COMET.

    Args:
        systems: Translations by the name of the system.
        sources: As many sources.
        references: As many references.
        program: The program `comet-score`, or its path where it is in another environment.
        model: Name of the model, which the program downloads the first time.

    Returns:
        The score of each system, the mean of its sentences.

    Raises:
        FileNotFoundError: If there is no such program.
        OSError: If it fails; the message ends with what it said last.

    Example:
        >>> score_comet({"demo": ["ein Hund"]}, ["a dog"], ["ein Hund"])  # doctest: +SKIP
        [0.98]

    Reference:
        Rei et al., "COMET: A Neural Framework for MT Evaluation", arXiv 2009.09025.
    """
    found = require_comet(program)
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{number}.txt" for number in range(len(systems))]
        sides = {"source": sources, "reference": references}
        for name, lines in [*zip(names, systems.values(), strict=True), *sides.items()]:
            text = "".join(" ".join(line.split()) + "\n" for line in lines)
            Path(folder, name).write_text(text, "utf-8")
        arguments = ["-s", "source", "-t", *names, "-r", "reference", "--model", model]
        done = subprocess.run(
            [found, *arguments, "--gpus", "0", "--quiet"],
            cwd=folder,
            env={**os.environ, "PYTHONUTF8": "1"},
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
    scores = {int(number): float(score) for number, score in _SCORE.findall(done.stdout)}
    if done.returncode or len(scores) < len(systems):
        said = "\n".join((done.stderr + done.stdout).strip().splitlines()[-3:])
        raise OSError(f"`{program}` gave no scores (exit code {done.returncode}): {said}")
    return [scores[number] for number in range(len(systems))]


def require_comet(program: str = "comet-score") -> str:
    """Finds COMET's program.

    Returns:
        Its path, which is the same in another folder as well.

    Raises:
        FileNotFoundError: If it is not there.
    """
    found = shutil.which(program)
    if found is None:
        raise FileNotFoundError(
            f"COMET's program must be there to score with it; `pip install unbabel-comet` in an "
            f"environment of its own, and give the path of its comet-score. Received: {program!r}"
        )
    return os.path.abspath(found)
