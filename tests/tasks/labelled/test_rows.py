"""What models read of labelled examples, and the labels, looked up in the text again."""

import random
import sys

import numpy as np
import pytest

from keras_transformer import BertConfig
from keras_transformer.config.labelled import (
    ClassificationConfig,
    ClassificationDataConfig,
    PairsConfig,
    PairsDataConfig,
    SpansConfig,
    SpansDataConfig,
    TagsConfig,
    TagsDataConfig,
)
from keras_transformer.data.labelled.examples import Answer, LabelledText, Question, TaggedWords
from keras_transformer.data.sharing import Sharing
from keras_transformer.tasks.labelled import LABELLED_TASKS
from keras_transformer.tasks.labelled.batches import ExampleBatches, plan_of
from keras_transformer.tasks.labelled.kind import Row
from keras_transformer.tasks.labelled.spans import Spans
from keras_transformer.tasks.labelled.tags import Tags
from keras_transformer.tasks.labelled.texts import Numbers, Texts
from keras_transformer.text.wordpiece import SPECIAL, WordPieceTokenizer

PIECES = [*SPECIAL, "the", "cat", "##s", "sat", "ü", "on", "dog", "?", "who"]
TOKENIZER = WordPieceTokenizer(PIECES)
MODEL = BertConfig(vocab_size=len(PIECES), num_layers=1, d_model=8, num_heads=1, max_length=16)


def pieces_of(row):
    return [PIECES[i] for i in row.ids]


def test_texts_and_their_labels():
    data = ClassificationDataConfig(labels=("bad", "good"))
    config = ClassificationConfig(model=MODEL, data=data)
    examples = [LabelledText("good", "the cats"), LabelledText("bad", "dog " * 30)]
    first, second = Texts(pairs=False).read(config, TOKENIZER, examples)
    assert pieces_of(first) == ["[CLS]", "the", "cat", "##s", "[SEP]"]
    assert pieces_of(second) == ["[CLS]", *["dog"] * 14, "[SEP]"]
    assert [first.labels.tolist(), second.labels.tolist()] == [[2], [1]]
    assert not first.segments.any()


def test_pairs_and_numbers():
    config = PairsConfig(model=MODEL, data=PairsDataConfig(regression=True))
    examples = [LabelledText("0", "the cat", "dog"), LabelledText("-2.5", "", "dog " * 30)]
    first, second = Numbers(pairs=True).read(config, TOKENIZER, examples)
    assert pieces_of(first) == ["[CLS]", "the", "cat", "[SEP]", "dog", "[SEP]"]
    assert first.segments.tolist() == [0, 0, 0, 0, 1, 1]
    # A zero is a number as others are, and padding is nothing.
    assert first.labels[0] != 0.0
    assert first.labels[0] == pytest.approx(0.0, abs=1e-30)
    assert second.labels.tolist() == [-2.5]
    assert len(second.ids) == MODEL.max_length


@pytest.mark.parametrize("regression", [False, True])
def test_what_scores_take_is_asked_for_before_a_training(monkeypatch, tmp_path, regression):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    path = tmp_path / "examples.tsv"
    path.write_text("1\tthe cat\n0\tthe dog\n")
    task, *_ = LABELLED_TASKS
    data = ClassificationDataConfig(train=str(path), valid=str(path), regression=regression)
    config = task.completed(ClassificationConfig(model=MODEL, data=data))
    with pytest.raises(ImportError, match=r"scikit-learn package: .*\[metrics\]"):
        task.prepare(tmp_path / "run", config, {}, None)


def test_answers_are_found_again_in_their_windows():
    draws, kind = random.Random(0), Spans()
    config = SpansConfig(model=MODEL, data=SpansDataConfig(stride=4))
    for _ in range(8):
        words = draws.choices(["the", "cats", "sat", "Ü", "on"], k=draws.randint(3, 30))
        place = draws.randrange(len(words))
        answer = " ".join(words[place : place + draws.randint(1, 3)])
        context = " ".join(words)
        start = len(" ".join([*words[:place], ""]))
        question = Question("who ?", context, (Answer(answer, start),))
        rows = list(kind.read(config, TOKENIZER, [question]))
        expected = [PIECES[i] for i in TOKENIZER.tokenize([answer])[0].numpy()]
        found = [row for row in rows if row.labels.tolist() != [1, 1]]
        assert found, (context, answer)
        for row in found:
            first, last = row.labels - 1
            assert pieces_of(row)[first : last + 1] == expected
            assert row.segments[first] == 1


def test_a_question_without_an_answer_points_at_the_first_place():
    config = SpansConfig(model=MODEL, data=SpansDataConfig())
    rows = Spans().read(config, TOKENIZER, [Question("who ?", "the cat sat", ())])
    assert [row.labels.tolist() for row in rows] == [[1, 1]]


def test_tags_stand_at_first_pieces():
    config = TagsConfig(model=MODEL, data=TagsDataConfig(labels=("DET", "NOUN", "X")))
    sentence = TaggedWords(("The", "cats", "\u00ad", "on"), ("DET", "NOUN", "X", "X"))
    [row] = Tags().read(config, TOKENIZER, [sentence])
    assert pieces_of(row) == ["[CLS]", "the", "cat", "##s", "on", "[SEP]"]
    # A soft hyphen is no piece, and nothing can be learned of its tag.
    assert row.labels.tolist() == [0, 1, 2, 0, 3, 0]
    long = TaggedWords(("cats",) * 30, ("NOUN",) * 30)
    rows = list(Tags().read(config, TOKENIZER, [long]))
    assert sum(np.count_nonzero(row.labels) for row in rows) == 30
    assert max(len(row.ids) for row in rows) <= MODEL.max_length


def test_rows_hold_no_padding():
    """A view would keep all of the examples that were read together, as long as the longest."""
    config = TagsConfig(model=MODEL, data=TagsDataConfig(labels=("X",)))
    sentences = [TaggedWords(("cats",) * count, ("X",) * count) for count in (1, 6)]
    for row in Tags().read(config, TOKENIZER, sentences):
        assert [array.base for array in row] == [None] * 3
    # Three numbers for a text, and not those of a table of texts.
    config = ClassificationConfig(model=MODEL, data=ClassificationDataConfig(labels=("X",)))
    texts = [LabelledText("X", "cats " * count) for count in (1, 6)]
    for row in Texts(pairs=False).read(config, TOKENIZER, texts):
        assert [array.base for array in row] == [None] * 3


def rows_at_random(count=23):
    rng = np.random.default_rng(0)
    return [
        Row(rng.integers(5, 9, length), rng.integers(0, 2, length), np.array([1 + index]))
        for index, length in enumerate(rng.integers(1, 40, count))
    ]


def taken(batches, epoch, first=0):
    """Returns the rows of an epoch as they come out of their padding, by their labels."""
    found = []
    for inputs, labels in batches.epoch(epoch, first):
        for ids, segments, label in zip(*inputs.values(), labels, strict=True):
            length = np.count_nonzero(ids)
            if length:
                found.append((int(label[0]), ids[:length].tolist(), segments[:length].tolist()))
    return found


def test_an_epoch_has_each_row_once_and_begins_again_where_it_was():
    rows = rows_at_random()
    batches = ExampleBatches(rows, plan_of(rows, 4, 48), TOKENIZER, seed=3)
    first, second = taken(batches, 0), taken(batches, 1)
    expected = [(row.labels[0], row.ids.tolist(), row.segments.tolist()) for row in rows]
    assert sorted(first) == sorted(second) == expected
    assert first != second
    assert taken(batches, 1, first=2) == second[8:]
    assert len(list(batches.epoch(0))) == batches.epoch_length
    in_order = ExampleBatches(rows, plan_of(rows, 4, 48), TOKENIZER)
    assert taken(in_order, 5) == expected


def test_workers_and_replicas_share_each_batch():
    rows = rows_at_random()
    plan = plan_of(rows, 4, 48)
    whole = [
        {label.item() for label in labels}
        for _, labels in ExampleBatches(rows, plan, TOKENIZER, seed=1).epoch(0)
    ]
    sharings = [Sharing(worker, workers=2, static_shapes=True) for worker in range(2)]
    parts = [
        list(ExampleBatches(rows, plan, TOKENIZER, seed=1, sharing=each).epoch(0))
        for each in sharings
    ]
    for index, together in enumerate(whole):
        found = [part[index][1] for part in parts if index < len(part)]
        assert {label.item() for labels in found for label in labels} - {0} == together
        assert all(len(labels) == 2 for labels in found)
    replicas = ExampleBatches(rows, plan, TOKENIZER, seed=1, sharing=Sharing(replicas=2))
    labels = [label.numpy() for _, label in replicas.dataset()]
    assert {*np.concatenate(labels).ravel()} - {0} == set(range(1, len(rows) + 1))
    assert len(labels) == 2 * len(whole)
