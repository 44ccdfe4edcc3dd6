"""Positions, masks, histories, schedules and batches: what is drawn is what the arrays say."""

import numpy as np
import pytest

from keras_transformer.plotting import (
    plot_batches,
    plot_history,
    plot_masks,
    plot_position_curves,
    plot_position_products,
    plot_positions,
    plot_schedules,
)
from keras_transformer.plotting.masks import MaskedTokens

POSITION, WAVE = np.arange(20.0)[:, None], 10000.0 ** (-np.arange(4) / 4)
TABLE = np.stack([np.sin(POSITION * WAVE), np.cos(POSITION * WAVE)], 2).reshape(20, 8)


def lines(axes):
    return {line.get_label(): line.get_ydata() for line in axes.lines}


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_positions():
    image = plot_positions(TABLE).axes[0].images[0]
    np.testing.assert_array_equal(image.get_array(), TABLE)
    assert image.get_clim() == (-1, 1)


def test_position_curves():
    figure = plot_position_curves(TABLE, [6, 1])
    found = lines(figure.axes[0])
    np.testing.assert_array_equal(found["dimension 6"], TABLE[:, 6])
    np.testing.assert_array_equal(found["dimension 1"], TABLE[:, 1])
    assert legend(figure) == ["dimension 6", "dimension 1"]
    with pytest.raises(ValueError, match=r"`dimensions` .* below d_model=8. Received: 8"):
        plot_position_curves(TABLE, [8])


def test_products_of_sinusoids_are_sums_of_cosines_of_the_distance():
    axes = plot_position_products(TABLE).axes[0]
    expected = np.cos(POSITION * WAVE).mean(axis=1)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), expected, atol=1e-12)


def test_products_of_other_tables_have_bounds():
    """Between -2 and 1 at a distance of 1, as shares of the mean length, which is 3."""
    table = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    axes = plot_position_products(table).axes[0]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [1.0, 1 / 3, 0.0])
    band = axes.collections[0].get_paths()[0].vertices
    at_one = band[band[:, 0] == 1, 1]
    assert (at_one.min(), at_one.max()) == (0.0, pytest.approx(2 / 3))


def test_masks():
    queries, keys = ["<s>", "▁der"], ["▁the", "</s>", "<pad>"]
    cross = np.array([[1, 1, 0], [1, 1, 0]], bool)
    figure = plot_masks(
        {
            "decoder": MaskedTokens(np.tri(2, dtype=bool), queries, queries),
            "cross": MaskedTokens(cross, queries, keys),
        }
    )
    first, second = figure.axes
    np.testing.assert_array_equal(first.images[0].get_array(), np.tri(2))
    np.testing.assert_array_equal(second.images[0].get_array(), cross)
    assert second.images[0].get_clim() == (0, 1)
    assert [label.get_text() for label in second.get_xticklabels()] == keys
    assert legend(figure) == ["may attend", "may not"]


HISTORIES = {
    "a $b$": {"epoch": [0, 1, 2], "loss": [3.0, 2.0, 1.5], "val_loss": [3.5, 2.5, 2.0]},
    "狗": {
        "epoch": [0, 1],
        "loss": [2.9, 1.0],
        "val_bleu": [5.0, 20.0],
        "tokens_per_second": [9, 9],
    },
}


def test_histories_of_several_runs():
    figure = plot_history(HISTORIES)
    assert [axes.get_ylabel() for axes in figure.axes] == ["loss", "BLEU"]
    loss, bleu = ([line.get_xydata().tolist() for line in axes.lines] for axes in figure.axes)
    # Epochs are counted from 1 for people.
    assert loss == [
        [[1, 3.0], [2, 2.0], [3, 1.5]],
        [[1, 3.5], [2, 2.5], [3, 2.0]],
        [[1, 2.9], [2, 1.0]],
    ]
    assert bleu == [[[1, 5.0], [2, 20.0]]]
    assert legend(figure)[:2] == ["training", "a $b$, validation"]


def test_a_run_without_validation_has_the_line_of_its_training():
    figure = plot_history({**HISTORIES, "alone": {"epoch": [0, 1], "loss": [2.0, 1.0]}})
    assert legend(figure)[-1] == "alone"
    drawn = figure.legends[0].legend_handles[-1]
    assert drawn.get_color() == figure.axes[0].lines[-1].get_color()
    assert drawn.get_marker() == figure.axes[0].lines[-1].get_marker() == ""


def test_a_run_without_an_epoch_is_left_out(capsys):
    figure = plot_history({**HISTORIES, "new": {}, "begun": {"epoch": [], "loss": []}})
    assert [axes.get_ylabel() for axes in figure.axes] == ["loss", "BLEU"]
    assert len(legend(figure)) == 1 + len(HISTORIES)
    assert "no epoch of it has ended: new, begun" in capsys.readouterr().err
    with pytest.raises(ValueError, match="none, as no epoch has ended"):
        plot_history({"begun": {"epoch": [], "loss": []}})


def test_chosen_metrics():
    figure = plot_history(HISTORIES, ["tokens_per_second"])
    assert [axes.get_ylabel() for axes in figure.axes] == ["tokens or labels per second"]
    with pytest.raises(ValueError, match=r"some of loss, bleu, tokens_per_second. Received: ter"):
        plot_history(HISTORIES, ["ter"])
    with pytest.raises(ValueError, match="none, as no epoch has ended"):
        plot_history({"a": {}})


def test_schedules():
    steps = np.arange(1, 9)
    figure = plot_schedules({"a": (steps, steps / 8), "b": (steps, steps * 0.0)})
    found = lines(figure.axes[0])
    np.testing.assert_array_equal(found["a"], steps / 8)
    np.testing.assert_array_equal(found["b"], np.zeros(8))


def test_batches():
    """Three sentences in two shapes, and a row of padding that is no sentence."""
    batches = [
        (np.array([[5, 3, 0], [5, 5, 3]]), np.array([[6, 3], [6, 3]])),
        (np.array([[5, 3], [0, 0]]), np.array([[6, 6, 6, 3], [0, 0, 0, 0]])),
    ]
    figure = plot_batches(iter(batches), "corpus")
    left, right = figure.axes
    heights = [dict(zip((1, 2, 3, 4), counts(patch), strict=True)) for patch in left.patches]
    assert heights == [{1: 0, 2: 2, 3: 1, 4: 0}, {1: 0, 2: 2, 3: 0, 4: 1}]
    tokens, padding = right.containers
    assert [bar.get_width() for bar in tokens] == [5 + 4, 2 + 4]
    assert [bar.get_width() for bar in padding] == [1, 2 + 4]
    assert [label.get_text() for label in right.get_yticklabels()] == ["3 x 2", "2 x 4"]
    # 7 of 22 positions.
    assert figure.get_suptitle() == "corpus: padding 31.8%"
    with pytest.raises(ValueError, match="`batches` must be at least one"):
        plot_batches([])


def counts(patch):
    """The heights of a histogram that is drawn as steps, one after the other."""
    return patch.get_xy()[1:-1:2, 1].astype(int).tolist()
