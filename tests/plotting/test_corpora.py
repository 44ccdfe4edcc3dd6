"""Pictures of corpora: the lengths and shares that are drawn are those that were counted."""

import numpy as np
import pytest

from keras_transformer.plotting.corpora import CorpusPicture, plot_corpora


def test_lengths_and_shares():
    lengths = ([0, 3, 5, *[0] * 50, 1], [1, 4, 4])
    first = CorpusPicture("train_$a$", lengths, {"empty": 0.125, "repeated": 0.5})
    figure = plot_corpora([first, CorpusPicture("valid", ([0, 1], [0, 1]), {})])
    drawn, shares, _, nothing = figure.axes
    for step, counts in zip(drawn.patches, lengths, strict=True):
        np.testing.assert_array_equal(step.get_data().values, counts)
        assert step.get_data().edges[0] == -0.5
    assert drawn.get_title() == "train_$a$"
    assert [bar.get_width() for bar in shares.patches] == [12.5, 50.0]
    assert [text.get_text() for text in shares.get_yticklabels()] == ["empty", "repeated"]
    assert [text.get_text() for text in nothing.texts] == ["nothing found"]


def test_few_long_lines_leave_the_others_room():
    lines = [0, *[1000] * 10, *[0] * 900, 1]
    [axes, _] = plot_corpora([CorpusPicture("train", (lines, lines), {})]).axes
    assert axes.get_xlim()[1] < 12


def test_no_corpora():
    with pytest.raises(ValueError, match="`corpora` must be at least one"):
        plot_corpora([])
