"""What all pictures share: how they look, heat maps with tokens on their axes, and files.

Colour maps grow darker or lighter from end to end, and lines differ in more than their colour, so
that a picture says the same in print.
"""

import io
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.layout_engine import ConstrainedLayoutEngine

from keras_transformer.files import write_atomically
from keras_transformer.plotting.fonts import readable

# Weights, from none to all; values of either sign, from the least to the greatest.
WEIGHTS, SIGNED = "Blues", "cividis"
FORMATS = (".png", ".svg")

# Inches that a token takes on an axis; its label is as high.
CELL = 0.27
# Of a PNG. Of a large picture, fewer, so that it has at most so many pixels: four bytes each, and
# as many again while it is written. On a side, the renderer has a limit.
_DPI = 150
_MOST_PIXELS = 40_000_000
_MOST_ON_A_SIDE = 60_000
_FONT_SIZE = 10
_LINES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P")


class Picture(Figure):
    """A figure that a notebook shows, without pyplot."""

    def _repr_png_(self) -> bytes:
        return png_bytes(self)


def new_figure(width: float, height: float) -> Figure:
    """Makes an empty figure whose parts make room for each other.

    Args:
        width: In inches.
        height: In inches.

    Example:
        >>> axes = new_figure(6, 4).subplots()
    """
    # Enough for a title above what is written on an axis at the top.
    layout = ConstrainedLayoutEngine(h_pad=0.1, w_pad=0.06)
    return Picture(figsize=(width, height), layout=layout)


def draw_heat_map(
    axes: Axes,
    values: npt.NDArray[Any],
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    most: float | None = None,
) -> AxesImage:
    """Draws weights as shades, the first row at the top.

    Args:
        axes: Where to draw.
        values: float `[rows, columns]`, none below 0.
        rows: Their labels; none for no labels.
        columns: Theirs, which stand above them.
        most: The weight of the darkest shade; None for the largest one.

    Example:
        >>> axes = new_figure(3, 2).subplots()
        >>> image = draw_heat_map(axes, np.eye(2), ["der", "Hund"], ["the", "dog"])
    """
    image = axes.imshow(values, cmap=WEIGHTS, vmin=0, vmax=most, interpolation="none")
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    for axis, labels in ((axes.yaxis, rows), (axes.xaxis, columns)):
        texts, families = readable(labels)
        # A `$` in a token begins no formula.
        axis.set_ticks(
            range(len(texts)),
            labels=texts,
            fontfamily=families,
            fontsize=_FONT_SIZE,
            parse_math=False,
        )
        axis.set_tick_params(length=0)
    axes.tick_params("x", rotation=90)
    return image


def cells_size(tokens: int) -> float:
    """Returns the inches that tokens take on an axis, few ones as many as its name needs."""
    return CELL * max(tokens, 6)


def labels_size(labels: Sequence[str]) -> float:
    """Returns about how many inches the longest label takes, with the name of the axis."""
    return 0.5 + 0.008 * _FONT_SIZE * max(map(len, labels), default=0)


def line_styles(count: int) -> list[dict[str, Any]]:
    """Returns styles for lines that differ in lightness, dashes and markers.

    Args:
        count: Lines.

    Example:
        >>> [style["marker"] for style in line_styles(2)]
        ['o', 's']
    """
    shades = np.linspace(0.05, 0.8, max(count, 2))
    colors = matplotlib.colormaps["viridis"](shades)
    return [
        {
            "color": tuple(colors[i]),
            "linestyle": _LINES[i % len(_LINES)],
            "marker": _MARKERS[i % len(_MARKERS)],
            "markersize": 4,
        }
        for i in range(count)
    ]


def finish(axes: Axes, x: str, y: str, title: str = "") -> None:
    """Labels the axes of curves, and leaves them light lines to read values by."""
    axes.set(xlabel=x, ylabel=y)
    set_title(axes, title)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def set_title(of: Axes | Figure, title: str) -> None:
    """Sets a title, in which a name or a sentence may have any characters."""
    [text], families = readable([title])
    set_text = of.suptitle if isinstance(of, Figure) else of.set_title
    set_text(text, fontfamily=families, parse_math=False)


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Writes a picture as PNG or SVG, whole or not at all.

    The text of an SVG stays text, which can be searched and is drawn with the viewer's fonts. A
    large PNG has fewer dots per inch, so that it takes bounded memory; an SVG has no such limit.
    The same figure gives the same file.

    Args:
        figure: The figure.
        path: A name that ends in .png or .svg; its folder is made if need be.

    Raises:
        OSError: If it cannot be written.
        ValueError: If it ends otherwise.

    Example:
        >>> save_figure(new_figure(2, 2), "empty.svg")
    """
    path = Path(path)
    require_picture(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, _drawn(figure, path.suffix.lower()[1:]))


def png_bytes(figure: Figure) -> bytes:
    """Returns a picture as the bytes of a PNG.

    Example:
        >>> png_bytes(new_figure(2, 2))[1:4]
        b'PNG'
    """
    return _drawn(figure, "png")


def require_picture(path: str | os.PathLike[str]) -> None:
    """Raises the error that `save_figure` would, before there is something to draw.

    Example:
        >>> require_picture("attention.png")
    """
    if Path(path).suffix.lower() not in FORMATS:
        raise ValueError(
            f"`output` must be a file that ends in one of {', '.join(FORMATS)}. Received: {path}"
        )


def _drawn(figure: Figure, file_format: str) -> bytes:
    content = io.BytesIO()
    fixed: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "keras_transformer"}
    # A date would make each file another.
    metadata = {"Date": None} if file_format == "svg" else None
    with matplotlib.rc_context(fixed):
        figure.savefig(content, format=file_format, dpi=_dpi(figure), metadata=metadata)
    return content.getvalue()


def _dpi(figure: Figure) -> float:
    """Returns the dots per inch at which the pixels are not too many."""
    width, height = figure.get_size_inches()
    return min(
        _DPI, math.sqrt(_MOST_PIXELS / (width * height)), _MOST_ON_A_SIDE / max(width, height)
    )
