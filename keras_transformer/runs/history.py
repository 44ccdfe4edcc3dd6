"""history.csv: a line of metrics for each epoch, of which none is there twice."""

import csv
import io
import math
from pathlib import Path

from keras_transformer.files import write_atomically


def read_history(history: Path) -> dict[str, list[float]]:
    """Returns the metrics of each epoch by their names, and the epochs, which count from 0.

    What an epoch did not measure is NaN; a metric that none measured is left out.

    Args:
        history: The file; where there is none, no epoch has ended.

    Example:
        >>> sorted(read_history(Path("runs/demo/history.csv")))[:3]
        ['accuracy', 'epoch', 'loss']
    """
    header, rows = _read(history)
    columns = zip(*rows, strict=True) if rows else [()] * len(header)
    read = {
        name: [_number(value) for value in column]
        for name, column in zip(header, columns, strict=True)
    }
    # Without validation, Keras has a column "val_" for each metric all the same.
    return {name: values for name, values in read.items() if not _is_missing(values)}


def forget_epochs(history: Path, first: int) -> None:
    """Removes the lines of epochs that will be trained again, as they end after the checkpoint."""
    if not history.exists():
        return
    header, rows = _read(history)
    text, epoch = io.StringIO(newline=""), header.index("epoch") if header else 0
    kept = [row for row in rows if int(row[epoch]) < first]
    csv.writer(text, lineterminator="\n").writerows([header, *kept] if kept else [])
    write_atomically(history, text.getvalue().encode())


def _number(value: str) -> float:
    """Reads a value of Keras's CSVLogger, which writes "NA" where it has none."""
    return math.nan if value in ("", "NA") else float(value)


def _is_missing(values: list[float]) -> bool:
    return bool(values) and all(map(math.isnan, values))


def _read(history: Path) -> tuple[list[str], list[list[str]]]:
    """Returns the head and the rows."""
    if not history.exists():
        return [], []
    with open(history, newline="", encoding="utf-8") as file:
        header, *rows = [*csv.reader(file)] or [[]]
    return header, rows
