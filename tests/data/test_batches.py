"""The whole pipeline: every pair once an epoch, in a seeded order, padded and shifted."""

import dataclasses
import os
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.data.batches import TranslationBatches, padding_fraction
from keras_transformer.data.bucketing import BucketPlan
from keras_transformer.data.corpora import Corpus, open_corpus
from keras_transformer.data.mixing import Mixture
from keras_transformer.data.planning import fit_plan
from keras_transformer.data.preprocessing import PairPreprocessor
from keras_transformer.data.sharing import Sharing
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID

WORDS = ["the", "a", "dog", "cat", "tree", "house", "runs", "sees", "under", "big", "small", "and"]


def random_pairs(count, longest=12, seed=0):
    rng = random.Random(seed)
    line = lambda: " ".join(rng.choices(WORDS, k=rng.randint(1, longest)))  # noqa: E731
    return [(f"{line()} {number}", f"{line()} {number}") for number in range(count)]


PAIRS = random_pairs(600)


@pytest.fixture(scope="module")
def tokenizer():
    return SubwordTokenizer.train((line for pair in PAIRS for line in pair), 80)


def make(
    corpus,
    tokenizers,
    *,
    batch_tokens=256,
    max_length=64,
    max_ratio=None,
    subword_dropout=0.0,
    sample=100_000,
    plan=None,
    sharing=Sharing(),  # noqa: B008
    seed=0,
    **options,
):
    """Makes batches; the plan is fitted to the corpus if none is given."""
    preprocess = PairPreprocessor(tokenizers, max_length, max_ratio, subword_dropout)
    if plan is None:
        fitting = dict(batch_tokens=batch_tokens, seed=seed, sample=sample)
        plan, _ = fit_plan(corpus, preprocess, **fitting)
    return TranslationBatches(corpus, preprocess, plan, seed=seed, sharing=sharing, **options)


@pytest.fixture
def build(tokenizer):
    def build(pairs=PAIRS, **options):
        corpus = Corpus("a corpus", lambda: iter(pairs))
        return make(corpus, (tokenizer, tokenizer), **options)

    return build


def texts(tokenizer, ids):
    return [text.decode() for text in tokenizer.detokenize(ids).numpy()]


def pairs_of(tokenizer, epoch):
    """Reads the pairs back, source from the inputs and target from the labels, in order."""
    return [
        pair
        for inputs, labels in epoch
        for pair in zip(texts(tokenizer, inputs["source"]), texts(tokenizer, labels), strict=True)
        if pair != ("", "")
    ]


def assert_same(one, other):
    for (inputs, labels), (other_inputs, other_labels) in zip(one, other, strict=True):
        np.testing.assert_array_equal(inputs["source"], other_inputs["source"])
        np.testing.assert_array_equal(inputs["target"], other_inputs["target"])
        np.testing.assert_array_equal(labels, other_labels)


@pytest.mark.parametrize("static_shapes", [False, True])
@pytest.mark.parametrize("shuffle_buffer", [0, 50, 10_000])
def test_every_pair_once_an_epoch(build, tokenizer, static_shapes, shuffle_buffer):
    sharing = Sharing(static_shapes=static_shapes)
    batches = build(sharing=sharing, shuffle_buffer=shuffle_buffer)
    for index in range(2):
        pairs = pairs_of(tokenizer, batches.epoch(index))
        assert Counter(pairs) == Counter(PAIRS)


def test_arrays(build):
    for inputs, labels in build().epoch(0):
        source, target = inputs["source"], inputs["target"]
        assert source.dtype == target.dtype == labels.dtype == np.int32
        assert target.shape == labels.shape
        assert len(source) == len(target)
        assert max(source.size, target.size) <= 256
        for ids, last in ((source, EOS_ID), (labels, EOS_ID)):
            for row in ids:
                tokens = np.trim_zeros(row, "b")
                assert tokens[-1] == last
                assert np.all(tokens[:-1] > EOS_ID)
        for fed, expected in zip(target, labels, strict=True):
            tokens = np.trim_zeros(expected, "b")
            np.testing.assert_array_equal(fed[: len(tokens)], [BOS_ID, *tokens[:-1]])
            assert np.all(fed[len(tokens) :] == PAD_ID)


def test_seed_and_epoch_decide_the_order(build):
    batches, again, other = build(seed=1), build(seed=1), build(seed=2)
    first = list(batches.epoch(0))
    assert_same(first, batches.epoch(0))
    assert_same(first, again.epoch(0))
    for different in (batches.epoch(1), other.epoch(0)):
        with pytest.raises(AssertionError):
            assert_same(first, different)


def test_every_epoch_has_as_many_batches(build):
    batches = build()
    assert len({sum(1 for _ in batches.epoch(index)) for index in range(4)}) == 1


def test_static_shapes_are_those_of_the_plan(build):
    batches = build(sharing=Sharing(static_shapes=True))
    planned = {tuple(shape) for shape in batches.plan.shapes}
    empty_rows = 0
    for inputs, labels in batches.epoch(0):
        assert (*inputs["source"].shape, labels.shape[1]) in planned
        is_empty = ~inputs["source"].any(axis=1)
        np.testing.assert_array_equal(is_empty, ~inputs["target"].any(axis=1))
        np.testing.assert_array_equal(is_empty, ~labels.any(axis=1))
        empty_rows += is_empty.sum()
    assert empty_rows > 0


def test_dataset_gives_the_next_epoch_at_each_iteration(build):
    batches = build()
    dataset = batches.dataset(first_epoch=3)
    assert [spec.dtype.name for spec in dataset.element_spec[0].values()] == ["int32", "int32"]
    for index in (3, 4):
        assert_same(dataset.as_numpy_iterator(), batches.epoch(index))


def test_dataset_resumes_in_the_midst_of_an_epoch(build):
    batches = build()
    dataset = batches.dataset(first_epoch=1, first_batch=7)
    assert_same(dataset.as_numpy_iterator(), list(batches.epoch(1))[7:])
    assert_same(dataset.as_numpy_iterator(), batches.epoch(2))


def test_batch_at(build):
    batches = build()
    epoch = list(batches.epoch(2))
    assert_same([batches.batch_at(2, index) for index in range(len(epoch))], epoch)
    for index in (-1, len(epoch)):
        message = rf"below {len(epoch)}, the batches of epoch 2. Received: index={index}"
        with pytest.raises(IndexError, match=message):
            batches.batch_at(2, index)


# Subword dropout


@pytest.mark.parametrize("max_ratio", [None, 1.5])
def test_drawn_pieces_of_the_same_pairs_in_each_epoch(build, tokenizer, max_ratio):
    longest = max(len(ids) for pair in PAIRS for ids in tokenizer.tokenize(pair).to_list())
    usual = build(max_length=longest, max_ratio=max_ratio)
    expected = Counter(pairs_of(tokenizer, usual.epoch(0)))
    batches = build(max_length=longest, max_ratio=max_ratio, subword_dropout=0.3)
    tokens = set()
    for index in range(2):
        epoch = list(batches.epoch(index))
        assert Counter(pairs_of(tokenizer, epoch)) == expected
        assert batches.filter_summary == usual.filter_summary
        tokens.add(sum(np.count_nonzero(labels) for _, labels in epoch))
    assert len(tokens) == 2, "each epoch has pieces of its own"
    assert min(tokens) > sum(np.count_nonzero(labels) for _, labels in usual.epoch(0))


def test_a_side_that_a_draw_makes_too_long_keeps_its_pieces(build, tokenizer):
    line = "the big dog sees the small cat"
    [usual] = tokenizer.tokenize([line]).to_list()
    batches = build([(line, "dog")] * 200, max_length=len(usual), subword_dropout=0.3, sample=1)
    rows = [
        np.trim_zeros(row).tolist() for inputs, _ in batches.epoch(0) for row in inputs["source"]
    ]
    assert len(rows) == 200
    assert max(map(len, rows)) == len(usual)
    assert Counter(map(tuple, rows)).most_common(1)[0][0] == tuple(usual)


RESUMED = """
import sys
from test_batches import resumed
for line in resumed(*sys.argv[1:]):
    print(line)
"""


def resumed(model, corpus, first_batch):
    """Describes the rest of an epoch, of all that is drawn or cut."""
    tokenizer = SubwordTokenizer.load(model)
    batches = make(
        open_corpus(corpus, "en", "de"),
        (tokenizer, tokenizer),
        shuffle_buffer=100,
        subword_dropout=0.2,
        sharing=Sharing(worker=1, workers=2, replicas=2),
    )
    for inputs, labels in batches.dataset(1, int(first_batch)).as_numpy_iterator():
        yield str([inputs["source"].tolist(), inputs["target"].tolist(), labels.tolist()])


def test_a_fresh_process_resumes_with_the_same_pieces(tokenizer, tmp_path, fresh_process):
    model, corpus = tmp_path / "joint.model", tmp_path / "pairs.tsv"
    tokenizer.save(model)
    corpus.write_text("".join(f"{one}\t{other}\n" for one, other in PAIRS))
    whole = list(resumed(model, corpus, 0))
    assert len(whole) > 20
    code = f"import sys; sys.path.insert(0, {os.fspath(Path(__file__).parent)!r})\n{RESUMED}"
    assert fresh_process(code, model, corpus, 5).splitlines() == whole[2 * 5 :]


# Workers and replicas


@pytest.mark.parametrize(
    ("static_shapes", "options"), [(False, {}), (True, {}), (False, {"subword_dropout": 0.2})]
)
@pytest.mark.parametrize("workers", [2, 3])
def test_each_worker_reads_its_part(build, tokenizer, workers, static_shapes, options):
    tokenized = Counter()

    class Spy:
        def __getattr__(self, name):
            return getattr(tokenizer, name)

        def tokenize(self, lines):
            tokenized.update(lines)
            return tokenizer.tokenize(lines)

    pairs = PAIRS[:200]
    whole = build(pairs, shuffle_buffer=50, **options)
    union = Counter()
    for worker in range(workers):
        sharing = Sharing(worker, workers, static_shapes=static_shapes)
        batches = build(pairs, sharing=sharing, shuffle_buffer=50, **options)
        assert batches.plan == whole.plan, "what is fitted is the global batch"
        spied = dataclasses.replace(batches.preprocess, tokenizers=(Spy(), tokenizer))
        batches.preprocess = spied
        tokenized.clear()
        epoch = list(batches.epoch(1))
        part = Counter(pairs_of(tokenizer, epoch))
        assert part.total() in (len(pairs) // workers, len(pairs) // workers + 1)
        assert tokenized == Counter(source for source, _ in part.elements())
        union += part
        for inputs, labels in epoch:
            longest = max(inputs["source"].shape[1], labels.shape[1])
            assert len(labels) == 1 or len(labels) * longest * workers <= 256
    assert union == Counter(pairs)


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_parts_for_replicas_interleave_to_the_batch(build, replicas):
    batches, skipped = build(sharing=Sharing(replicas=replicas)), 4
    parts = list(batches.dataset(first_batch=skipped).as_numpy_iterator())
    epoch = list(build().epoch(0))[skipped:]
    assert len(parts) == replicas * len(epoch)
    padding_rows = 0
    for step, (inputs, labels) in enumerate(epoch):
        group = parts[replicas * step : replicas * (step + 1)]
        for name, whole in (
            ("source", inputs["source"]),
            ("target", inputs["target"]),
            ("", labels),
        ):
            pieces = [part[0][name] if name else part[1] for part in group]
            rows = np.stack(pieces, axis=1).reshape(-1, whole.shape[1])
            np.testing.assert_array_equal(rows[: len(whole)], whole)
            assert not rows[len(whole) :].any()
        padding_rows += len(rows) - len(labels)
        assert len(rows) - len(labels) < replicas
    assert (padding_rows > 0) == (replicas > 1)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("replicas", [2, 3])
def test_static_shapes_for_replicas(build, tokenizer, replicas, workers):
    sharing = Sharing(workers=workers, replicas=replicas, static_shapes=True)
    batches = build(sharing=sharing, shuffle_buffer=0)
    assert Counter(pairs_of(tokenizer, batches.epoch(0))) == Counter(PAIRS[::workers])
    rows = {
        (s, t): max(replicas, batch // workers // replicas * replicas)
        for batch, s, t in batches.plan.shapes
    }
    for inputs, labels in batches.dataset().as_numpy_iterator():
        shape = inputs["source"].shape[1], labels.shape[1]
        assert len(inputs["source"]) == len(labels) == rows[shape] / replicas


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_fit_sees_a_new_order_each_epoch(build):
    keras = pytest.importorskip("keras")
    batches, seen = build(), []

    class Spy(keras.Model):
        def train_step(self, data):
            inputs, _ = data
            seen.append(inputs["source"].numpy())
            return {"loss": 0.0}

    model = Spy()
    model.compile(run_eagerly=True)
    model.fit(batches.dataset(), epochs=2, shuffle=False, verbose=0)
    expected = [inputs["source"] for index in (0, 1) for inputs, _ in batches.epoch(index)]
    for ids, expected_ids in zip(seen, expected, strict=True):
        np.testing.assert_array_equal(ids, expected_ids)


def test_a_given_plan_is_used(build):
    plan = BucketPlan(((3, 64, 64),))
    assert {labels.shape[1] for _, labels in build(plan=plan).epoch(0)} == {64}


def test_unlike_tokenizers(tokenizer):
    other = SubwordTokenizer.train((target for _, target in PAIRS), 60)
    corpus = Corpus("a corpus", lambda: iter(PAIRS))
    batches = make(corpus, (tokenizer, other))
    sources, targets = [], []
    for inputs, labels in batches.epoch(0):
        sources += texts(tokenizer, inputs["source"])
        targets += texts(other, labels)
    assert Counter(zip(sources, targets, strict=True)) == Counter(PAIRS)


def test_long_and_empty_pairs_are_dropped_and_counted(build, tokenizer):
    pairs = [("the dog", "a cat"), ("", "a cat"), ("the dog", " "), ("the", "dog " * 50)]
    batches = build(pairs, max_length=20)
    assert pairs_of(tokenizer, batches.epoch(0)) == [("the dog", "a cat")]
    assert batches.filter_summary == (
        "kept 1 of 4 pairs (dropped: 2 empty, 1 longer than 20 tokens)"
    )


def test_a_mixture_goes_on_in_the_next_epoch(build, tokenizer):
    batches = build()
    main = Corpus("main", lambda: iter(PAIRS[:20]))
    other = Corpus("other", lambda: iter(PAIRS[20:50]))
    batches.corpus = Mixture(main, [(other, 0.5)])
    for index in range(3):
        expected = PAIRS[:20] + PAIRS[20 + 10 * index : 30 + 10 * index]
        assert Counter(pairs_of(tokenizer, batches.epoch(index))) == Counter(expected)


def test_the_limit_is_inclusive(build, tokenizer):
    [ids] = tokenizer.tokenize(["the dog sees a cat"]).to_list()
    pairs = [("the dog sees a cat", "the dog sees a cat"), ("the", "dog")]
    assert len(pairs_of(tokenizer, build(pairs, max_length=len(ids)).epoch(0))) == 2
    assert len(pairs_of(tokenizer, build(pairs, max_length=len(ids) - 1).epoch(0))) == 1


def test_memory_holds_the_buffer_and_one_batch_of_each_shape(build):
    read = 0

    def endless():
        nonlocal read
        while True:
            for pair in PAIRS:
                read += 1
                yield pair

    plan = build().plan
    batches = build(plan=plan, shuffle_buffer=100)
    batches.corpus = Corpus("an endless corpus", endless)
    emitted = sum(len(labels) for _, (_, labels) in zip(range(500), batches.epoch(0)))  # noqa: B905
    waiting = sum(shape.batch for shape in plan.shapes)
    assert read - emitted <= 100 + 1000 + waiting


def test_nothing_left_to_train_on(build):
    with pytest.raises(ValueError, match=r"No pair of a corpus is left.*kept 0 of 2 pairs"):
        build([("", "a"), ("the dog sees", "")])


@pytest.mark.parametrize(
    ("name", "value"), [("batch_tokens", 0), ("shuffle_buffer", -1), ("sample", 0)]
)
def test_bad_arguments(build, name, value):
    with pytest.raises(
        ValueError, match=rf"`{name}` must be at least \d. Received: {name}={value}"
    ):
        build(**{name: value})


def test_padding_fraction():
    inputs = {"source": np.array([[5, 3, 0, 0]]), "target": np.array([[2, 5, 6, 0]])}
    assert padding_fraction([(inputs, inputs["target"])]) == 3 / 8


@pytest.mark.skipif(
    "KERAS_TRANSFORMER_MULTI30K" not in os.environ,
    reason="KERAS_TRANSFORMER_MULTI30K must name the folder that holds train.en.gz and train.de.gz",
)
def test_padding_on_multi30k():
    prefix = Path(os.environ["KERAS_TRANSFORMER_MULTI30K"]) / "train"
    corpus = open_corpus(prefix, "en", "de")
    tokenizer = SubwordTokenizer.train((line for pair in corpus for line in pair), 8000)
    for batch_tokens in (2048, 4096):
        batches = make(corpus, (tokenizer, tokenizer), batch_tokens=batch_tokens, max_length=256)
        assert len(batches.plan.shapes) <= 31
        assert padding_fraction(batches.epoch(0)) < 0.08


@pytest.mark.parametrize("workers", [1, 2])
def test_the_length_of_an_epoch_is_estimated_and_then_known(build, workers):
    """A part of the pairs is too long for the model."""
    pairs = random_pairs(3000)
    sharing = Sharing(worker=workers - 1, workers=workers)
    batches = build(pairs=pairs, sharing=sharing, max_length=12)
    assert batches.epoch_length is None, "nobody knows the number of pairs"
    batches.pairs = len(pairs)
    assert batches.epoch_length is None
    count, estimates = 0, []
    for count, _ in enumerate(batches.epoch(0), 1):  # noqa: B007
        estimates.append(batches.epoch_length)
    assert batches._filter.counts["too_long"] > 0
    half = estimates[count // 2 : -1]
    assert all(abs(estimate - count) <= 0.2 * count for estimate in half), estimates
    assert batches.epoch_length == count
    # While another one is read as well.
    next(batches.epoch(1))
    assert batches.epoch_length == count
