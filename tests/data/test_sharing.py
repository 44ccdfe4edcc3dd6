"""Who shares a batch: parts that make up the whole, and shapes that fit them."""

import pytest

from keras_transformer.data.bucketing import BucketPlan
from keras_transformer.data.sharing import Sharing


def test_the_parts_of_all_workers_are_the_whole():
    parts = [list(Sharing(worker, 3).part(range(10))) for worker in range(3)]
    assert parts == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]


@pytest.mark.parametrize(
    ("sharing", "rows"),
    [
        (Sharing(), (30, 5)),
        (Sharing(static_shapes=True), (30, 5)),
        (Sharing(workers=4), (7, 1)),
        (Sharing(workers=4, replicas=2), (7, 1)),
        (Sharing(workers=4, replicas=2, static_shapes=True), (6, 2)),
    ],
)
def test_rows_of_a_share(sharing, rows):
    whole = BucketPlan(((30, 8, 8), (5, 50, 50)))
    assert tuple(shape.batch for shape in sharing.plan(whole).shapes) == rows


def test_a_bad_worker():
    for worker, workers in ((2, 2), (-1, 2), (0, 0)):
        message = rf"`worker` must be .*`workers`, {workers}\. Received: worker={worker}"
        with pytest.raises(ValueError, match=message):
            Sharing(worker, workers)


def test_no_replica():
    with pytest.raises(ValueError, match=r"`replicas` must be at least 1\. Received: replicas=0"):
        Sharing(replicas=0)
