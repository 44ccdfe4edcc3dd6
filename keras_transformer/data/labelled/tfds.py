"""Labelled texts of TensorFlow Datasets, such as GLUE's: `tfds:glue/mrpc:train`."""

from collections.abc import Iterator
from typing import Any

from keras_transformer.data.corpora import CorpusError, open_tfds
from keras_transformer.data.labelled.examples import LabelledText
from keras_transformer.data.labelled.tsv import require_number

# Texts by the names that data sets give them, in the order in which they are read.
_TEXTS = (
    *("text", "premise", "question", "question1", "sentence1", "sentence"),
    *("hypothesis", "question2", "sentence2"),
)


def read_tfds(spec: str, pairs: bool = False, numbers: bool = False) -> Iterator[LabelledText]:
    """Reads labelled texts of a data set, which is downloaded once.

    Args:
        spec: `tfds:NAME[:SPLIT]`, by default the split "train".
        pairs: Whether there are two texts to a label.
        numbers: Whether labels are numbers, as in `glue/stsb`.

    Yields:
        The examples.

    Raises:
        CorpusError: If the package, the data set or the split is not there, or has other features.

    Example:
        >>> rows = read_tfds("tfds:glue/mrpc:validation", pairs=True)

    Reference:
        "GLUE", arXiv 1804.07461.
    """
    builder, dataset = open_tfds(spec)
    features = dict(builder.info.features)
    texts = [text for text in _TEXTS if text in features]
    is_class = hasattr(features.get("label"), "int2str")
    if len(texts) != 1 + pairs or "label" not in features or is_class == numbers:
        raise CorpusError(
            f"A tfds corpus for this task must have {'two texts' if pairs else 'one text'} and a "
            f"label that is {'a number' if numbers else 'a class'}. Received: {spec!r} with "
            f"{sorted(features)}"
        )
    to_label = features["label"].int2str if is_class else _number
    for number, example in enumerate(dataset.as_numpy_iterator(), 1):
        if is_class and example["label"] < 0:
            raise CorpusError(
                f"A tfds corpus must tell its labels; take another split than one that hides them. "
                f"Received: {spec!r}"
            )
        label = to_label(example["label"])
        if numbers:
            require_number(label, f"{spec}, example {number}")
        yield LabelledText(label, *(example[text].decode("utf-8") for text in texts))


def _number(label: Any) -> str:
    return str(float(label))
