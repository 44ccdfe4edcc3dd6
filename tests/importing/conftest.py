"""What transformers made and said, unpacked once, and runs that it was imported to."""

import json
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.importing.runs import import_run
from keras_transformer.text.vocabulary import BOS_ID, PAD_ID

FOLDER = Path(__file__).parent
ARCHIVE = FOLDER / "marian_models.tar.xz"
# Modules of this folder import what they share.
sys.path.insert(0, str(FOLDER))


@pytest.fixture(scope="session")
def marian_models(tmp_path_factory):
    """The folder with a model of each kind; see `make_marian_models.py`."""
    folder = tmp_path_factory.mktemp("marian_models")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


class Imported:
    """A run, and what transformers said of the model that it was made of, in the run's ids."""

    def __init__(self, folder, output):
        tags = ">>fra<<" in json.loads((folder / "vocab.json").read_text("utf-8"))
        self.run = import_run(folder, output, target_language="fra" if tags else None)
        self.model = self.run.checkpoints.best().load()
        self.expected = dict(np.load(folder / "expected.npz"))
        targets = "target_vocab.json" if self.separate else "vocab.json"
        # Of each of their ids ours: the last one, of the padding, begins translations.
        self.source_ids = self._ids(folder / "vocab.json", self.run.source_tokenizer)
        self.target_ids = self._ids(folder / targets, self.run.target_tokenizer)
        self.target_ids[-1] = BOS_ID
        source = self.source_ids[self.expected["source"]]
        self.source = np.where(self.expected["mask"], source, PAD_ID).astype("int32")

    @property
    def separate(self):
        return self.run.config.model.source_vocab_size is not None

    @staticmethod
    def _ids(path, tokenizer):
        theirs = json.loads(path.read_text("utf-8"))
        ours = {piece: i for i, piece in enumerate(tokenizer.pieces)}
        return np.array([ours.get(piece, PAD_ID) for piece in sorted(theirs, key=theirs.get)])

    def translations(self, name):
        """Their translations in our ids: up to the end, without the padding after it."""
        rows = []
        for row in self.expected[name]:
            length = int((row == 0).argmax()) + 1 if (row == 0).any() else len(row)
            rows.append(self.target_ids[row[:length]].tolist())
        return rows


@pytest.fixture(scope="session")
def imported(marian_models, tmp_path_factory):
    """Imports a kind, once."""
    made = {}

    def get(kind):
        if kind not in made:
            output = tmp_path_factory.mktemp("imported") / kind
            made[kind] = Imported(marian_models / kind, output)
        return made[kind]

    return get
