"""Learning curves of one or several runs."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from keras_transformer.console import say
from keras_transformer.plotting.figures import finish, line_styles, new_figure, set_title
from keras_transformer.plotting.fonts import readable

_VALIDATION = "val_"
_NAMES = {"bleu": "BLEU", "chrf": "chrF", "tokens_per_second": "tokens or labels per second"}
# What says how fast and not how well.
_SPEED = "tokens_per_second"
# How the curves of the training differ from those of the validation.
_TRAINING: Mapping[str, Any] = {"marker": "", "linestyle": "-", "alpha": 0.6}


def plot_history(
    histories: Mapping[str, Mapping[str, Sequence[float]]],
    metrics: Sequence[str] | None = None,
    title: str = "",
) -> Figure:
    """Draws the metrics of runs over their epochs, a panel for each metric.

    Args:
        histories: For each run by its name, for each metric by the name that `fit` gives it, a
            value for each epoch. "epoch" counts them from 0. Runs without an epoch are left out,
            which a line says.
        metrics: Metrics to draw, without "val_"; None for all but the speed.
        title: What is said above them.

    Raises:
        ValueError: If no run has such a metric, or there is nothing to draw.

    Example:
        >>> history = {"epoch": [0, 1], "loss": [3.0, 2.0], "val_loss": [3.2, 2.1]}
        >>> figure = plot_history({"demo": history})
    """
    empty = [name for name, history in histories.items() if not history.get("epoch")]
    histories = {name: history for name, history in histories.items() if name not in empty}
    if empty and histories:
        say(f"Left out, as no epoch of it has ended: {', '.join(empty)}", to="stderr")
    there = {
        name.removeprefix(_VALIDATION): None
        for history in histories.values()
        for name in history
        if name != "epoch"
    }
    chosen = list(metrics or (name for name in there if name != _SPEED))
    unknown = [name for name in chosen if name not in there]
    if unknown or not chosen:
        raise ValueError(
            f"`metrics` must be some of {', '.join(there) or 'none, as no epoch has ended'}. "
            f"Received: {', '.join(unknown) or 'none'}"
        )
    columns = min(len(chosen), 3)
    rows = -(-len(chosen) // columns)
    figure = new_figure(3.6 * columns + 0.4, 3.0 * rows + 0.8)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(chosen) :]:
        axes.set_axis_off()
    styles = line_styles(len(histories))
    for axes, metric in zip(grid.flat, chosen, strict=False):
        for history, style in zip(histories.values(), styles, strict=True):
            epochs = [epoch + 1 for epoch in history["epoch"]]
            for prefix in ("", _VALIDATION):
                if prefix + metric in history:
                    kind = {} if prefix else _TRAINING
                    axes.plot(epochs, history[prefix + metric], **{**style, **kind})
        finish(axes, "epoch", _NAMES.get(metric, metric))
        axes.xaxis.get_major_locator().set_params(integer=True)
        if metric == "perplexity":
            axes.set_yscale("log")
    _add_legend(figure, histories, styles)
    set_title(figure, title)
    return figure


def _add_legend(
    figure: Figure,
    histories: Mapping[str, Mapping[str, Sequence[float]]],
    styles: Sequence[Mapping[str, Any]],
) -> None:
    """Tells the runs apart, and the training from the validation."""
    names, families = readable(list(histories))
    handles = [Line2D([], [], color="0.4", alpha=0.6, label="training")]
    for name, history, style in zip(names, histories.values(), styles, strict=True):
        if any(metric.startswith(_VALIDATION) for metric in history):
            handles.append(Line2D([], [], label=f"{name}, validation", **style))
        else:
            handles.append(Line2D([], [], label=name, **{**style, **_TRAINING}))
    legend = figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=min(len(handles), 3),
        frameon=False,
        prop={"family": families},
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
