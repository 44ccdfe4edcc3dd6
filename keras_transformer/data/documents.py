"""Documents to pre-train on: files with a sentence a line and a blank line between documents."""

import dataclasses
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from keras_transformer.data.corpora import CorpusError, read_lines, split_and_size

# The sentences of a document.
Document = list[str]

# Characters; what is longer is read as several documents. So those of a shuffle fit in memory also
# if a file has no blank lines, and its texts find other documents than their own.
_LONGEST = 20_000


@dataclasses.dataclass(frozen=True)
class Documents:
    """Documents that can be iterated any number of times, in the same order.

    Args:
        name: Name for messages.
        read: Starts a new reading.

    Example:
        >>> list(Documents("one", lambda: iter([["A dog barks.", "It is loud."]])))
        [['A dog barks.', 'It is loud.']]
    """

    name: str
    read: Callable[[], Iterator[Document]]

    def __iter__(self) -> Iterator[Document]:
        return self.read()

    def sentences(self) -> Iterator[str]:
        """Reads the sentences of all documents."""
        return (sentence for document in self for sentence in document)

    def fingerprint(self) -> dict[str, int | str]:
        """Reads all once; tells how many documents there are, and the hash of their sentences."""
        digest, count = hashlib.sha256(), 0
        for document in self:
            # The lengths before the lines keep apart what differs only in where lines end.
            record = "".join(f"{len(sentence)} {sentence}" for sentence in document)
            digest.update(f"{len(document)} {record}".encode())
            count += 1
        return {"documents": count, "sha256": digest.hexdigest()}


def open_documents(spec: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Documents:
    """Opens documents.

    Args:
        spec: `phrasebook`, `phrasebook:SPLIT` or `phrasebook:SPLIT:SIZE`, the built-in ones; a file
            with a sentence a line and a blank line between documents, UTF-8, plain or with gzip; or
            several of these. Blank lines in a row, and those at an end, are as one.

    Returns:
        At least one document of at least one sentence.

    Raises:
        CorpusError: If a file is missing or there is no document. Only the first one is read here;
            errors further down are raised as the documents are iterated.

    Example:
        >>> _ = Path("text.txt").write_text("A dog barks.\\nIt is loud.\\n\\nA cat sleeps.\\n")
        >>> [len(document) for document in open_documents("text.txt")]
        [2, 1]
    """
    specs = [spec] if isinstance(spec, str | os.PathLike) else list(spec)
    readers = [_reader(os.fspath(one)) for one in specs]

    def read() -> Iterator[Document]:
        for reader in readers:
            yield from reader()

    documents = Documents(" and ".join(os.fspath(one) for one in specs), read)
    if next(iter(documents), None) is None:
        raise CorpusError(
            f"{documents.name or 'The list'} has no document; give text with a sentence a line and "
            "a blank line between documents. Received: no line of text"
        )
    return documents


def _reader(spec: str) -> Callable[[], Iterator[Document]]:
    scheme, _, _ = spec.partition(":")
    if scheme == "phrasebook":
        return _phrasebook(spec)
    path = Path(spec)
    if not path.is_file():
        raise CorpusError(
            "There is no such file of documents; give a text file, a list of files or "
            f"phrasebook:SPLIT. Received: {spec}"
        )
    return lambda: _documents(read_lines(path))


def _documents(lines: Iterator[str]) -> Iterator[Document]:
    document: Document = []
    size = 0
    for line in lines:
        if line.strip():
            document.append(line)
            size += len(line)
        if document and (not line.strip() or size >= _LONGEST):
            yield document
            document, size = [], 0
    if document:
        yield document


def _phrasebook(spec: str) -> Callable[[], Iterator[Document]]:
    from phrasebook import documents

    split, size = split_and_size(spec)
    made = documents(split, size=size)
    return lambda: iter(made)
