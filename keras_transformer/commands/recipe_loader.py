"""Recipes in YAML whose scalars stay text until an option says what they are.

YAML would make `no`, `on` and `012` booleans and a number, wherever they stand: the language code
of Norwegian, too. Here a field of text takes them as they are written, and a field of numbers or
booleans reads what it reads on the command line. Only null is YAML's, because a field may have
text or nothing.
"""

from typing import Any, ClassVar

import jsonargparse
import yaml

MODE = "recipe"


class _TextLoader(yaml.SafeLoader):
    """PyYAML's loader, told of no plain scalars but null, and of `<<`."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {
        first: [
            (tag, pattern)
            for tag, pattern in resolvers
            if tag in ("tag:yaml.org,2002:null", "tag:yaml.org,2002:merge")
        ]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def load_recipe(text: str) -> Any:
    """Loads YAML with all scalars but null as text.

    Example:
        >>> load_recipe("{target_language: no, epochs: 012, valid: null}")
        {'target_language': 'no', 'epochs': '012', 'valid': None}
    """
    return yaml.load(text, Loader=_TextLoader)


jsonargparse.set_loader(MODE, load_recipe, exceptions=(yaml.YAMLError,))
