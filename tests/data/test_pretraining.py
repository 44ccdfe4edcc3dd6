"""Batches for pre-training: framed, padded, the same again, and shared."""

import dataclasses

import numpy as np
import pytest

from keras_transformer import DocumentsConfig
from keras_transformer.data.bucketing import BucketPlan, Shape
from keras_transformer.data.corpora import CorpusError
from keras_transformer.data.documents import Documents, open_documents
from keras_transformer.data.pretraining import DocumentInputs, PretrainingBatches, fit_plan
from keras_transformer.data.segments import ANOTHER, FOLLOWS
from keras_transformer.data.sharing import Sharing
from keras_transformer.text.wordpiece import WordPieceTokenizer

DATA = DocumentsConfig(length=32, batch_tokens=512)


@pytest.fixture(scope="module")
def documents():
    return open_documents("phrasebook:train:150")


@pytest.fixture(scope="module")
def tokenizer(documents):
    return WordPieceTokenizer.train(documents.sentences(), 300)


@pytest.fixture(scope="module")
def plan(documents, tokenizer):
    return fit_plan(documents, tokenizer, DATA)


@pytest.fixture
def batches(documents, tokenizer, plan):
    return PretrainingBatches(documents, tokenizer, DATA, plan, seed=4)


def unmasked(inputs, labels):
    """The ids with the words in their places again."""
    ids = inputs["ids"].copy()
    rows = np.broadcast_to(np.arange(len(ids))[:, None], labels["masked"].shape)
    real = labels["masked"] > 0
    ids[rows[real], inputs["places"][real]] = labels["masked"][real]
    return ids


def rows_of(epoch):
    return [row.tolist() for batch in epoch for row in unmasked(*batch)]


def assert_same(one, other):
    for x, y in zip(one, other, strict=True):
        assert x.keys() == y.keys()
        for name in x:
            np.testing.assert_array_equal(x[name], y[name])


def test_rows_are_two_texts_between_special_pieces(batches, tokenizer):
    seen = 0
    for inputs, labels in batches.epoch(0):
        ids = unmasked(inputs, labels)
        assert inputs["ids"].shape[1] <= 32
        assert inputs["ids"].size <= 512
        for row, segments, label in zip(ids, inputs["segments"], labels["next"], strict=True):
            real = row[row != 0]
            assert (row[len(real) :] == 0).all()
            first, second = np.flatnonzero(row == tokenizer.sep_id)
            assert row[0] == tokenizer.cls_id
            assert second == len(real) - 1
            np.testing.assert_array_equal(
                segments, (np.arange(len(row)) > first) & (np.arange(len(row)) <= second)
            )
            assert label[0] in (FOLLOWS, ANOTHER)
            seen += 1
    assert batches.filter_summary == f"{seen:,} inputs of 150 documents"


def test_what_fits_together_is_of_one_document_if_it_follows(batches, documents, tokenizer):
    """Each text is found in a document; both in the same one where the second follows."""
    whole = [
        " ".join(map(str, tokenizer.tokenize(document).flat_values.numpy())) + " "
        for document in documents
    ]
    for inputs, labels in batches.epoch(0):
        for row, label in zip(unmasked(inputs, labels), labels["next"], strict=True):
            first, second = np.flatnonzero(row == tokenizer.sep_id)
            texts = [
                f"{' '.join(map(str, row[a:b]))} " for a, b in ((1, first), (first + 1, second))
            ]
            places = [{i for i, text in enumerate(whole) if part in text} for part in texts]
            assert places[0]
            assert places[1]
            if label == FOLLOWS:
                assert any(texts[0] + texts[1] in text for text in whole) or places[0] & places[1]


def test_an_epoch_is_the_same_again_and_masks_are_new_in_another(batches):
    one, again, other = list(batches.epoch(0)), list(batches.epoch(0)), list(batches.epoch(1))
    for x, y in zip(one, again, strict=True):
        assert_same(x, y)
    assert rows_of(one) != rows_of(other)
    assert batches.epoch_length == len(other)


def test_resuming_in_the_midst(batches):
    whole = list(batches.epoch(2))
    for x, y in zip(whole[3:], batches.epoch(2, first_batch=3), strict=True):
        assert_same(x, y)
    described = batches.described(2, 3)
    assert described["ids"] == whole[3][0]["ids"].tolist()
    assert len(described["text"]) == len(described["ids"])


def test_without_next_sentences_each_token_is_there_once(documents, tokenizer):
    data = dataclasses.replace(DATA, next_sentence=False)
    plan = fit_plan(documents, tokenizer, data)
    batches = PretrainingBatches(documents, tokenizer, data, plan)
    epoch = list(batches.epoch(0))
    assert all(labels.keys() == {"masked"} for _, labels in epoch)
    tokens = sorted(t for row in rows_of(epoch) for t in row if t > 4)
    assert tokens == sorted(
        t for line in tokenizer.tokenize(list(documents.sentences())).to_list() for t in line
    )
    assert {segment for inputs, _ in epoch for segment in np.unique(inputs["segments"])} == {0}


def test_workers_share_the_documents(documents, tokenizer, plan):
    def of(sharing):
        data = dataclasses.replace(DATA, next_sentence=False)
        return PretrainingBatches(documents, tokenizer, data, plan, sharing=sharing)

    parts = [of(Sharing(worker, workers=2)) for worker in (0, 1)]
    tokens = [[t for row in rows_of(part.epoch(0)) for t in row if t > 4] for part in parts]
    assert all(tokens)
    whole = [t for row in rows_of(of(Sharing()).epoch(0)) for t in row if t > 4]
    assert sorted(tokens[0] + tokens[1]) == sorted(whole)


def test_datasets_of_replicas_and_static_shapes(documents, tokenizer, plan):
    sharing = Sharing(replicas=2, static_shapes=True)
    batches = PretrainingBatches(documents, tokenizer, DATA, plan, sharing=sharing)
    shapes = {tuple(inputs["ids"].shape) for inputs, _ in batches.epoch(0)}
    assert shapes <= {(shape.batch, shape.source) for shape in sharing.plan(plan).shapes}
    whole = list(batches.epoch(0))
    parts = list(batches.dataset().as_numpy_iterator())
    assert len(parts) == 2 * len(whole)
    for index, (inputs, labels) in enumerate(whole):
        for replica in (0, 1):
            found_inputs, found_labels = parts[2 * index + replica]
            np.testing.assert_array_equal(found_inputs["ids"], inputs["ids"][replica::2])
            np.testing.assert_array_equal(found_labels["next"], labels["next"][replica::2])


def test_the_plan_covers_the_longest_input(plan):
    assert plan.shapes[-1] == Shape(16, 32, 5)
    assert all(shape.target == max(1, round(0.15 * shape.source)) for shape in plan.shapes)


def test_a_batch_is_not_of_one_long_document(tokenizer):
    """Of two documents, the first half of the inputs has as much of one as of the other."""
    data = dataclasses.replace(DATA, next_sentence=False, short=0.0)
    lines = [["The dog barks."] * 400, ["A cat sleeps."] * 400]
    long = Documents("two", lambda: iter(lines))
    dog = {*tokenizer.tokenize(lines[0][:1]).flat_values.numpy()}
    rows = list(DocumentInputs(tokenizer, data)(long, np.random.default_rng(0)))
    is_dog = [{*row.first} == dog for row in rows]
    half = len(rows) // 2
    # Hypergeometric: a quarter of the rows, within four standard deviations.
    assert abs(sum(is_dog[:half]) - sum(is_dog) / 2) < 4 * (len(rows) / 16) ** 0.5


def test_one_document_alone(tokenizer):
    alone = Documents("one", lambda: iter([["The dog barks.", "It is loud."]]))
    with pytest.raises(CorpusError, match=r"at least two documents.*`data.next_sentence` False"):
        fit_plan(alone, tokenizer, DATA)
    assert not list(DocumentInputs(tokenizer, DATA)(alone, np.random.default_rng(0)))
    data = dataclasses.replace(DATA, next_sentence=False)
    assert len(list(DocumentInputs(tokenizer, data)(alone, np.random.default_rng(0)))) == 1


def test_a_first_document_by_itself_waits_for_another(tokenizer, monkeypatch):
    """One that has no token is none."""
    monkeypatch.setattr("keras_transformer.data.pretraining._TOGETHER", 2)
    documents = [["The dog."], [""], ["A cat."], ["My house."]]
    rows = DocumentInputs(tokenizer, DATA)(
        Documents("four", lambda: iter(documents)), np.random.default_rng(0)
    )
    assert len(list(rows)) == 3


def test_a_worker_with_one_document_of_three(tokenizer, plan):
    documents = Documents("three", lambda: iter([["The dog."], ["A cat."], ["My house."]]))
    epochs = [
        list(
            PretrainingBatches(
                documents, tokenizer, DATA, plan, sharing=Sharing(workers=2, worker=worker)
            ).epoch(0)
        )
        for worker in (0, 1)
    ]
    assert [len(epoch) for epoch in epochs] == [1, 0]


def test_a_last_document_by_itself_finds_others(tokenizer, monkeypatch):
    monkeypatch.setattr("keras_transformer.data.pretraining._TOGETHER", 2)
    three = Documents("three", lambda: iter([["The dog."], ["A cat."], ["My house."]]))
    rows = list(DocumentInputs(tokenizer, DATA)(three, np.random.default_rng(0)))
    assert [row.label for row in rows] == [ANOTHER] * 3
    assert rows[2].second in (rows[0].first, rows[1].first)


def test_documents_without_a_token(tokenizer):
    empty = Documents("blank", lambda: iter([["\u200b"], ["\u200b"]]))
    with pytest.raises(CorpusError, match="blank has no text"):
        fit_plan(empty, tokenizer, DATA)


def test_options_that_are_refused():
    with pytest.raises(ValueError, match="`length` must be at least 8"):
        DocumentsConfig(length=4)
    with pytest.raises(ValueError, match="`batch_tokens` must be at least length=128, a row"):
        DocumentsConfig(batch_tokens=100)
    assert BucketPlan(((2, 16, 2),)).shapes[0].target == 2
