"""Masked words: shares within four standard errors, and what is never touched."""

import numpy as np
import pytest
import thorough

from keras_transformer.data.masking import Masking

SPECIAL = (0, 1, 2, 3, 4)
VOCABULARY = 1000
LENGTH = 128
ROWS = thorough.number(1600, 10_000)
# A third of the pieces go on with a word.
BEGINS = np.arange(VOCABULARY) % 3 != 0
BEGINS[list(SPECIAL)] = True


def batch(rows, rng):
    """Rows of two texts, a fifth of them short, with unknown words here and there."""
    ids = rng.integers(5, VOCABULARY, (rows, LENGTH)).astype(np.int32)
    ids[rng.random(ids.shape) < 0.01] = 1
    ids[:, 0] = 2
    ids[:, [LENGTH // 2, -1]] = 3
    ids[::5, 40:] = 0
    ids[::5, 39] = 3
    return ids


@pytest.fixture(scope="module", params=[False, True], ids=["pieces", "words"])
def drawn(request):
    rng = np.random.default_rng(7)
    masking = Masking(0.15, 4, SPECIAL, BEGINS, whole_words=request.param)
    ids = batch(ROWS, rng)
    seen, places, labels = masking(ids, rng)
    chosen = np.zeros(ids.shape, bool)
    rows = np.broadcast_to(np.arange(len(ids))[:, None], places.shape)[labels > 0]
    chosen[rows, places[labels > 0]] = True
    return masking, ids, seen, places, labels, chosen


def within_four_errors(successes, trials, share):
    error = (share * (1 - share) / trials) ** 0.5
    assert abs(successes / trials - share) < 4 * error


def test_labels_are_what_stood_there_and_the_rest_is_untouched(drawn):
    _, ids, seen, places, labels, chosen = drawn
    np.testing.assert_array_equal(seen[~chosen], ids[~chosen])
    np.testing.assert_array_equal(
        labels, np.where(labels > 0, np.take_along_axis(ids, places, 1), 0)
    )
    assert chosen.sum() == (labels > 0).sum()
    # Filled up with 0 at the end alone, and ascending before.
    assert (np.diff((labels > 0).astype(int), axis=1) <= 0).all()
    both = labels[:, 1:] > 0
    assert (np.diff(places, axis=1)[both] > 0).all()


def test_no_special_piece_ever(drawn):
    _, ids, seen, _, _, chosen = drawn
    assert not np.isin(ids[chosen], SPECIAL).any()
    replaced = chosen & (seen != ids)
    assert {*np.unique(seen[replaced])} & {*SPECIAL} == {4}


def test_how_many_are_chosen(drawn):
    masking, ids, _, _, _, chosen = drawn
    lengths = (ids != 0).sum(axis=1)
    counts = np.maximum(1, np.round(0.15 * lengths))
    assert [masking.count(int(n)) for n in lengths[:6]] == counts[:6].tolist()
    if masking.whole_words:
        # The next word may not fit any more.
        assert (chosen.sum(axis=1) <= counts).all()
        assert chosen.sum() > 0.95 * counts.sum()
    else:
        np.testing.assert_array_equal(chosen.sum(axis=1), counts)


def test_what_a_model_sees_of_them(drawn):
    _, ids, seen, _, _, chosen = drawn
    total, hidden = chosen.sum(), (seen == 4) & chosen
    same, other = (seen == ids) & chosen, chosen & (seen != ids) & (seen != 4)
    within_four_errors(hidden.sum(), total, 0.8)
    # A piece at random is the one that stood there once in 995 times.
    within_four_errors(other.sum(), total, 0.1 * (1 - 1 / 995))
    within_four_errors(same.sum(), total, 0.1 + 0.1 / 995)


def test_every_place_and_piece_is_as_likely(drawn):
    masking, ids, seen, _, _, chosen = drawn
    ordinary = ~np.isin(ids, SPECIAL)
    if not masking.whole_words:
        rows = np.arange(len(ids)) % 5 != 0
        expected = chosen[rows].sum() / ordinary[rows].sum()
        for part in (slice(1, 30), slice(30, 64), slice(65, 127)):
            where = ordinary[rows][:, part]
            within_four_errors(chosen[rows][:, part].sum(), where.sum(), expected)
    other = chosen & (seen != ids) & (seen != 4)
    within_four_errors((seen[other] < 500).sum(), other.sum(), 495 / 995)


def test_whole_words_are_whole(drawn):
    masking, ids, _, _, _, chosen = drawn
    if not masking.whole_words:
        # Pieces by themselves are not.
        assert any_torn(ids, chosen)
        return
    assert not any_torn(ids, chosen)


def any_torn(ids, chosen):
    """Whether a piece that goes on with the word before it has another fate than that."""
    goes_on = ~BEGINS[ids[:, 1:]] & ~np.isin(ids[:, :-1], SPECIAL)
    return bool((goes_on & (chosen[:, 1:] != chosen[:, :-1])).any())


def test_a_word_that_was_cut_at_its_beginning_is_one_by_itself():
    """The pieces 9, 6 and 12 go on with a word; that of 6 and 12 has lost its first one."""
    ids = np.array([[2, 7, 9, 3, 6, 12, 8, 3]], np.int32)
    masking = Masking(0.25, 4, SPECIAL, BEGINS, whole_words=True)
    draws = (masking(ids, np.random.default_rng(seed)) for seed in range(30))
    assert {tuple(places[0].tolist()) for _, places, _ in draws} == {(1, 2), (4, 5), (6,)}


def test_the_same_draws_for_the_same_seed():
    masking = Masking(0.15, 4, SPECIAL, BEGINS)
    ids = batch(5, np.random.default_rng(0))
    one, other, third = (masking(ids, np.random.default_rng(seed)) for seed in (1, 1, 2))
    for x, y in zip(one, other, strict=True):
        np.testing.assert_array_equal(x, y)
    assert (one[1] != third[1]).any()


def test_a_text_without_words():
    masking = Masking(0.15, 4, SPECIAL, BEGINS)
    ids = np.array([[2, 1, 3, 0]], np.int32)
    seen, places, labels = masking(ids, np.random.default_rng(0))
    np.testing.assert_array_equal(seen, ids)
    assert places.shape == labels.shape == (1, 0)
