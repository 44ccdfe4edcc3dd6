"""Attention masks: who may attend to whom."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from keras_transformer.plotting.figures import (
    cells_size,
    draw_heat_map,
    labels_size,
    new_figure,
    set_title,
)


class MaskedTokens(NamedTuple):
    """A mask with its tokens.

    Args:
        mask: bool `[queries, keys]`, True where attention is allowed.
        queries: Tokens that attend.
        keys: Tokens that may be attended to or not.
    """

    mask: npt.NDArray[Any]
    queries: Sequence[str]
    keys: Sequence[str]


def plot_masks(masks: Mapping[str, MaskedTokens], title: str = "") -> Figure:
    """Draws masks side by side, dark where attention is allowed.

    Args:
        masks: By what they are masks of.
        title: What is said above them.

    Example:
        >>> tokens = ["<s>", "der", "Hund"]
        >>> causal = np.tri(3, dtype=bool)
        >>> figure = plot_masks({"decoder": MaskedTokens(causal, tokens, tokens)})
    """
    widths = [cells_size(len(one.keys)) for one in masks.values()]
    height = max(cells_size(len(one.queries)) + labels_size(one.keys) for one in masks.values())
    beside = sum(labels_size(one.queries) for one in masks.values())
    figure = new_figure(sum(widths) + beside, height + 0.7)
    grid = figure.subplots(1, len(masks), squeeze=False, width_ratios=widths)
    for axes, (name, one) in zip(grid.flat, masks.items(), strict=True):
        image = draw_heat_map(axes, one.mask, one.queries, one.keys, most=1)
        axes.set_xticks([x - 0.5 for x in range(1, len(one.keys))], minor=True)
        axes.set_yticks([y - 0.5 for y in range(1, len(one.queries))], minor=True)
        axes.grid(which="minor", color="0.8", linewidth=0.5)
        axes.tick_params(which="minor", length=0)
        axes.set(xlabel=name, ylabel="query", anchor="N")
    meanings = {"may attend": 1.0, "may not": 0.0}
    shades = [
        Patch(facecolor=image.cmap(shade), edgecolor="0.8", label=name)
        for name, shade in meanings.items()
    ]
    figure.legend(handles=shades, loc="outside lower center", ncols=2, frameon=False)
    set_title(figure, title)
    return figure
