"""Requests that wait together are computed together, and none can spoil it for the others."""

import asyncio
import threading

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.endpoint.batching import Batcher
from keras_transformer.endpoint.errors import RequestError
from keras_transformer.endpoint.limits import Limits
from keras_transformer.endpoint.signature import Signature


class Lengths:
    """Computes lengths of strings; is slow until it is let go, and fails at "bad"."""

    def __init__(self, held=False):
        self.batches = []
        self.go = threading.Event()
        self.running = threading.Event()
        if not held:
            self.go.set()
        text, length = (tf.TensorSpec([None], dtype) for dtype in (tf.string, tf.int32))
        self.signature = Signature("lengths", {"text": text}, {"length": length}, self.compute)

    def compute(self, text):
        rows = text.numpy().tolist()
        self.batches.append(rows)
        self.running.set()
        assert self.go.wait(30)
        if b"bad" in rows:
            raise ValueError("bad")
        return {"length": tf.strings.length(text)}


class Words(Lengths):
    """Splits strings, padded to those of a batch."""

    def __init__(self):
        super().__init__(held=True)
        text = tf.TensorSpec([None], tf.string)
        self.signature = Signature("words", {"text": text}, {"words": text}, self.split)

    def split(self, text):
        self.compute(text)
        return {"words": tf.strings.split(text).to_tensor()}


def columns(*texts):
    return {"text": np.array([text.encode() for text in texts], object)}


def start(batcher, lengths, *texts):
    return asyncio.create_task(batcher.run(lengths.signature, columns(*texts)))


async def until(event):
    await asyncio.to_thread(event.wait, 30)


def lengths_of(outputs):
    return [one["length"].tolist() for one in outputs]


def test_what_waits_is_joined_and_each_gets_its_own():
    async def run():
        lengths, rows = Lengths(held=True), []
        batcher = Batcher(Limits(rows=4), rows.append)
        first = start(batcher, lengths, "a")
        await until(lengths.running)
        others = [start(batcher, lengths, *texts) for texts in (["bb", "ccc"], ["d" * 9] * 3, [""])]
        await asyncio.sleep(0)
        assert batcher.waiting_rows == 6
        lengths.go.set()
        found = lengths_of(await asyncio.gather(first, *others))
        assert found == [[1], [2, 3], [9, 9, 9], [0]]
        # The third does not fit beside the second, but the fourth does.
        assert lengths.batches == [[b"a"], [b"bb", b"ccc", b""], [b"d" * 9] * 3]
        assert rows == [1, 3, 3]
        assert batcher.waiting_rows == 0

    asyncio.run(run())


def test_parts_that_come_later_wait_as_well():
    """Of a request that is computed in parts; and no longer once its caller has gone."""

    async def run():
        lengths = Lengths(held=True)
        batcher = Batcher(Limits(rows=4, waiting_rows=6))
        long = start(batcher, lengths, *["a. b. c. d."] * 4)
        await until(lengths.running)
        assert batcher.waiting_rows == 3
        with pytest.raises(RequestError, match="queue of requests that wait is full"):
            await batcher.run(lengths.signature, columns(*["e"] * 4))
        long.cancel()
        await asyncio.sleep(0)
        assert batcher.waiting_rows == 0
        lengths.go.set()

    asyncio.run(run())


def test_no_rows():
    outputs = asyncio.run(Batcher(Limits()).run(Lengths().signature, columns()))
    assert outputs["length"].tolist() == []


def test_signatures_are_not_joined():
    async def run():
        one, other = Lengths(held=True), Lengths()
        batcher = Batcher(Limits())
        first = start(batcher, one, "a")
        await until(one.running)
        rest = [start(batcher, lengths, "bb") for lengths in (other, one, other)]
        await asyncio.sleep(0)
        one.go.set()
        await asyncio.gather(first, *rest)
        assert one.batches == [[b"a"], [b"bb"]]
        assert other.batches == [[b"bb", b"bb"]]

    asyncio.run(run())


def test_an_error_is_told_to_who_made_it():
    async def run():
        lengths = Lengths(held=True)
        batcher = Batcher(Limits())
        first = start(batcher, lengths, "a")
        await until(lengths.running)
        rest = [start(batcher, lengths, text) for text in ("bb", "bad", "cccc")]
        await asyncio.sleep(0)
        lengths.go.set()
        found = await asyncio.gather(first, *rest, return_exceptions=True)
        error = found.pop(2)
        assert isinstance(error, ValueError)
        assert lengths_of(found) == [[1], [2], [4]]
        assert lengths_of([await batcher.run(lengths.signature, columns("next"))]) == [[4]]

    asyncio.run(run())


def test_nothing_is_computed_for_who_has_gone():
    async def run():
        lengths = Lengths(held=True)
        batcher = Batcher(Limits())
        first = start(batcher, lengths, "a")
        await until(lengths.running)
        gone, stays = start(batcher, lengths, "gone"), start(batcher, lengths, "stays")
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        assert batcher.waiting_rows == 1
        first.cancel()  # While it is computed.
        lengths.go.set()
        assert lengths_of([await stays]) == [[5]]
        assert lengths.batches == [[b"a"], [b"stays"]]

    asyncio.run(run())


def test_a_large_request_lets_others_in_between():
    """Its parts are as large as batches may be; its outputs are as if it were computed whole."""

    async def run():
        words = Words()
        batcher = Batcher(Limits(rows=4))
        texts = ["a. b. c.", "d e", "f! g?", "h.\ni.\nj.\nk.", "l"]
        # Of about 3, 1, 2, 4 and 1 pieces.
        large = start(batcher, words, *texts[:4])
        await until(words.running)
        others = [start(batcher, words, text) for text in ("m n o p q", "r")]
        await asyncio.sleep(0)
        words.go.set()
        found = await large
        expected = np.full((4, 4), b"", object)
        for row, text in enumerate(texts[:4]):
            expected[row, : len(text.split())] = [word.encode() for word in text.split()]
        np.testing.assert_array_equal(found["words"], expected)
        await asyncio.gather(*others)
        sizes = [[text.decode() for text in rows] for rows in words.batches]
        assert sizes == [texts[:2], ["m n o p q", "r"], [texts[2]], [texts[3]]]

    asyncio.run(run())


def test_a_part_that_is_left_is_not_computed():
    async def run():
        lengths = Lengths(held=True)
        batcher = Batcher(Limits(rows=2))
        large = start(batcher, lengths, "a. b.", "c. d.")
        await until(lengths.running)
        large.cancel()
        lengths.go.set()
        assert lengths_of([await batcher.run(lengths.signature, columns("next"))]) == [[4]]
        assert lengths.batches == [[b"a. b."], [b"next"]]

    asyncio.run(run())


def test_a_long_text_keeps_nobody_waiting():
    async def run():
        slow, fast = Lengths(held=True), Lengths()
        batcher = Batcher(Limits(rows=4))
        long = [start(batcher, slow, text) for text in ("a\n" * 9, "b " * 600)]
        await until(slow.running)
        assert batcher.waiting_rows == 1
        assert lengths_of([await batcher.run(fast.signature, columns("short"))]) == [[5]]
        slow.go.set()
        assert lengths_of(await asyncio.gather(*long)) == [[18], [1200]]
        assert [len(batch) for batch in slow.batches] == [1, 1]

    asyncio.run(run())


def test_too_much():
    async def run():
        lengths = Lengths(held=True)
        batcher = Batcher(Limits(rows=2, waiting_rows=3))
        with pytest.raises(RequestError, match=r"Task size 3 is larger .* batch size 2") as refused:
            await batcher.run(lengths.signature, columns("a", "b", "c"))
        assert refused.value.status == 400
        first = start(batcher, lengths, "a")
        await until(lengths.running)
        rest = [start(batcher, lengths, *"bc"), start(batcher, lengths, "d")]
        await asyncio.sleep(0)
        with pytest.raises(RequestError, match=r"queue .* full") as refused:
            await batcher.run(lengths.signature, columns("e"))
        assert refused.value.status == 503
        lengths.go.set()
        await asyncio.gather(first, *rest)
        assert lengths_of([await batcher.run(lengths.signature, columns("e"))]) == [[1]]

    asyncio.run(run())
