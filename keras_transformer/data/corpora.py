"""Parallel corpora: files, TSV, TensorFlow Datasets and the built-in phrasebook.

Every format becomes the same thing: a stream of `(source, target)` lines that can be read again
and again, and that is never held in memory as a whole. What is malformed is an error that names
the file and the line, since a corpus that slips by one line trains a model on nonsense.
"""

import dataclasses
import functools
import gzip
import itertools
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

LinePair = tuple[str, str]
# Starts a new reading of a corpus.
Read = Callable[[], Iterator[LinePair]]

_SPLIT = r"[A-Za-z_][\w-]*(?:\[[^\[\]]*\])?"
_TFDS_SPEC = re.compile(rf"tfds:(?P<name>.+?)(?::(?P<split>{_SPLIT}(?:\+{_SPLIT})*))?")


class CorpusError(ValueError):
    """A corpus that is missing or malformed."""


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Pairs of lines that can be iterated any number of times, in the same order.

    Args:
        name: Name for messages.
        read: Starts a new reading.

    Example:
        >>> list(Corpus("greetings", lambda: iter([("hello", "hallo")])))
        [('hello', 'hallo')]
    """

    name: str
    read: Read

    def __iter__(self) -> Iterator[LinePair]:
        return self.read()

    def epoch(self, index: int) -> Iterator[LinePair]:
        """Reads what an epoch is trained on; of a single corpus every epoch has all pairs."""
        return self.read()

    @functools.cached_property
    def size(self) -> int:
        """Number of pairs; the corpus is read once to count them."""
        return sum(1 for _ in self)


def open_corpus(
    spec: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    source_language: str,
    target_language: str,
) -> Corpus:
    """Opens a corpus.

    A `spec` is one of

    - `"phrasebook"`, `"phrasebook:SPLIT"` or `"phrasebook:SPLIT:SIZE"`: the built-in English and
      German sentences;
    - `"tfds:NAME"` or `"tfds:NAME:SPLIT"`: a translation data set of TensorFlow Datasets, split
      "train" by default; a NAME that is a folder is read by `tfds.folder_dataset.TranslateFolder`;
    - a path ending in `.tsv` or `.tsv.gz`: two columns, source and target;
    - any other path: a prefix, to which `.LANGUAGE` or `.LANGUAGE.gz` is added for each side;
    - two paths: the source file and the target file, plain or `.gz`.

    Args:
        spec: The corpus.
        source_language: Language to translate from, as the file endings or TFDS features say it.
        target_language: Language to translate into.

    Returns:
        A corpus of at least one pair. Its files are UTF-8, with lines that end at a line feed.

    Raises:
        CorpusError: If the corpus is missing, empty or malformed. Only the first pair is read
            here; errors further down are raised as the corpus is iterated.

    Example:
        >>> corpus = open_corpus("phrasebook:test", "en", "de")
        >>> english, german = next(iter(corpus))
    """
    if source_language == target_language:
        raise CorpusError(
            "`source_language` and `target_language` must differ. Received: "
            f"{source_language!r} for both"
        )
    name = os.fspath(spec) if isinstance(spec, str | os.PathLike) else " and ".join(map(str, spec))
    read = _reader(spec, source_language, target_language)
    corpus = Corpus(name, read)
    if next(iter(corpus), None) is None:
        raise CorpusError(f"{name} is empty; a corpus needs at least one pair. Received: 0 pairs")
    return corpus


def _reader(
    spec: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    source_language: str,
    target_language: str,
) -> Read:
    if not isinstance(spec, str | os.PathLike):
        return _two_files(spec)
    spec = os.fspath(spec)
    reader = _SCHEMES.get(spec.partition(":")[0], _files)
    return reader(spec, source_language, target_language)


# Files


def _files(spec: str, source_language: str, target_language: str) -> Read:
    if spec.endswith((".tsv", ".tsv.gz")):
        path = _existing(spec)
        return lambda: _tsv_pairs(path)
    source, target = (_existing(f"{spec}.{end}") for end in (source_language, target_language))
    return lambda: _parallel_pairs(source, target)


def _two_files(paths: Sequence[str | os.PathLike[str]]) -> Read:
    if len(paths) != 2:
        raise CorpusError(
            "A corpus given by its files must be two paths, source and target. Received: "
            f"{list(paths)}"
        )
    source, target = map(_existing, paths)
    return lambda: _parallel_pairs(source, target)


def _existing(path: str | os.PathLike[str]) -> Path:
    """Finds a file, or its gzip."""
    tried = [Path(path)]
    if tried[0].suffix != ".gz":
        tried.append(Path(f"{os.fspath(path)}.gz"))
    for candidate in tried:
        if candidate.is_file():
            return candidate
    raise CorpusError(
        "There is no such corpus file; give a prefix of two files, a .tsv, two paths, "
        f'"tfds:NAME" or "phrasebook". Received: {" or ".join(map(str, tried))}'
    )


def _parallel_pairs(source: Path, target: Path) -> Iterator[LinePair]:
    lines = itertools.zip_longest(_lines(source), _lines(target))
    for number, (one, other) in enumerate(lines):
        if one is None or other is None:
            longer = 1 + number + sum(1 for _ in lines)
            counts = (number, longer) if one is None else (longer, number)
            raise CorpusError(
                "The two files of a parallel corpus must have one line for each other. Received: "
                f"{counts[0]:,} lines in {source}, {counts[1]:,} lines in {target}"
            )
        yield one, other


def _tsv_pairs(path: Path) -> Iterator[LinePair]:
    for number, line in enumerate(_lines(path), 1):
        columns = line.split("\t")
        if len(columns) != 2:
            raise CorpusError(
                f"{path}, line {number}: a line must be two columns separated by one tab. "
                f"Received: {len(columns)} column(s)"
            )
        yield columns[0], columns[1]


def _lines(path: Path) -> Iterator[str]:
    """Reads a text file line by line; only a line feed ends a line, unlike `str.splitlines`."""
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                # A byte order mark would become part of the first word.
                encoding = "utf-8" if number > 1 else "utf-8-sig"
                yield line.rstrip(b"\r\n").decode(encoding)
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{path}, line {number}: the text must be UTF-8; convert the file, for example with "
            f"iconv. Received: byte 0x{error.object[error.start]:02x} at column {error.start + 1}"
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CorpusError(
            f"{path}, after line {number}: the gzip stream is broken; fetch or compress the file "
            f"again. Received: {error}"
        ) from error


# TensorFlow Datasets


def _tfds(spec: str, source_language: str, target_language: str) -> Read:
    match = _TFDS_SPEC.fullmatch(spec)
    if match is None:
        # Without a name it is a path like any other.
        return _files(spec, source_language, target_language)
    name, split = match["name"], match["split"] or "train"
    try:
        import tensorflow_datasets as tfds
    except ImportError as error:
        raise CorpusError(
            f"A tfds corpus needs the package tensorflow-datasets; install it. Received: {name!r}"
        ) from error

    try:
        if Path(name).is_dir():
            builder = tfds.folder_dataset.TranslateFolder(name)
        else:
            builder = tfds.builder(name)
            builder.download_and_prepare()
    except ValueError as error:
        raise CorpusError(
            "A tfds corpus must be the name of a data set, or a folder of files named "
            f"LANGUAGE.SPLIT.txt. Received: {name!r} ({error})"
        ) from error
    languages = sorted(builder.info.features)
    for argument, language in (
        ("source_language", source_language),
        ("target_language", target_language),
    ):
        if language not in languages:
            raise CorpusError(
                f"`{argument}` must be one of the languages {languages} of the data set {name!r}. "
                f"Received: {language!r}"
            )

    def read() -> Iterator[LinePair]:
        dataset = builder.as_dataset(split=split, shuffle_files=False)
        for example in dataset.prefetch(1000).as_numpy_iterator():
            yield example[source_language].decode(), example[target_language].decode()

    return read


# The phrasebook


def _phrasebook(spec: str, source_language: str, target_language: str) -> Read:
    from phrasebook import SPLITS, phrasebook

    _, split, size = (*spec.split(":"), "", "")[:3]
    split = split or "train"
    if spec.count(":") > 2 or split not in SPLITS or not (size.isdecimal() or not size):
        raise CorpusError(
            f'A phrasebook must be "phrasebook:SPLIT" or "phrasebook:SPLIT:SIZE", with a split '
            f"of {list(SPLITS)}. Received: {spec!r}"
        )
    if {source_language, target_language} != {"en", "de"}:
        raise CorpusError(
            "The phrasebook translates between `en` and `de` only. Received: "
            f"source_language={source_language!r}, target_language={target_language!r}"
        )
    pairs = phrasebook(split, size=int(size) if size else None)
    if source_language == "de":
        pairs = [(german, english) for english, german in pairs]
    return lambda: iter(pairs)


# A line for each kind of corpus that is named, as `SCHEME` or `SCHEME:...`; all others are files.
_SCHEMES: dict[str, Callable[[str, str, str], Read]] = {
    "phrasebook": _phrasebook,
    "tfds": _tfds,
}
