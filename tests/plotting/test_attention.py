"""Weights, tokens and links are where the arrays have them."""

import numpy as np
import pytest

from keras_transformer.plotting import plot_alignment, plot_attention, plot_heads, plot_layers

QUERIES, KEYS = ["▁der", "▁Hund", "</s>"], ["▁the", "▁dog", ".", "</s>"]
WEIGHTS = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 6, 3))


def maps(figure):
    """Yields the axes that have a heat map, and its array."""
    for axes in figure.axes:
        if axes.images:
            yield axes, axes.images[0].get_array()


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_one_head():
    figure = plot_attention(WEIGHTS[0, 1], QUERIES, KEYS, "layer 0", ("translation", "source"))
    [(axes, drawn)] = maps(figure)
    np.testing.assert_array_equal(drawn, WEIGHTS[0, 1])
    assert (labels(axes.yaxis), labels(axes.xaxis)) == (QUERIES, KEYS)
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("translation", "source")
    assert figure.get_suptitle() == "layer 0"
    # Row 0 is the uppermost one.
    assert axes.get_ylim() == (2.5, -0.5)


def test_all_heads_of_a_layer_share_a_scale():
    figure = plot_heads(WEIGHTS[1], QUERIES, KEYS)
    drawn = list(maps(figure))
    for head, (axes, array) in enumerate(drawn):
        np.testing.assert_array_equal(array, WEIGHTS[1, head])
        assert axes.get_xlabel() == f"head {head}"
        assert labels(axes.xaxis) == KEYS
        assert axes.images[0].get_clim() == (0, WEIGHTS[1].max())
    assert len(drawn) == 6
    assert labels(drawn[4][0].yaxis) == QUERIES, "the first of the second row"


def test_all_layers():
    drawn = list(maps(plot_layers(WEIGHTS)))
    np.testing.assert_array_equal([array for _, array in drawn], WEIGHTS.reshape(12, 3, 4))
    assert [axes.get_ylabel() for axes, _ in drawn[::6]] == ["layer 0", "layer 1"]
    assert [axes.get_xlabel() for axes, _ in drawn[:6]] == [f"head {i}" for i in range(6)]


def test_links_of_an_alignment():
    """A link is source and target, a point x and y."""
    figure = plot_alignment(WEIGHTS[0, 0], KEYS, QUERIES, [(3, 0), (1, 2)])
    [(axes, drawn)] = maps(figure)
    np.testing.assert_array_equal(drawn, WEIGHTS[0, 0])
    np.testing.assert_array_equal(axes.collections[0].get_offsets(), [(3, 0), (1, 2)])


@pytest.mark.parametrize("weights", [WEIGHTS[0, 0].T, WEIGHTS[0]])
def test_weights_that_do_not_fit(weights):
    with pytest.raises(ValueError, match=r"`weights` must have a row .*for 3 queries and 4 keys"):
        plot_attention(weights, QUERIES, KEYS)


@pytest.mark.parametrize("shape", [(0, 4), (3, 0)])
def test_nothing_attends_or_is_attended_to(shape):
    queries, keys = QUERIES[: shape[0]], KEYS[: shape[1]]
    with pytest.raises(ValueError, match=r"`weights` must be of one query and one key at least"):
        plot_attention(np.zeros(shape), queries, keys)
    with pytest.raises(ValueError, match=r"`weights` must be of one query and one key at least"):
        plot_layers(np.zeros((2, 2, *shape)))


def test_weights_of_another_rank():
    with pytest.raises(ValueError, match=r"\[layers, heads, queries, keys\].*\(6, 3, 4\)"):
        plot_layers(WEIGHTS[0])
