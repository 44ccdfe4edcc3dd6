"""The name under which this package's classes are saved in `.keras` files."""

from typing import Any

import keras

register = keras.saving.register_keras_serializable(package="keras_transformer")


def without_pad_id(config: dict[str, Any]) -> dict[str, Any]:
    """Drops `pad_id` from the configuration of an object that was saved while it was an option.

    Raises:
        ValueError: If it was not 0, which is the id of padding everywhere now.

    Example:
        >>> without_pad_id({"name": "loss", "pad_id": 0})
        {'name': 'loss'}
    """
    pad_id = config.get("pad_id", 0)
    if pad_id != 0:
        raise ValueError(
            "`pad_id` must be 0, the id of padding; give labels and inputs that id. Received: "
            f"pad_id={pad_id}"
        )
    return {name: value for name, value in config.items() if name != "pad_id"}
