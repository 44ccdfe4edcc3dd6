"""A fingerprint changes with any line, their order and where a line ends, and with nothing else."""

import gzip
import itertools

from keras_transformer.data.corpora import open_corpus
from keras_transformer.data.fingerprint import fingerprint

PAIRS = [("a dog", "ein Hund"), ("", "leer"), ("Ω 🙂", "ß"), ("1 2", "3 4")]


def test_corpora_that_differ():
    corpora = [
        [],
        [("", "")],
        [("", ""), ("", "")],
        PAIRS,
        PAIRS[:-1],
        PAIRS[::-1],
        [pair[::-1] for pair in PAIRS],
        [*PAIRS[:3], ("1", "2 3 4")],
        [*PAIRS[:3], ("1 23 4", "")],
        [*PAIRS[:3], ("1 2", "3 5")],
        [("ab", "c")],
        [("a", "bc")],
        [("a", ""), ("b", "c")],
        [("1 1 ab", "")],
        [("a", "b1 1 ab")],
        [("a", "b"), ("a", "b")],
    ]
    found = [fingerprint(corpus) for corpus in corpora]
    for one, other in itertools.combinations(found, 2):
        assert one.sha256 != other.sha256
    assert [pairs for pairs, _ in found] == [len(corpus) for corpus in corpora]


def test_storage_does_not_matter(tmp_path):
    pairs = PAIRS * 700  # More than are hashed at once.
    expected = fingerprint(pairs)
    (tmp_path / "pairs.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in pairs))
    (tmp_path / "train.en").write_bytes("".join(f"{one}\r\n" for one, _ in pairs).encode())
    german = "\n".join(other for _, other in pairs).encode()
    (tmp_path / "train.de.gz").write_bytes(gzip.compress(german))
    for name in ("pairs.tsv", "train"):
        assert fingerprint(open_corpus(tmp_path / name, "en", "de")) == expected
