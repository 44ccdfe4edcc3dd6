"""Learning rates over the steps of a training."""

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt
from matplotlib.figure import Figure

from keras_transformer.plotting.figures import finish, line_styles, new_figure
from keras_transformer.plotting.fonts import readable


def plot_schedules(
    schedules: Mapping[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]], title: str = ""
) -> Figure:
    """Draws schedules.

    Args:
        schedules: By their names, the steps, counted from 1, and the learning rate of each.
        title: What is said above them.

    Example:
        >>> schedule, steps = TransformerSchedule(512), np.arange(1, 20_000, 100)
        >>> figure = plot_schedules({"base": (steps, np.array(schedule(steps - 1)))})

    Reference:
        "Attention Is All You Need", Equation 3.
    """
    figure = new_figure(8, 4)
    axes = figure.subplots()
    for (name, (steps, rates)), style in zip(
        schedules.items(), line_styles(len(schedules)), strict=True
    ):
        axes.plot(steps, rates, label=name, **{**style, "marker": ""})
    finish(axes, "step", "learning rate", title)
    axes.ticklabel_format(axis="y", scilimits=(-2, 3), useMathText=True)
    axes.set(xlim=(0, None), ylim=(0, None))
    texts, families = readable(schedules)
    legend = axes.legend(texts, prop={"family": families}, frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure
