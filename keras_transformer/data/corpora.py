"""Parallel corpora: files, TSV, TensorFlow Datasets and the built-in phrasebook.

Every format becomes the same thing: a stream of `(source, target)` lines that can be read again
and again, and that is never held in memory as a whole. What is malformed is an error that names
the file and the line, since a corpus that slips by one line trains a model on nonsense.
"""

import dataclasses
import functools
import gzip
import itertools
import math
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from keras_transformer.data.weights import WeightedPair, weighed_like

LinePair = tuple[str, str]
# Starts a new reading of a corpus.
Read = Callable[[], Iterator[LinePair]]
# A file, and the number of a line in it.
Place = tuple[Path, int]

_COLUMNS = {
    2: "two columns separated by one tab",
    3: "three columns separated by tabs, with a weight in the third, as the first line is",
}

_SPLIT = r"[A-Za-z_][\w-]*(?:\[[^\[\]]*\])?"
_OTHER_LANGUAGES = re.compile(r"(?P<source>[A-Za-z]\w*)-(?P<target>[A-Za-z]\w*):(?P<spec>.+)")
_REVERSED = "reversed:"
TFDS_SPEC = re.compile(rf"tfds:(?P<name>.+?)(?::(?P<split>{_SPLIT}(?:\+{_SPLIT})*))?")


class CorpusError(ValueError):
    """A corpus that is missing or malformed."""


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Pairs of lines that can be iterated any number of times, in the same order.

    Args:
        name: Name for messages.
        read: Starts a new reading.
        weighted: Whether each pair is a `WeightedPair`.
        files: The files that it is read from, if it is, with its lines as they are there.
        source_language: Language code of the sources, "" if it is not known.
        target_language: That of the targets, likewise.

    Example:
        >>> list(Corpus("greetings", lambda: iter([("hello", "hallo")])))
        [('hello', 'hallo')]
    """

    name: str
    read: Read
    weighted: bool = False
    files: tuple[Path, ...] = ()
    source_language: str = ""
    target_language: str = ""

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
    weights: bool = False,
) -> Corpus:
    """Opens a corpus.

    A `spec` is one of

    - `"phrasebook"`, `"phrasebook:SPLIT"` or `"phrasebook:SPLIT:SIZE"`: the built-in English and
      German sentences;
    - `"parses"` and `"dialogue"`, likewise with SPLIT and SIZE: English sentences with their parse
      trees (`phrasebook/trees.py`), and questions with replies (`phrasebook/dialogue.py`);
    - `"tfds:NAME"` or `"tfds:NAME:SPLIT"`: a translation data set of TensorFlow Datasets, split
      "train" by default; a NAME that is a folder is read by `tfds.folder_dataset.TranslateFolder`;
    - a path ending in `.tsv` or `.tsv.gz`: two columns, source and target;
    - any other path: a prefix, to which `.LANGUAGE` or `.LANGUAGE.gz` is added for each side;
    - two paths: the source file and the target file, plain or `.gz`;
    - `"reversed:SPEC"`: the sources and targets of SPEC in each other's place;
    - `"SOURCE-TARGET:SPEC"`, such as `"en-fr:corpora/un"`: SPEC in these languages.

    Args:
        spec: The corpus.
        source_language: Language to translate from, as the file endings or TFDS features say it.
        target_language: Language to translate into.
        weights: Read the pairs' weights, where a corpus of files has them: a third column of a TSV,
            a file `.weights` or `.weights.gz` beside those of a prefix, or a third path.

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
    if isinstance(spec, str) and spec.startswith(_REVERSED):
        # The languages of the lines as they stand: what is read in reverse is the same text.
        corpus = open_corpus(
            spec.removeprefix(_REVERSED), source_language, target_language, weights
        )
        return _reversed(corpus)
    if isinstance(spec, str) and (other := _OTHER_LANGUAGES.fullmatch(spec)):
        corpus = open_corpus(other["spec"], other["source"], other["target"], weights)
        return dataclasses.replace(corpus, name=spec)
    name = os.fspath(spec) if isinstance(spec, str | os.PathLike) else " and ".join(map(str, spec))
    read = _reader(spec, source_language, target_language, weights)
    first = next(read(), None)
    if first is None:
        raise CorpusError(f"{name} is empty; a corpus needs at least one pair. Received: 0 pairs")
    files = read.files if isinstance(read, _FileReader) else ()
    weighted = isinstance(first, WeightedPair)
    return Corpus(name, read, weighted, files, source_language, target_language)


def _reversed(corpus: Corpus) -> Corpus:
    return dataclasses.replace(
        corpus,
        name=f"{_REVERSED}{corpus.name}",
        read=lambda: (weighed_like(pair[::-1], pair) for pair in corpus),
        files=(),
        source_language=corpus.target_language,
        target_language=corpus.source_language,
    )


def _reader(
    spec: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    source_language: str,
    target_language: str,
    weights: bool,
) -> Read:
    if not isinstance(spec, str | os.PathLike):
        return _given_files(spec, weights)
    spec = os.fspath(spec)
    scheme = _SCHEMES.get(spec.partition(":")[0])
    if scheme is not None:
        return scheme(spec, source_language, target_language)
    return _files(spec, source_language, target_language, weights)


# Files


@dataclasses.dataclass(frozen=True)
class _FileReader:
    """Starts a reading of files."""

    files: tuple[Path, ...]
    parse: Callable[..., Iterator[LinePair]]

    def __call__(self) -> Iterator[LinePair]:
        return self.parse(*self.files)


def _files(spec: str, source_language: str, target_language: str, weights: bool = False) -> Read:
    if spec.endswith((".tsv", ".tsv.gz")):
        return _FileReader((_existing(spec),), functools.partial(_tsv_pairs, weights=weights))
    paths = [_existing(f"{spec}.{end}") for end in (source_language, target_language)]
    if weights:
        paths += [file for file in _plain_or_gzip(f"{spec}.weights") if file.is_file()][:1]
    return _FileReader(tuple(paths), _parallel_pairs)


def _given_files(paths: Sequence[str | os.PathLike[str]], weights: bool) -> Read:
    if len(paths) not in ((2, 3) if weights else (2,)):
        raise CorpusError(
            "A corpus given by its files, which with `weights` may have a third one, must be two "
            f"paths, source and target. Received: {list(paths)}"
        )
    return _FileReader(tuple(map(_existing, paths)), _parallel_pairs)


def _existing(path: str | os.PathLike[str]) -> Path:
    """Finds a file, or its gzip."""
    tried = _plain_or_gzip(path)
    for candidate in tried:
        if candidate.is_file():
            return candidate
    raise CorpusError(
        "There is no such corpus file; give a prefix of two files, a .tsv, two paths, "
        f'"tfds:NAME" or "phrasebook". Received: {" or ".join(map(str, tried))}'
    )


def _plain_or_gzip(path: str | os.PathLike[str]) -> list[Path]:
    plain = Path(path)
    return [plain] if plain.suffix == ".gz" else [plain, Path(f"{os.fspath(path)}.gz")]


def _parallel_pairs(*paths: Path) -> Iterator[LinePair]:
    """Reads the files of source, target and, if it is there, weights side by side."""
    for number, lines in enumerate(itertools.zip_longest(*map(read_lines, paths)), 1):
        if None in lines:
            counts = (f"{sum(1 for _ in read_lines(path)):,} lines in {path}" for path in paths)
            raise CorpusError(
                "The files of a parallel corpus must have one line for each other. Received: "
                + ", ".join(counts)
            )
        yield _pair(*lines, place=(paths[-1], number))


def _tsv_pairs(path: Path, weights: bool) -> Iterator[LinePair]:
    expected = 2
    for number, line in enumerate(read_lines(path), 1):
        columns = line.split("\t")
        if number == 1 and weights and len(columns) == 3:
            expected = 3
        if len(columns) != expected:
            raise CorpusError(
                f"{path}, line {number}: a line must be {_COLUMNS[expected]}. "
                f"Received: {len(columns)} column(s)"
            )
        yield _pair(*columns, place=(path, number))


def _pair(source: str, target: str, weight: str | None = None, *, place: Place) -> LinePair:
    if weight is None:
        return source, target
    return WeightedPair((source, target), _weight(weight, *place))


def _weight(text: str, path: Path, number: int) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0.0 <= weight < math.inf:
        raise CorpusError(
            f"{path}, line {number}: the weight of a pair must be a number of at least 0. "
            f"Received: {text!r}"
        )
    return weight


def read_lines(path: Path) -> Iterator[str]:
    """Reads a text file line by line; only a line feed ends a line, unlike `str.splitlines`.

    Args:
        path: The file, UTF-8, plain or with gzip.

    Raises:
        CorpusError: If its text is not UTF-8, or its gzip stream is broken.
        OSError: If it cannot be read.

    Example:
        >>> _ = Path("hyp.txt").write_text("ein Hund\\n")
        >>> list(read_lines(Path("hyp.txt")))
        ['ein Hund']
    """
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
    if TFDS_SPEC.fullmatch(spec) is None:
        # Without a name it is a path like any other.
        return _files(spec, source_language, target_language)
    builder, dataset = open_tfds(spec, translations=True)
    languages = sorted(builder.info.features)
    for argument, language in (
        ("source_language", source_language),
        ("target_language", target_language),
    ):
        if language not in languages:
            raise CorpusError(
                f"`{argument}` must be one of the languages {languages} of the data set {spec!r}. "
                f"Received: {language!r}"
            )

    def read() -> Iterator[LinePair]:
        for example in dataset.prefetch(1000).as_numpy_iterator():
            yield example[source_language].decode(), example[target_language].decode()

    return read


def open_tfds(spec: str, translations: bool = False) -> tuple[Any, Any]:
    """Opens a data set of TensorFlow Datasets, which is downloaded once.

    Args:
        spec: `tfds:NAME[:SPLIT]`, by default the split "train".
        translations: Whether a folder of files named LANGUAGE.SPLIT.txt is one too.

    Returns:
        Its builder, and the examples of the split, a `tf.data.Dataset` in the order of its files.

    Raises:
        CorpusError: If the package, the data set or the split is not there.

    Example:
        >>> builder, dataset = open_tfds("tfds:glue/mrpc:validation")  # doctest: +SKIP
    """
    match = TFDS_SPEC.fullmatch(spec)
    if match is None:
        raise CorpusError(
            "A tfds corpus must be tfds:NAME or tfds:NAME:SPLIT, such as tfds:glue/sst2. Received: "
            f"{spec!r}"
        )
    name, split = match["name"], match["split"] or "train"
    try:
        import tensorflow as tf
        import tensorflow_datasets as tfds
    except ImportError as error:
        raise CorpusError(
            f"A tfds corpus needs the package tensorflow-datasets; install it. Received: {spec!r}"
        ) from error
    try:
        if translations and Path(name).is_dir():
            builder = tfds.folder_dataset.TranslateFolder(name)
        else:
            builder = tfds.builder(name)
            builder.download_and_prepare()
        return builder, builder.as_dataset(split=split, shuffle_files=False)
    except (ValueError, KeyError) as error:
        told = "must be the name of a data set and of a split of it"
        told += ", or a folder of files named LANGUAGE.SPLIT.txt" if translations else ""
        raise CorpusError(_refused(told, spec, error)) from error
    except (OSError, AssertionError, tf.errors.OpError) as error:
        told = "must be on this machine, or one that can be downloaded"
        raise CorpusError(_refused(told, spec, error)) from error


def _refused(told: str, spec: str, error: Exception) -> str:
    first = (str(error).splitlines() or [type(error).__name__])[0]
    return f"A tfds corpus {told}. Received: {spec!r} ({first})"


# The phrasebook


def _phrasebook(spec: str, source_language: str, target_language: str) -> Read:
    from phrasebook import phrasebook

    split, size = split_and_size(spec)
    if {source_language, target_language} != {"en", "de"}:
        raise CorpusError(
            "The phrasebook translates between `en` and `de` only. Received: "
            f"source_language={source_language!r}, target_language={target_language!r}"
        )
    pairs = phrasebook(split, size=size)
    if source_language == "de":
        pairs = [(german, english) for english, german in pairs]
    return lambda: iter(pairs)


def _parses(spec: str, source_language: str, target_language: str) -> Read:
    from phrasebook import parses

    return _made(spec, parses, (source_language, target_language), ("en", "tree"))


def _dialogue(spec: str, source_language: str, target_language: str) -> Read:
    from phrasebook import turns

    return _made(spec, turns, (source_language, target_language), ("turn", "reply"))


def _made(
    spec: str,
    make: Callable[..., Sequence[LinePair]],
    languages: tuple[str, str],
    expected: tuple[str, str],
) -> Read:
    """Reads what the phrasebook makes of English sentences, which is no other language."""
    if languages != expected:
        raise CorpusError(
            f"{spec!r} must be read with source_language={expected[0]!r} and "
            f"target_language={expected[1]!r}. Received: {languages[0]!r} and {languages[1]!r}"
        )
    split, size = split_and_size(spec)
    pairs = make(split, size=size)
    return lambda: iter(pairs)


def split_and_size(spec: str) -> tuple[str, int | None]:
    """Reads `SCHEME[:SPLIT[:SIZE]]` of what the phrasebook makes."""
    from phrasebook import SPLITS

    scheme, split, size = (*spec.split(":"), "", "")[:3]
    split = split or "train"
    if spec.count(":") > 2 or split not in SPLITS or not (size.isdecimal() or not size):
        raise CorpusError(
            f'A {scheme} must be "{scheme}:SPLIT" or "{scheme}:SPLIT:SIZE", with a split '
            f"of {list(SPLITS)}. Received: {spec!r}"
        )
    return split, int(size) if size else None


# A line for each kind of corpus that is named, as `SCHEME` or `SCHEME:...`; all others are files.
_SCHEMES: dict[str, Callable[[str, str, str], Read]] = {
    "phrasebook": _phrasebook,
    "parses": _parses,
    "dialogue": _dialogue,
    "tfds": _tfds,
}
