"""`benchmarks/table1.py`: what it measures of short sequences is what follows by hand."""

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def table1(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    import table1

    return table1


def test_paths_and_chains(table1):
    """Of 14 positions the first is 13 from the last: 13 times 1, 1 + 3 + 9, 7 times 2."""
    kinds = table1.kinds(window=5, kernel=3)
    paths = {name: table1.layers_to_reach(kind, 14) for name, kind in kinds.items()}
    assert paths.pop("convolutional") == paths.pop("separable") == 13
    assert paths == {"self-attention": 1, "recurrent": 1, "dilated": 3, "restricted": 7}
    with pytest.raises(ValueError, match=r"`reach` must fit the dilations.*reach=9"):
        table1.layers_to_reach(kinds["dilated"], 9)
    assert [table1.chain(kinds["recurrent"].make, n) for n in (2, 5)] == [2, 5]
    # Projections, logits, values, output.
    assert table1.chain(kinds["self-attention"].make, 5) == 4


def test_exponents_are_those_of_a_power(table1):
    times = {(n, d): 1e-6 * n**2 * d for n in (16, 32, 64, 128) for d in (64, 128, 256)}
    # Where the widest was not timed, the longest length that all widths have counts.
    del times[128, 256]
    of_length, of_width, longest = table1.exponents(times, [64, 128, 256])
    assert np.allclose([of_length, of_width], [2.0, 1.0])
    assert longest == 64
