"""How much of a long test runs: all of it when KERAS_TRANSFORMER_THOROUGH is set."""

import os


def number(usual, thorough):
    """Returns how many examples or calls a test makes, or which cases it has."""
    return thorough if os.environ.get("KERAS_TRANSFORMER_THOROUGH") else usual
