"""Packages that only some users install, and what is said where one is missing."""

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def needed(for_what: str, package: str, extra: str) -> Iterator[None]:
    """Says of an import that fails what needs the package, and how to install it.

    Args:
        for_what: What cannot be done without it; begins the message.
        package: The name of the package.
        extra: The extra of this one that has it.

    Raises:
        ImportError: If an import in the block fails.

    Example:
        >>> with needed("Export to Hugging Face", "safetensors", "huggingface"):
        ...     import safetensors
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"{for_what} needs the {package} package: pip install 'keras_transformer[{extra}]'"
        ) from error
