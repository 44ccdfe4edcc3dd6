"""Labelled texts in columns: a label and one text or two, apart by tabs."""

from pathlib import Path

import numpy as np

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
        if numbers:
            require_number(label, f"{path}, line {number}")
        rows.append(LabelledText(label.strip(), *texts))
    return rows


# The loss has its square, in float32.
_LARGEST = float(np.sqrt(np.finfo(np.float32).max))


def require_number(label: str, place: str) -> None:
    """Checks that a label is a number that a model can learn.

    Args:
        label: The label, as it is written.
        place: Where it stands; begins the message.

    Raises:
        CorpusError: If it is none, or one whose square is beyond float32.

    Example:
        >>> require_number("-2.5", "train.tsv, line 1")
    """
    try:
        is_number = abs(float(label)) <= _LARGEST
    except ValueError:
        is_number = False
    if not is_number:
        raise CorpusError(
            f"{place}: the label must be a number with `regression`, from -{_LARGEST:.1e} to "
            f"{_LARGEST:.1e}. Received: {label!r}"
        )
