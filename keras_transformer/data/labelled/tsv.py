"""Labelled texts in columns: a label and one text or two, apart by tabs."""

import math
from pathlib import Path

from keras_transformer.data.corpora import CorpusError, read_lines
from keras_transformer.data.labelled.examples import LabelledText


def read_tsv(path: Path, pairs: bool = False, numbers: bool = False) -> list[LabelledText]:
    """Reads labelled texts, a line each.

    Args:
        path: The file, UTF-8, plain or with gzip: `label<TAB>text`, of pairs
            `label<TAB>text<TAB>text`. It has no line of names.
        pairs: Whether each line has two texts.
        numbers: Whether labels are numbers.

    Raises:
        CorpusError: If a line has other columns, an empty label or a label that is no number where
            it must be one; the message has the line.

    Example:
        >>> _ = Path("reviews.tsv").write_text("good\\tI like it.\\nbad\\tWell ...\\n")
        >>> read_tsv(Path("reviews.tsv"))[0].label
        'good'
    """
    columns = "a label and two texts" if pairs else "a label and a text"
    rows = []
    for number, line in enumerate(read_lines(path), 1):
        label, *texts = line.split("\t")
        if len(texts) != 1 + pairs or not label.strip():
            raise CorpusError(
                f"{path}, line {number}: a line must be {columns}, apart by tabs. Received: "
                f"{1 + len(texts)} column(s), the first {label!r}"
            )
        if numbers and not _is_number(label):
            raise CorpusError(
                f"{path}, line {number}: the label must be a number with `regression`. Received: "
                f"{label!r}"
            )
        rows.append(LabelledText(label.strip(), *texts))
    return rows


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
