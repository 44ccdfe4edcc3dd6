"""Positional encodings: the matrix, its curves, and how alike positions are."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from keras_transformer.plotting.figures import SIGNED, finish, line_styles, new_figure, set_title


def plot_positions(table: npt.NDArray[Any], title: str = "") -> Figure:
    """Draws the matrix, a row for each position.

    Args:
        table: float `[positions, d_model]`.
        title: What is said above it.

    Example:
        >>> figure = plot_positions(sinusoidal_table(64, 128))
    """
    figure = new_figure(8, 4.5)
    axes = figure.subplots()
    most = np.abs(table).max()
    image = axes.imshow(
        table, cmap=SIGNED, vmin=-most, vmax=most, aspect="auto", interpolation="none"
    )
    axes.set(xlabel="dimension", ylabel="position")
    figure.colorbar(image, ax=axes, label="value")
    set_title(axes, title)
    return figure


def plot_position_curves(
    table: npt.NDArray[Any], dimensions: Sequence[int], title: str = ""
) -> Figure:
    """Draws some dimensions as curves over the positions.

    Args:
        table: float `[positions, d_model]`.
        dimensions: Which of d_model to draw.
        title: What is said above it.

    Raises:
        ValueError: If there is no such dimension.

    Example:
        >>> figure = plot_position_curves(sinusoidal_table(64, 128), [0, 1, 32, 33])
    """
    for dimension in dimensions:
        if not 0 <= dimension < table.shape[1]:
            raise ValueError(
                f"`dimensions` must be at least 0 and below d_model={table.shape[1]}. Received: "
                f"{dimension}"
            )
    figure = new_figure(8, 4)
    axes = figure.subplots()
    for dimension, style in zip(dimensions, line_styles(len(dimensions)), strict=True):
        axes.plot(table[:, dimension], label=f"dimension {dimension}", **{**style, "marker": ""})
    finish(axes, "position", "value", title)
    figure.legend(loc="outside right upper", frameon=False)
    return figure


def plot_position_products(table: npt.NDArray[Any], title: str = "") -> Figure:
    """Draws the dot products of positions by their distance, as shares of that at no distance.

    Of sinusoids the product depends on the distance alone, so that attention can learn to look at
    a position relative to its own; of a learned table it may depend on the positions as well, and
    the band tells within which bounds.

    Args:
        table: float `[positions, d_model]`.
        title: What is said above it.

    Example:
        >>> figure = plot_position_products(sinusoidal_table(64, 128))
    """
    table = np.asarray(table, np.float64)
    products = table @ table.T / np.mean(np.sum(table**2, axis=1))
    diagonals = [products.diagonal(distance) for distance in range(len(table))]
    mean = np.array([diagonal.mean() for diagonal in diagonals])
    distances = np.arange(len(table))
    figure = new_figure(8, 4)
    axes = figure.subplots()
    [style] = line_styles(1)
    least, most = ([bound(one) for one in diagonals] for bound in (np.min, np.max))
    axes.fill_between(distances, least, most, color=style["color"], alpha=0.2, linewidth=0)
    axes.plot(distances, mean, color=style["color"])
    finish(axes, "distance of two positions", "dot product, relative", title)
    return figure
