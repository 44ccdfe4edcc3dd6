"""history.csv: a line of metrics for each epoch, of which none is there twice."""

import csv
import io
from pathlib import Path

from keras_transformer.files import write_atomically


def forget_epochs(history: Path, first: int) -> None:
    """Removes the lines of epochs that will be trained again, as they end after the checkpoint."""
    if not history.exists():
        return
    with open(history, newline="") as file:
        header, *rows = [*csv.reader(file)] or [[]]
    text, epoch = io.StringIO(newline=""), header.index("epoch") if header else 0
    kept = [row for row in rows if int(row[epoch]) < first]
    csv.writer(text, lineterminator="\n").writerows([header, *kept] if kept else [])
    write_atomically(history, text.getvalue().encode())
