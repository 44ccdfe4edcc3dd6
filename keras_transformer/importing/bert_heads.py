"""What a fine-tuned BERT of Hugging Face's is for: its head, and what its labels are called."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_transformer.importing.checkpoint import require_supported
from keras_transformer.importing.tensors import Tensors

_CLASSIFIER, _SPANS = "classifier", "qa_outputs"
# The task of each architecture, and what its head is called.
_HEADS = {
    "BertForSequenceClassification": ("classification", _CLASSIFIER),
    "BertForTokenClassification": ("tags", _CLASSIFIER),
    "BertForQuestionAnswering": ("spans", _SPANS),
}
# Names of weights that are no part of the encoder.
PARTS = (_CLASSIFIER, _SPANS)


@dataclasses.dataclass(frozen=True)
class BertHead:
    """A head on the encoder.

    Args:
        task: The task.
        part: The name of its weights.
        labels: The names of the labels, by their numbers; none of a head that has no labels.
        regression: Whether it gives a number.
    """

    task: str
    part: str
    labels: tuple[str, ...] = ()
    regression: bool = False


def head_of(options: Mapping[str, Any], tensors: Tensors, path: Path) -> BertHead | None:
    """Finds the head of a checkpoint.

    Args:
        options: Its configuration.
        tensors: Its weights.
        path: Where the configuration stands, for messages.

    Returns:
        The head; None of a checkpoint of pre-training, or of another task.

    Raises:
        ValueError: If the weights of the head are missing, or its labels have no counterpart here.
    """
    architectures = options.get("architectures")
    names = architectures if isinstance(architectures, list) else []
    found = next((_HEADS[name] for name in names if name in _HEADS), None)
    if found is None:
        return None
    task, part = found
    if task == "spans":
        return BertHead(task, part)
    count = len(tensors.raw(f"{part}.bias"))
    is_number = task == "classification" and count == 1
    kind = "regression" if is_number else "single_label_classification"
    require_supported(options, {"problem_type": [None, kind]}, path)
    return BertHead(task, part, () if is_number else _labels(options, count, path), is_number)


def _labels(options: Mapping[str, Any], count: int, path: Path) -> tuple[str, ...]:
    """Returns the names of labels, which transformers numbers where there are none."""
    usual = {str(number): f"LABEL_{number}" for number in range(count)}
    names = options.get("id2label") or usual
    if not isinstance(names, dict) or {*names} != {*usual}:
        raise ValueError(
            f"`source` must have an id2label with a name for each of the {count} labels of its "
            f"weights; mend its configuration. Received: {names!r:.200} in {path}"
        )
    return tuple(str(names[number]) for number in usual)
