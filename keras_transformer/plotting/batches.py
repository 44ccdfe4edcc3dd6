"""How long the sentences of a corpus are, and what of its batches is padding."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from keras_transformer.plotting.figures import finish, line_styles, new_figure, set_title

Ids = npt.NDArray[Any]


def plot_batches(batches: Iterable[tuple[Ids, Ids]], title: str = "") -> Figure:
    """Draws the lengths of sources and targets, and the tokens and the padding of each shape.

    Args:
        batches: Padded ids of source and target, int `[rows, length]`, 0 for padding.
        title: What is said above it; the share of padding follows it.

    Raises:
        ValueError: If there are no batches.

    Example:
        >>> figure = plot_batches(
        ...     (inputs["source"], labels) for inputs, labels in batches.epoch(0)
        ... )
    """
    lengths: tuple[list[Ids], list[Ids]] = ([], [])
    tokens: Counter[tuple[int, int]] = Counter()
    positions: Counter[tuple[int, int]] = Counter()
    for sides in batches:
        shape = (sides[0].shape[1], sides[1].shape[1])
        for ids, of_side in zip(sides, lengths, strict=True):
            of_side.append(np.count_nonzero(ids, axis=1))
            tokens[shape] += int(np.count_nonzero(ids))
            positions[shape] += ids.size
    if not positions:
        raise ValueError("`batches` must be at least one. Received: none")
    figure = new_figure(10, max(4.0, 1.5 + 0.2 * len(positions)))
    left, right = figure.subplots(1, 2)
    _draw_lengths(left, [np.concatenate(of_side) for of_side in lengths])
    _draw_shapes(right, tokens, positions)
    share = 1 - tokens.total() / positions.total()
    set_title(figure, f"{title}: padding {share:.1%}" if title else f"Padding {share:.1%}")
    return figure


def _draw_lengths(axes: Axes, lengths: Sequence[Ids]) -> None:
    longest = max(int(side.max()) for side in lengths)
    bins = [length + 0.5 for length in range(longest + 1)]
    for name, side, style in zip(("source", "target"), lengths, line_styles(2), strict=True):
        # A row of padding alone is no sentence.
        axes.hist(
            side[side > 0],
            bins,
            histtype="step",
            label=name,
            color=style["color"],
            linestyle=style["linestyle"],
            linewidth=1.5,
        )
    finish(axes, "tokens, eos included", "sentences")
    axes.legend(frameon=False)


def _draw_shapes(
    axes: Axes, tokens: Counter[tuple[int, int]], positions: Counter[tuple[int, int]]
) -> None:
    shapes = sorted(positions, key=lambda shape: shape[::-1])
    real = np.array([tokens[shape] for shape in shapes])
    padding = np.array([positions[shape] for shape in shapes]) - real
    dark, light = (style["color"] for style in line_styles(2))
    names = [f"{source} x {target}" for source, target in shapes]
    axes.barh(names, real, color=dark, label="tokens")
    axes.barh(names, padding, left=real, color=light, label="padding")
    axes.invert_yaxis()
    axes.tick_params("y", labelsize=8)
    axes.ticklabel_format(axis="x", scilimits=(-3, 4), useMathText=True)
    finish(axes, "positions", "batch shape, source x target")
    axes.legend(frameon=False)
