"""How long the lines of corpora are, and what share of them has which fault."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from keras_transformer.plotting.figures import finish, line_styles, new_figure, set_title

# Lines longer than those that this share has at most would leave the others no room.
_SHOWN = 0.999


class CorpusPicture(NamedTuple):
    """What is drawn of a corpus.

    Args:
        name: What it is called.
        lengths: For source and target, how many lines have 0, 1, 2, ... words.
        shares: Of its pairs, by fault.
    """

    name: str
    lengths: tuple[Sequence[int], Sequence[int]]
    shares: Mapping[str, float]


def plot_corpora(corpora: Sequence[CorpusPicture]) -> Figure:
    """Draws the lengths of lines and the shares of faults, a row for each corpus.

    Args:
        corpora: What to draw of each; at least one.

    Raises:
        ValueError: If there are none.

    Example:
        >>> picture = CorpusPicture("train", ([0, 3, 5], [0, 4, 4]), {"empty": 0.1})
        >>> figure = plot_corpora([picture])
    """
    if not corpora:
        raise ValueError("`corpora` must be at least one. Received: none")
    heights = [max(3.0, 1.2 + 0.28 * len(one.shares)) for one in corpora]
    figure = new_figure(11, sum(heights))
    rows = figure.subplots(len(corpora), 2, squeeze=False, height_ratios=heights)
    for (left, right), corpus in zip(rows, corpora, strict=True):
        _draw_lengths(left, corpus)
        _draw_shares(right, corpus.shares)
    return figure


def _draw_lengths(axes: Axes, corpus: CorpusPicture) -> None:
    shown = 1
    styles = line_styles(2)
    for name, lines, style in zip(("source", "target"), corpus.lengths, styles, strict=True):
        counts = np.asarray(lines)
        shown = max(shown, int(np.searchsorted(counts.cumsum(), _SHOWN * counts.sum())))
        axes.stairs(
            counts,
            np.arange(len(counts) + 1) - 0.5,
            label=name,
            color=style["color"],
            linestyle=style["linestyle"],
            linewidth=1.5,
        )
    axes.set_xlim(-0.5, shown + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    finish(axes, "words", "lines")
    set_title(axes, corpus.name)
    axes.legend(frameon=False)


def _draw_shares(axes: Axes, shares: Mapping[str, float]) -> None:
    if not shares:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "nothing found", ha="center", va="center")
        return
    percent = [100 * share for share in shares.values()]
    bars = axes.barh(list(shares), percent, color=line_styles(1)[0]["color"])
    axes.bar_label(bars, [f"{share:.2f}" for share in percent], padding=3, fontsize=8)
    axes.margins(x=0.15)
    axes.invert_yaxis()
    axes.tick_params("y", labelsize=8)
    finish(axes, "percent of the pairs", "")
