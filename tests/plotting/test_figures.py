"""What all pictures share: colours that survive print, files, and labels as they are."""

import itertools
import re
import struct
import xml.etree.ElementTree as ElementTree

import matplotlib
import numpy as np
import pytest

from keras_transformer.plotting import figures, plot_attention, png_bytes, save_figure
from keras_transformer.plotting.figures import (
    SIGNED,
    WEIGHTS,
    draw_heat_map,
    line_styles,
    new_figure,
)

TOKENS = ["▁The", "▁$x$", "<b>&", "▁Ελληνικά", "▁слово", "▁كتاب", "</s>"]


def luminance(colors):
    """ITU-R BT.601, as a grey print has it."""
    return np.asarray(colors)[:, :3] @ [0.299, 0.587, 0.114]


@pytest.mark.parametrize("name", [WEIGHTS, SIGNED])
def test_a_colour_map_changes_its_lightness_in_one_direction(name):
    steps = np.diff(luminance(matplotlib.colormaps[name](np.linspace(0, 1, 32))))
    assert (steps > 0).all() or (steps < 0).all()


@pytest.mark.parametrize("count", [2, 5])
def test_lines_differ_in_lightness(count):
    styles = line_styles(count)
    shades = np.sort(luminance([style["color"] for style in styles]))
    assert np.diff(shades).min() > 0.05
    assert len({(style["linestyle"], style["marker"]) for style in styles}) == count


def test_svg_holds_the_text_and_the_same_figure_gives_the_same_file(tmp_path):
    def save(name):
        figure = plot_attention(np.eye(7), TOKENS, TOKENS, "50 % of $y$")
        save_figure(figure, tmp_path / name)
        return (tmp_path / name).read_bytes()

    content = save("new/folder.svg")
    texts = ["".join(node.itertext()) for node in ElementTree.fromstring(content).iter()]
    for text in [*TOKENS, "50 % of $y$", "query", "attention weight"]:
        assert text in texts
    assert save("again.SVG") == content


@pytest.mark.parametrize(("size", "expected"), [((8, 2), (200, 50)), ((2, 1), (100, 50))])
def test_a_large_png_has_fewer_dots_per_inch(size, expected, monkeypatch):
    """As of 256 tokens and four heads, which would be 41,000 by 11,000 pixels."""
    monkeypatch.setattr(figures, "_DPI", 50)
    monkeypatch.setattr(figures, "_MOST_PIXELS", 10_000)
    width, height = struct.unpack(">II", png_bytes(new_figure(*size))[16:24])
    assert (width, height) == expected


def test_a_long_png_stays_within_what_can_be_rendered(monkeypatch):
    monkeypatch.setattr(figures, "_MOST_ON_A_SIDE", 300)
    assert struct.unpack(">II", png_bytes(new_figure(30, 1))[16:24]) == (300, 10)


def test_png_is_as_large_as_its_tokens_need(tmp_path):
    """At 30 tokens, each has at least the height of its letters in pixels."""
    tokens = [f"▁word{i}" for i in range(30)]
    figure = plot_attention(np.eye(30), tokens, tokens)
    png = png_bytes(figure)
    assert png.startswith(b"\x89PNG")
    axes = figure.axes[0]
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert all(upper.y0 >= lower.y1 for upper, lower in itertools.pairwise(boxes))
    inside = figure.bbox
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        box = label.get_window_extent()
        assert inside.x0 <= box.x0
        assert box.y1 <= inside.y1


def test_a_picture_has_one_of_two_formats(tmp_path):
    expected = re.escape("`output` must be a file that ends in one of .png, .svg. Received: ")
    with pytest.raises(ValueError, match=expected):
        save_figure(new_figure(1, 1), tmp_path / "a.pdf")
    assert not list(tmp_path.iterdir())


def test_zero_and_the_most_are_the_ends_of_the_scale():
    image = draw_heat_map(new_figure(1, 1).subplots(), np.array([[0.0, 0.5]]), most=2.0)
    assert image.get_clim() == (0, 2.0)
    np.testing.assert_array_equal(image.get_array(), [[0.0, 0.5]])
