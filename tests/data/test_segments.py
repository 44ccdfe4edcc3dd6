"""What documents become: every token in its place, halves that follow, and others."""

import numpy as np
import pytest

from keras_transformer.data.segments import ANOTHER, FOLLOWS, packed, paired

MOST = 30


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def document_of(rng, first, sentences):
    """Sentences of different tokens, numbered through."""
    lengths = rng.integers(1, 12, sentences)
    ends = first + np.cumsum(lengths)
    return [
        list(range(end - length, end)) for end, length in zip(ends.tolist(), lengths, strict=True)
    ]


def runs_on(tokens):
    return tokens == list(range(tokens[0], tokens[0] + len(tokens)))


@pytest.mark.parametrize("short", [0.0, 0.5])
def test_packed_has_each_token_once_and_in_order(rng, short):
    document = document_of(rng, 0, 200)
    document[50] = list(range(-100, 0))  # Longer than an input.
    rows = [row.first for row in packed(document, MOST, short, rng)]
    assert [t for row in rows for t in row] == [t for sentence in document for t in sentence]
    assert max(map(len, rows)) <= MOST
    if not short:
        # A sentence is cut only if it is longer than an input, so rows end where sentences do.
        ends = {sentence[-1] for sentence in document}
        assert sum(row[-1] not in ends for row in rows) == 3


def test_paired_follows_in_half_and_puts_back_what_it_replaces(rng):
    follows, tokens = [], set()
    document, other = document_of(rng, 0, 3000), document_of(rng, 10**6, 50)
    for row in paired(document, lambda: other, MOST, 0.1, rng):
        assert 0 < len(row.first) + len(row.second) <= MOST
        assert row.first
        assert row.second
        assert runs_on(row.first)
        assert runs_on(row.second)
        assert row.first[0] < 10**6
        tokens.update(row.first, row.second)
        assert row.label in (FOLLOWS, ANOTHER)
        assert (row.second[0] >= 10**6) == (row.label == ANOTHER)
        if row.label == FOLLOWS:
            # Next to each other, but for what was cut off at either end.
            assert row.first[-1] < row.second[0] < row.first[-1] + 40
        follows.append(row.label == FOLLOWS)
    count = len(follows)
    # Here almost no input is of a single sentence.
    assert abs(np.mean(follows) - 0.5) < 4 * 0.5 / count**0.5 + 0.02
    inside = sum(token < 10**6 for token in tokens)
    assert inside > 0.9 * sum(map(len, document))


def test_a_single_sentence_gets_another_one(rng):
    [row] = paired([[5, 6]], lambda: [[7, 8]], MOST, 0.0, rng)
    assert row == ([5, 6], [7, 8], ANOTHER)


def test_long_sentences_lose_tokens_at_both_ends(rng):
    kept = []
    for _ in range(500):
        [row] = paired([list(range(100))], lambda: [[-1] * 5], MOST, 0.0, rng)
        assert (len(row.first), len(row.second)) == (25, 5)
        assert runs_on(row.first)
        kept.append(row.first[0])
    # 75 tosses of a coin decide where the rest begins.
    assert abs(np.mean(kept) - 37.5) < 4 * (75 / 4 / 500) ** 0.5
