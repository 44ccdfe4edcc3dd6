"""What the sections of a configuration check when they are made."""

from collections.abc import Mapping
from typing import Any


def require(condition: bool, argument: str, expected: str, received: object) -> None:
    """Raises a `ValueError` that names an argument, what it must be and what was received."""
    if not condition:
        raise ValueError(f"`{argument}` must be {expected}. Received: {argument}={received!r}")


def require_positive(config: object, *names: str) -> None:
    """Requires that fields of a section are more than 0."""
    for name in names:
        value = getattr(config, name)
        require(value > 0, name, "positive", value)


def require_fraction(config: object, *names: str) -> None:
    """Requires that fields of a section are in [0, 1)."""
    for name in names:
        value = getattr(config, name)
        require(0.0 <= value < 1.0, name, "in [0, 1)", value)


def preset_of(presets: Mapping[str, Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    """Returns the fields of a preset, or raises a `ValueError` that lists the presets."""
    if name not in presets:
        raise ValueError(f"`preset` must be one of {', '.join(presets)}. Received: {name!r}")
    return presets[name]
