"""What attends to what: one head as a heat map, all heads of a layer, all layers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from keras_transformer.plotting.figures import (
    cells_size,
    draw_heat_map,
    labels_size,
    new_figure,
    set_title,
)


def plot_attention(
    weights: npt.NDArray[Any],
    queries: Sequence[str],
    keys: Sequence[str],
    title: str = "",
    labels: tuple[str, str] = ("query", "key"),
) -> Figure:
    """Draws the weights of one head, a row for each query.

    Args:
        weights: float `[queries, keys]`.
        queries: Tokens that attend.
        keys: Tokens that are attended to.
        title: What is said above it.
        labels: What the queries and what the keys are.

    Raises:
        ValueError: If there are not as many weights as tokens, or none.

    Example:
        >>> figure = plot_attention(np.eye(2), ["der", "Hund"], ["the", "dog"])
    """
    return plot_heads(np.asarray(weights)[np.newaxis], queries, keys, title, labels)


def plot_heads(
    weights: npt.NDArray[Any],
    queries: Sequence[str],
    keys: Sequence[str],
    title: str = "",
    labels: tuple[str, str] = ("query", "key"),
) -> Figure:
    """Draws the weights of all heads of a layer side by side, in shades of one scale.

    Args:
        weights: float `[heads, queries, keys]`.
        queries: As in `plot_attention`.
        keys: As in `plot_attention`.
        title: As in `plot_attention`.
        labels: As in `plot_attention`.

    Raises:
        ValueError: If there are not as many weights as tokens, or none.

    Example:
        >>> figure = plot_heads(np.full((4, 2, 3), 1 / 3), ["der", "Hund"], ["the", "dog", "</s>"])
    """
    weights = np.asarray(weights)
    _require_fitting(weights, queries, keys)
    heads = len(weights)
    columns = min(heads, 4)
    rows = -(-heads // columns)
    width, height = cells_size(len(keys)) + 0.1, cells_size(len(queries)) + labels_size(keys)
    figure = new_figure(columns * width + labels_size(queries) + 0.9, rows * height + 0.4)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    for head, axes in enumerate(grid.flat):
        if head >= heads:
            axes.set_axis_off()
            continue
        image = draw_heat_map(axes, weights[head], queries, keys, weights.max())
        axes.set_xlabel(labels[1] if heads == 1 else f"head {head}")
        if head % columns == 0:
            axes.set_ylabel(labels[0])
    figure.colorbar(image, ax=grid, label="attention weight", pad=0.02, aspect=30)
    set_title(figure, title)
    return figure


def plot_layers(weights: npt.NDArray[Any], title: str = "") -> Figure:
    """Draws the weights of all heads of all layers, small, to see which is worth a closer look.

    Args:
        weights: float `[layers, heads, queries, keys]`.
        title: What is said above it.

    Raises:
        ValueError: If they have another rank, or there are none.

    Example:
        >>> figure = plot_layers(np.full((2, 4, 3, 3), 1 / 3))
    """
    weights = np.asarray(weights)
    if weights.ndim != 4:
        raise ValueError(
            f"`weights` must be `[layers, heads, queries, keys]`. Received: shape={weights.shape}"
        )
    _require_some(weights)
    layers, heads, queries, keys = weights.shape
    height = 1.3 * min(max(queries / keys, 0.5), 2.0)
    figure = new_figure(1.4 * heads + 1.3, (height + 0.15) * layers + 0.9)
    grid = figure.subplots(layers, heads, squeeze=False)
    for layer in range(layers):
        for head in range(heads):
            axes = grid[layer, head]
            # Each in shades of its own: it is the patterns that are compared.
            draw_heat_map(axes, weights[layer, head])
            axes.set_aspect("auto")
            axes.set_xlabel(f"head {head}" if layer == 0 else "")
            axes.set_ylabel(f"layer {layer}" if head == 0 else "")
    set_title(figure, title)
    return figure


def _require_fitting(
    weights: npt.NDArray[Any], queries: Sequence[str], keys: Sequence[str]
) -> None:
    if weights.ndim != 3 or weights.shape[1:] != (len(queries), len(keys)):
        raise ValueError(
            "`weights` must have a row for each of the queries and a column for each of the keys. "
            f"Received: shape={weights.shape[1:]} for {len(queries)} queries and {len(keys)} keys"
        )
    _require_some(weights)


def _require_some(weights: npt.NDArray[Any]) -> None:
    if not weights.size:
        raise ValueError(
            "`weights` must be of one query and one key at least; an empty translation attends to "
            f"nothing and has no picture. Received: shape={weights.shape}"
        )
