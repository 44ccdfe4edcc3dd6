"""Parts of a model that are not trained, by their names.

Whether a variable is trainable is not saved with a model: freeze again what has been loaded, before
an optimizer is built for it.
"""

import re
from collections.abc import Iterable, Sequence

import keras


def freeze(model: keras.Model, names: Sequence[str]) -> list[str]:
    """Makes parts of a model not trainable; comes before `compile_model`.

    Args:
        model: A built model.
        names: Paths of variables or of what contains them, without the model's own name:
            "encoder", "target_embedding", "decoder/layer_0". A `*` stands for any text.

    Returns:
        The paths of all variables that are frozen now.

    Raises:
        ValueError: If a name fits nothing, or nothing is left to train.

    Example:
        >>> frozen = freeze(model, ["encoder", "decoder/*/feed_forward"])
        >>> model = compile_model(model, TrainingConfig())
    """
    variables = {_path(variable): variable for variable in model.weights}
    for name in names:
        matching = [path for path in variables if _pattern(name).fullmatch(path)]
        if not matching:
            raise ValueError(
                "`freeze` must name parts of the model, with `*` for any text; there are "
                f"{', '.join(_parts(variables))}, and what is in them. Received: {name!r}"
            )
        for path in matching:
            variables[path].trainable = False
    if not model.trainable_variables:
        raise ValueError(
            f"`freeze` must leave something to train. Received: {', '.join(map(repr, names))}, "
            "which is the whole model"
        )
    return [path for path, variable in variables.items() if not variable.trainable]


def _path(variable: keras.Variable) -> str:
    # Models are numbered through: "transformer", "transformer_1".
    return variable.path.partition("/")[2]


def _pattern(name: str) -> re.Pattern[str]:
    text = ".*".join(re.escape(part) for part in name.strip("/").split("*"))
    return re.compile(f"{text}(/.*)?")


def _parts(paths: Iterable[str]) -> list[str]:
    """Returns the containers of the first two levels, in the order of the model."""
    parents = (path.split("/")[:-1] for path in paths)
    return list(dict.fromkeys("/".join(parent[:n]) for parent in parents for n in (1, 2)))
