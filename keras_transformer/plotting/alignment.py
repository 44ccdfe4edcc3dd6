"""Which source tokens each token of a translation is from."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from keras_transformer.plotting.attention import plot_attention


def plot_alignment(
    weights: npt.NDArray[Any],
    source: Sequence[str],
    target: Sequence[str],
    links: Sequence[tuple[int, int]] = (),
    title: str = "",
) -> Figure:
    """Draws soft alignments as shades, and hard ones as dots on them.

    Args:
        weights: float `[target, source]`, as `Translator.attend` gives them.
        source: Tokens of the source.
        target: Tokens of its translation.
        links: Positions of source and target that belong together.
        title: What is said above it.

    Raises:
        ValueError: If there are not as many weights as tokens, or none.

    Example:
        >>> [attention] = translator.attend(["a small dog"])
        >>> figure = plot_alignment(
        ...     attention.weights, attention.source, attention.target, attention.alignment
        ... )

    Reference:
        "Neural Machine Translation by Jointly Learning to Align and Translate", arXiv 1409.0473,
        Figure 3.
    """
    figure = plot_attention(weights, target, source, title, ("translation", "source"))
    if links:
        x, y = np.array(links).T
        # Light within dark shades and dark within light ones.
        figure.axes[0].scatter(x, y, s=26, color="white", edgecolors="black", linewidths=1.2)
    return figure
