"""Tagged words in CoNLL's columns: a word a line with its tag last, an empty line after a sentence.

The columns between are left aside, and so are lines of `-DOCSTART-`, which part documents.
"""

from pathlib import Path

from keras_transformer.data.corpora import CorpusError, read_lines
from keras_transformer.data.labelled.examples import TaggedWords


def read_conll(path: Path) -> list[TaggedWords]:
    """Reads sentences of tagged words.

    Args:
        path: The file, UTF-8, plain or with gzip; columns are apart by spaces or tabs.

    Raises:
        CorpusError: If a line has one column, or other columns than the first; the message has the
            line.

    Example:
        >>> _ = Path("train.conll").write_text("Anna B-PER\\nsings O\\n\\nPaul B-PER\\n")
        >>> [sentence.tags for sentence in read_conll(Path("train.conll"))]
        [('B-PER', 'O'), ('B-PER',)]

    Reference:
        "Introduction to the CoNLL-2003 Shared Task", https://aclanthology.org/W03-0419
    """
    sentences, rows, columns = [], [], 0
    for number, line in enumerate([*read_lines(path), ""], 1):
        row = line.split()
        if row and row[0] != "-DOCSTART-":
            columns = columns or len(row)
            if len(row) != columns or columns < 2:
                raise CorpusError(
                    f"{path}, line {number}: a line must have a word, its tag in the last column, "
                    f"and as many columns as the lines before, {columns}. Received: {len(row)}"
                )
            rows.append((row[0], row[-1]))
        elif rows:
            words, tags = zip(*rows, strict=True)
            sentences.append(TaggedWords(words, tags))
            rows = []
    return sentences
