"""Makes the pictures of docs/pictures.md from runs.

    python tools/make_pictures.py runs/demo runs/post-norm runs/pre-norm

The first one is drawn; of the others, which differ in the place of their normalization alone, the
learning curves. They are runs of configs/phrasebook.yaml: the first is that of `make demo`, and of
the latter two, of eight epochs of 8,000 pairs, `docs/pictures.md` has the commands.

The pictures of docs/attention.md are of other trainings and of measurements, and made apart:
`bahdanau.png`, `luong.png` and `transformer.png` by the call of `plot alignment` on that page, each
of its run of "The comparison", and `table1.png` by `benchmarks/table1.py`.
"""

import argparse
from pathlib import Path

from keras_transformer.commands.main import main

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
SENTENCE = "The old woman reads a good book in the garden."


def make_pictures(run: str, compared: list[str]) -> None:
    """Draws each picture that docs/pictures.md shows."""
    calls = {
        "layers": ["attention", run, SENTENCE],
        "heads": ["attention", run, SENTENCE, "--layer", "0"],
        "alignment": ["alignment", run, SENTENCE],
        "masks": ["masks", run, "The dog sleeps.", "Der Hund schläft."],
        "positions": ["positions", run, "--positions", "64"],
        "products": ["position-products", run, "--positions", "64"],
        "schedule": ["schedule", run, "--steps", "1353"],
        "batches": ["batches", run],
        "history": ["history", *compared, "--metrics", "loss", "bleu"],
    }
    for name, arguments in calls.items():
        main(["plot", *arguments, "--output", str(FOLDER / f"{name}.png")])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="The run that is drawn.")
    parser.add_argument("compared", nargs="+", help="Those of which the curves are drawn.")
    make_pictures(**vars(parser.parse_args()))
