"""Documents of files: where they end, and what is refused."""

import gzip

import pytest

from keras_transformer.data.corpora import CorpusError
from keras_transformer.data.documents import Documents, open_documents


def written(path, text):
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return str(path)


def test_blank_lines_end_documents(tmp_path):
    text = "\n \nOne.\r\nTwo.\n\n\n\nThree.\n"
    path = written(tmp_path / "text.txt", text)
    assert list(open_documents(path)) == [["One.", "Two."], ["Three."]]


def test_several_files_in_their_order(tmp_path):
    one = written(tmp_path / "one.txt", "One.\n")
    other = written(tmp_path / "two.txt.gz", "Two.\n\nThree.")
    documents = open_documents([other, one])
    assert list(documents) == [["Two."], ["Three."], ["One."]]
    assert list(documents.sentences()) == ["Two.", "Three.", "One."]


def test_a_long_document_is_several(tmp_path):
    """However long its sentences are: what is held of it is bounded by its characters."""
    path = written(tmp_path / "text.txt", "Line.\n" * 10_000 + ("x" * 15_000 + "\n") * 3)
    lengths = [sum(map(len, document)) for document in open_documents(path)]
    assert lengths == [20_000, 20_000, 10_000 + 15_000, 30_000]


def test_fingerprints_tell_where_documents_and_lines_end():
    texts = [["a", "b"], ["c"]], [["a"], ["b", "c"]], [["ab"], ["c"]], [["a", "b"], ["c"]]
    prints = [Documents("", lambda text=text: iter(text)).fingerprint() for text in texts]
    assert prints[0] == prints[3]
    assert len({one["sha256"] for one in prints}) == 3
    assert prints[0]["documents"] == 2


def test_the_phrasebook_has_some():
    assert len(list(open_documents("phrasebook:valid:7"))) == 7
    with pytest.raises(CorpusError, match=r"with a split of .*'phrasebook:all'"):
        open_documents("phrasebook:all")


@pytest.mark.parametrize(
    ("text", "told"), [("\n  \n", "has no document"), (None, "no such file of documents")]
)
def test_what_is_none(text, told, tmp_path):
    path = tmp_path / "text.txt"
    if text is not None:
        written(path, text)
    with pytest.raises(CorpusError, match=told):
        open_documents(str(path))
