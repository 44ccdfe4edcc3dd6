"""Every corpus format, and each way in which a corpus can be wrong."""

import gzip
import sys
import types
from pathlib import Path

import pytest

from keras_transformer.data.corpora import CorpusError, open_corpus

PAIRS = [("a dog", "ein Hund"), ("", "leer"), ("two\u2028parts\x0b\x85", "zwei"), ("Ω 🙂", "ß")]


def write(path: Path, content: str | bytes) -> Path:
    content = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def write_sides(folder: Path, ending: str = "", separator: str = "\n") -> str:
    for language, side in zip(("en", "de"), zip(*PAIRS, strict=True), strict=True):
        write(folder / f"train.{language}{ending}", separator.join(side) + separator)
    return str(folder / "train")


# Files


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("separator", ["\n", "\r\n"])
def test_parallel_files(tmp_path, ending, separator):
    prefix = write_sides(tmp_path, ending, separator)
    corpus = open_corpus(prefix, "en", "de")
    assert list(corpus) == PAIRS
    assert list(corpus) == PAIRS, "a corpus can be read again"
    assert corpus.name == prefix
    assert list(open_corpus(Path(prefix), "de", "en")) == [pair[::-1] for pair in PAIRS]


def test_one_plain_and_one_compressed_file(tmp_path):
    write(tmp_path / "train.en", "a\nb\n")
    write(tmp_path / "train.de.gz", "c\nd\n")
    assert list(open_corpus(str(tmp_path / "train"), "en", "de")) == [("a", "c"), ("b", "d")]


def test_two_paths(tmp_path):
    files = [write(tmp_path / "english.txt", "a\nb"), write(tmp_path / "german.gz", "c\nd\n")]
    assert list(open_corpus(files, "en", "de")) == [("a", "c"), ("b", "d")]
    with pytest.raises(CorpusError, match=r"must be two paths, source and target. Received: .*txt"):
        open_corpus(files[:1], "en", "de")


@pytest.mark.parametrize("ending", [".tsv", ".tsv.gz"])
def test_tsv(tmp_path, ending):
    path = write(tmp_path / f"pairs{ending}", "".join(f"{s}\t{t}\n" for s, t in PAIRS))
    assert list(open_corpus(str(path), "en", "de")) == PAIRS


def test_byte_order_mark_is_no_text(tmp_path):
    write(tmp_path / "train.en", b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n")
    write(tmp_path / "train.de", b"\xef\xbb\xbfc\nd\n")
    corpus = open_corpus(str(tmp_path / "train"), "en", "de")
    assert list(corpus) == [("a", "c"), ("\ufeffb", "d")]


def test_a_stream_is_never_read_as_a_whole(tmp_path):
    write(tmp_path / "train.tsv", b"a\tb\n" * 1000 + b"broken\n")
    lines = iter(open_corpus(str(tmp_path / "train.tsv"), "en", "de"))
    assert [next(lines) for _ in range(1000)] == [("a", "b")] * 1000
    with pytest.raises(CorpusError, match="line 1001"):
        next(lines)


def test_missing_files(tmp_path):
    write(tmp_path / "train.en", "a\n")
    tried = r"no such corpus file.*Received: .*train\.de or .*train\.de\.gz"
    with pytest.raises(CorpusError, match=tried):
        open_corpus(str(tmp_path / "train"), "en", "de")
    with pytest.raises(CorpusError, match=r"no such corpus file.*pairs\.tsv"):
        open_corpus(str(tmp_path / "pairs.tsv"), "en", "de")


def test_empty_files(tmp_path):
    write(tmp_path / "train.en", "")
    write(tmp_path / "train.de.gz", "")
    with pytest.raises(CorpusError, match=r"train is empty.*Received: 0 pairs"):
        open_corpus(str(tmp_path / "train"), "en", "de")


@pytest.mark.parametrize(("english", "german"), [(3, 5), (5, 3), (0, 2), (1, 2), (2, 1)])
def test_different_line_counts(tmp_path, english, german):
    write(tmp_path / "train.en", "a\n" * english)
    write(tmp_path / "train.de", "b\n" * german)
    message = rf"one line for each other.*{english} lines in .*\.en, {german} lines in .*\.de"
    with pytest.raises(CorpusError, match=message):
        list(open_corpus(str(tmp_path / "train"), "en", "de"))


@pytest.mark.parametrize("line", ["one column", "a\tb\tc", ""])
def test_wrong_columns(tmp_path, line):
    path = write(tmp_path / "pairs.tsv", f"a\tb\n{line}\n")
    columns = line.count("\t") + 1
    with pytest.raises(CorpusError, match=rf"pairs.tsv, line 2: .*Received: {columns} column"):
        list(open_corpus(str(path), "en", "de"))


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_text_that_is_not_utf8(tmp_path, ending):
    write(tmp_path / f"train.en{ending}", b"dog\ncaf" + "é\n".encode("latin-1"))
    write(tmp_path / "train.de", "Hund\nKaffee\n")
    message = r"train\.en.*, line 2: the text must be UTF-8.*Received: byte 0xe9 at column 4"
    with pytest.raises(CorpusError, match=message):
        list(open_corpus(str(tmp_path / "train"), "en", "de"))


def test_utf16_is_refused_at_once(tmp_path):
    write(tmp_path / "train.tsv", "a\tb\n".encode("utf-16"))
    with pytest.raises(CorpusError, match="line 1: the text must be UTF-8"):
        open_corpus(str(tmp_path / "train.tsv"), "en", "de")


def test_broken_gzip(tmp_path):
    whole = gzip.compress(b"".join(b"line %d\tb\n" % number for number in range(50_000)))
    for content, line in (
        (b"not gzip", "0"),
        (whole[:10] + b"\xff" * 100, "0"),
        (whole[: len(whole) // 2], r"\d{4,}"),
        (whole[:-8] + bytes(8), "50000"),
    ):
        path = tmp_path / "pairs.tsv.gz"
        path.write_bytes(content)
        message = rf"pairs\.tsv\.gz, after line {line}: the gzip stream is broken"
        with pytest.raises(CorpusError, match=message):
            list(open_corpus(str(path), "en", "de"))


def test_one_language():
    with pytest.raises(CorpusError, match=r"must differ\. Received: 'en' for both"):
        open_corpus("phrasebook", "en", "en")


# TensorFlow Datasets


def test_translate_folder(tmp_path):
    for language, line in (("en", "a dog"), ("de", "ein Hund"), ("fr", "un chien")):
        write(tmp_path / f"{language}.train.txt", f"{line}\n")
        write(tmp_path / f"{language}.test.txt", f"{line}!\n{line}?\n")
    folder = f"tfds:{tmp_path}"
    assert list(open_corpus(folder, "en", "de")) == [("a dog", "ein Hund")]
    test = open_corpus(f"{folder}:test", "fr", "en")
    assert list(test) == list(test) == [("un chien!", "a dog!"), ("un chien?", "a dog?")]
    message = r"`target_language` must be one of .*\['de', 'en', 'fr'\].*Received: 'it'"
    with pytest.raises(CorpusError, match=message):
        open_corpus(folder, "en", "it")


def test_a_folder_that_is_no_data_set(tmp_path):
    write(tmp_path / "train.en", "a\n")
    with pytest.raises(CorpusError, match=r"folder of files named LANGUAGE.SPLIT.txt. Received"):
        open_corpus(f"tfds:{tmp_path}", "en", "de")


def test_a_split_there_is_not(tmp_path):
    for language in ("en", "de"):
        write(tmp_path / f"{language}.train.txt", "a\n")
    with pytest.raises(CorpusError, match=rf"of a split of it, or a folder.*'tfds:{tmp_path}:dev'"):
        open_corpus(f"tfds:{tmp_path}:dev", "en", "de")


@pytest.mark.parametrize(
    "error", [AssertionError("no version 9.9.9"), OSError("no route"), ValueError("?")]
)
def test_a_data_set_that_cannot_be_opened(monkeypatch, error):
    tfds = pytest.importorskip("tensorflow_datasets")

    def builder(name):
        raise error

    monkeypatch.setattr(tfds, "builder", builder)
    with pytest.raises(CorpusError, match=r"A tfds corpus must be.*'tfds:a/b:9\.9\.9'"):
        open_corpus("tfds:a/b:9.9.9", "en", "de")


def test_a_data_set_that_does_not_exist():
    with pytest.raises(
        CorpusError, match=r"must be the name of a data set.*'tfds:no_such_data_set'"
    ):
        open_corpus("tfds:no_such_data_set", "en", "de")


@pytest.mark.parametrize(
    ("spec", "name", "split"),
    [
        ("tfds:ted_hrlr_translate/pt_to_en", "ted_hrlr_translate/pt_to_en", "train"),
        ("tfds:ted_hrlr_translate/pt_to_en:test", "ted_hrlr_translate/pt_to_en", "test"),
        ("tfds:wmt14_translate/de-en:train[:1%]", "wmt14_translate/de-en", "train[:1%]"),
        ("tfds:a/b:1.0.0", "a/b:1.0.0", "train"),
        ("tfds:a/b:1.0.0:train[10:20]+valid", "a/b:1.0.0", "train[10:20]+valid"),
    ],
)
def test_names_and_splits(monkeypatch, spec, name, split):
    tf = pytest.importorskip("tensorflow")
    tfds = pytest.importorskip("tensorflow_datasets")
    asked = []

    class Builder:
        info = types.SimpleNamespace(features={"en": None, "pt": None})

        def download_and_prepare(self):
            asked.append("prepared")

        def as_dataset(self, *, split, shuffle_files):
            assert not shuffle_files
            asked.append(split)
            return tf.data.Dataset.from_tensors({"en": "dog", "pt": "cão"})

    monkeypatch.setattr(tfds, "builder", lambda name: asked.append(name) or Builder())
    assert list(open_corpus(spec, "pt", "en")) == [("cão", "dog")]
    assert asked == [name, "prepared", split], "opened once, and read as often as one likes"


@pytest.mark.parametrize("name", ["ted_hrlr_translate/pt_to_en", "wmt14_translate/de-en"])
def test_the_data_sets_of_recipes_know_what_to_download(name):
    """Where a package is missing that tensorflow-datasets does not ask for, this fails."""
    tfds = pytest.importorskip("tensorflow_datasets")
    assert tfds.builder(name).url_infos


def test_without_tensorflow_datasets(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(CorpusError, match="needs the package tensorflow-datasets; install it"):
        open_corpus("tfds:ted_hrlr_translate/pt_to_en", "pt", "en")


# The phrasebook


@pytest.fixture
def phrasebook(monkeypatch):
    """A stand-in of two pairs, which makes the test independent of the sentences."""
    module = types.ModuleType("phrasebook")
    module.SPLITS = ("train", "test")
    module.asked = []

    def phrasebook(split="train", *, size=None, seed=0):
        module.asked.append((split, size))
        return [("a dog", "ein Hund"), ("a cat", "eine Katze")]

    module.phrasebook = phrasebook
    monkeypatch.setitem(sys.modules, "phrasebook", module)
    return module


def test_phrasebook(phrasebook):
    pairs = [("a dog", "ein Hund"), ("a cat", "eine Katze")]
    assert list(open_corpus("phrasebook", "en", "de")) == pairs
    assert list(open_corpus("phrasebook:test", "de", "en")) == [pair[::-1] for pair in pairs]
    assert list(open_corpus("phrasebook:train:50000", "en", "de")) == pairs
    assert phrasebook.asked == [("train", None), ("test", None), ("train", 50_000)]


@pytest.mark.parametrize(
    "spec", ["phrasebook:dev", "phrasebook:train:many", "phrasebook:train:1:2"]
)
def test_malformed_phrasebook(phrasebook, spec):
    with pytest.raises(CorpusError, match=rf"split of \['train', 'test'\]. Received: '{spec}'"):
        open_corpus(spec, "en", "de")


def test_phrasebook_of_another_language(phrasebook):
    with pytest.raises(
        CorpusError, match=r"`en` and `de` only. Received: source_language='en', ta"
    ):
        open_corpus("phrasebook", "en", "fr")
