"""How much of a long test runs: all of it when KERAS_TRANSFORMER_THOROUGH is set."""

import os

import pytest


def number(usual, thorough):
    """Returns how many examples or calls a test makes, or which cases it has."""
    return thorough if os.environ.get("KERAS_TRANSFORMER_THOROUGH") else usual


# Marks a test that is for a thorough run alone.
only = pytest.mark.skipif(
    not os.environ.get("KERAS_TRANSFORMER_THOROUGH"),
    reason="KERAS_TRANSFORMER_THOROUGH is not set",
)
