"""Labelled texts of TensorFlow Datasets, such as GLUE's: `tfds:glue/mrpc:train`."""

from collections.abc import Iterator
from typing import Any

from keras_transformer.data.corpora import TFDS_SPEC, CorpusError
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
        CorpusError: If the package or the data set is not there, or it has other features.

    Example:
        >>> rows = read_tfds("tfds:glue/mrpc:validation", pairs=True)

    Reference:
        "GLUE", arXiv 1804.07461.
    """
    builder, dataset = _opened(spec)
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


def _opened(spec: str) -> tuple[Any, Any]:
    """Returns the builder of a data set, and one of its splits."""
    match = TFDS_SPEC.fullmatch(spec)
    if match is None:
        raise CorpusError(
            "A tfds corpus must be tfds:NAME or tfds:NAME:SPLIT, such as tfds:glue/sst2. Received: "
            f"{spec!r}"
        )
    try:
        import tensorflow as tf
        import tensorflow_datasets as tfds
    except ImportError as error:
        raise CorpusError(
            f"A tfds corpus needs the package tensorflow-datasets; install it. Received: {spec!r}"
        ) from error
    try:
        builder = tfds.builder(match["name"])
        builder.download_and_prepare()
        return builder, builder.as_dataset(split=match["split"] or "train", shuffle_files=False)
    except ValueError as error:
        told = "must be the name of a data set and of a split of it"
        raise CorpusError(_refused(told, spec, error)) from error
    except (OSError, AssertionError, tf.errors.OpError) as error:
        told = "must be on this machine, or one that can be downloaded"
        raise CorpusError(_refused(told, spec, error)) from error


def _refused(told: str, spec: str, error: Exception) -> str:
    first = (str(error).splitlines() or [type(error).__name__])[0]
    return f"A tfds corpus {told}. Received: {spec!r} ({first})"


def _number(label: Any) -> str:
    return str(float(label))
