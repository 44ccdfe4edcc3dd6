"""Predictions from strings, against Python that does the same by hand with a model's logits."""

import dataclasses
import itertools
import random

import numpy as np
import pytest
import tensorflow as tf
from random_models import vary
from references import softmax

from keras_transformer import BertConfig
from keras_transformer.models.bert_heads import SpanFinder, TextClassifier, TokenTagger
from keras_transformer.prediction.predictor import Predictor
from keras_transformer.prediction.reading import read_texts, read_words, windows
from keras_transformer.prediction.spans import SpanGraph
from keras_transformer.prediction.tags import TagGraph, split_into_words
from keras_transformer.prediction.texts import LabelGraph
from keras_transformer.text.subword_pieces import SubwordPieces
from keras_transformer.text.wordpiece import SPECIAL, WordPieceTokenizer

PIECES = [*SPECIAL, "the", "cat", "##s", "sat", ".", "a", "ü", "##ü", "on"]
TOKENIZER = WordPieceTokenizer(PIECES, lowercase=False)
CONFIG = BertConfig(
    vocab_size=len(PIECES), num_layers=1, d_model=16, d_ff=24, num_heads=2, max_length=16
)
# What has brought other tokenizers and servers down.
HOSTILE = [
    "",
    " ",
    "\x00",
    "\ufeff",
    "the" * 3000,
    "the " * 3000,
    "\u200b\u00ad",
    "🙂" * 50,
    "[CLS]",
]


def words_of(draws, most):
    return " ".join(draws.choices(["the", "cats", "sat.", "a", "ü", "dog", "on"], k=most))


def test_windows_cover_a_text_and_fit():
    draws = random.Random(0)
    for _ in range(15):
        most, stride = draws.randint(4, 12), draws.randint(1, 14)
        first = [list(range(draws.randint(0, most - 1))) for _ in range(3)]
        second = [list(range(draws.randint(0, 40))) for _ in range(3)]
        parts = windows(*(_ragged(rows) for rows in (first, second)), most, stride)
        owners, starts = parts.owners.numpy(), parts.starts.numpy()
        assert [*map(int, np.unique(owners))] == [0, 1, 2]
        for owner, start, one, other in zip(
            owners, starts, parts.first.to_list(), parts.second.to_list(), strict=True
        ):
            assert one == first[owner]
            assert other == second[owner][start : start + len(other)]
            assert len(one) + len(other) <= most
        for owner, text in enumerate(second):
            rows = [
                row for o, row in zip(owners, parts.second.to_list(), strict=True) if o == owner
            ]
            assert {*itertools.chain(*rows)} == {*text}
            # Not one more than is needed.
            assert len(rows) == 1 or {*itertools.chain(*rows[:-1])} != {*text}


def _ragged(rows):
    return tf.RaggedTensor.from_row_lengths(
        tf.constant(list(itertools.chain(*rows)), tf.int32), [len(row) for row in rows]
    )


def test_first_pieces_of_words_stand_where_they_are_said_to():
    draws = random.Random(1)
    for _ in range(5):
        texts = [words_of(draws, draws.randint(0, 40)).split() for _ in range(3)]
        texts[0].insert(0, "cat" + "s" * 60)  # More pieces than are read of a word.
        words = tf.ragged.constant(texts, tf.string, ragged_rank=1)
        pieces = read_words(TOKENIZER, CONFIG.max_length, words)
        rows = pieces.ids.to_list()
        assert max(map(len, rows)) <= CONFIG.max_length - 2
        for word, (row, place) in zip(itertools.chain(*texts), pieces.places.numpy(), strict=True):
            assert rows[row][place - 1] == TOKENIZER.tokenize([word])[0][0]
        assert len({*map(tuple, pieces.places.numpy())}) == sum(map(len, texts))


def test_labels_are_those_of_the_logits():
    model = vary(TextClassifier(CONFIG, 3), seed=1)
    graph = LabelGraph(model, TOKENIZER, labels=["x", "y", "z"], pairs=True)
    first, second = ["the cat", "", "a " * 30], ["a", "", "the " * 30]
    found = graph.predict(tf.constant(first), tf.constant(second))
    for row, texts in enumerate(zip(first, second, strict=True)):
        inputs = read_texts(TOKENIZER, CONFIG.max_length, *([text] for text in texts))
        logits = model(inputs)[0, 0, 1:].numpy()
        np.testing.assert_allclose(found["probabilities"][row], softmax(logits), atol=1e-5)
        assert found["label"][row].numpy().decode() == "xyz"[logits.argmax()]
    vectors = graph.features(tf.constant(first), tf.constant(second))
    alone = model.bert(read_texts(TOKENIZER, CONFIG.max_length, ["the cat"], ["a"]))
    np.testing.assert_allclose(vectors["sentence"][0], alone["pooled"][0], atol=1e-5)
    pieces = [piece.decode() for piece in vectors["pieces"][0].numpy() if piece]
    assert pieces == ["[CLS]", "the", "cat", "[SEP]", "a", "[SEP]"]
    np.testing.assert_allclose(vectors["tokens"][0, :6], alone["tokens"][0], atol=1e-5)
    assert not vectors["tokens"][0, 6:].numpy().any()


def best_answer(model, tokenizer, question, context, stride, most):
    """Tries every answer of every window, with the windows cut in Python."""
    asked = tokenizer.tokenize([question])[0].numpy().tolist()[: (CONFIG.max_length - 3) // 2]
    ids, starts, ends = (x[0].numpy().tolist() for x in tokenizer.tokenize_with_offsets([context]))
    room, found = CONFIG.max_length - 3 - len(asked), []
    for first in range(0, max(1, len(ids)), min(stride, room)):
        text = ids[first : first + room]
        row = [tokenizer.cls_id, *asked, tokenizer.sep_id, *text, tokenizer.sep_id]
        segments = [0] * (len(asked) + 2) + [1] * (len(text) + 1)
        logits = model({"ids": np.array([row]), "segments": np.array([segments])}).numpy()[0, :, 1:]
        place = len(asked) + 2
        for one, other in itertools.product(range(len(text)), repeat=2):
            if one <= other < one + most:
                score = logits[0, place + one] + logits[1, place + other] - logits[:, 0].sum()
                found.append((score, -first, starts[first + one], ends[first + other]))
        if first + room >= len(ids):
            break
    score, _, start, end = max(found)
    text = context.encode()[start:end].decode()
    if not text.strip():  # A space can be a token.
        return score, "", -1, -1
    begin = len(context.encode()[:start].decode()) + len(text) - len(text.lstrip())
    return score, text.strip(), begin, begin + len(text.strip())


# One whose tokens have the space before a word.
SENTENCEPIECE = SubwordPieces.train(["the cats sat . a ü dog on"] * 3, vocab_size=24)


@pytest.mark.parametrize(
    "tokenizer", [TOKENIZER, SENTENCEPIECE], ids=["wordpiece", "sentencepiece"]
)
def test_the_best_answer_of_all_windows(tokenizer):
    config = dataclasses.replace(CONFIG, vocab_size=tokenizer.vocab_size)
    model, draws = vary(SpanFinder(config), seed=2), random.Random(2)
    options = {"stride": 4, "max_answer": 3}
    graph = SpanGraph(model, tokenizer, threshold=-1e9, **options)
    rows = [(words_of(draws, draws.randint(0, 9)), words_of(draws, 30)) for _ in range(4)]
    found = graph.predict(*map(tf.constant, zip(*rows, strict=True)))
    for index, (question, context) in enumerate(rows):
        score, answer, start, end = best_answer(model, tokenizer, question, context, 4, 3)
        assert float(found["score"][index]) == pytest.approx(score, abs=1e-4)
        assert found["answer"][index].numpy().decode() == answer
        assert (int(found["start"][index]), int(found["end"][index])) == (start, end)
        assert context[max(start, 0) : max(end, 0)] == answer == answer.strip()
    strict = SpanGraph(model, tokenizer, threshold=float(found["score"][0]) + 1e-3, **options)
    none = strict.predict(*map(tf.constant, zip(*rows[:1], strict=True)))
    assert none["answer"].numpy().tolist() == [b""]
    assert none["start"].numpy().tolist() == none["end"].numpy().tolist() == [-1]


def test_tags_are_those_of_first_pieces_and_offsets_are_characters():
    model = vary(TokenTagger(CONFIG, 3), seed=3)
    graph = TagGraph(model, TOKENIZER, labels=["A", "B", "C"])
    [found] = Predictor(graph.predict, graph.columns)(["the cats ü(sat). the-cat"])
    assert found["tokens"] == ["the", "cats", "ü(sat", ").", "the-cat"]
    text = "the cats ü(sat). the-cat"
    spans = zip(found["starts"], found["ends"], strict=True)
    assert [text[start:end] for start, end in spans] == found["tokens"]
    ids = [TOKENIZER.tokenize([word])[0].numpy().tolist() for word in found["tokens"]]
    row = [TOKENIZER.cls_id, *itertools.chain(*ids), TOKENIZER.sep_id]
    assert len(row) <= CONFIG.max_length
    logits = model({"ids": np.array([row])}).numpy()[0, :, 1:]
    places = np.cumsum([1, *map(len, ids)])[:-1]
    assert found["tags"] == ["ABC"[logits[place].argmax()] for place in places]


def test_words_are_split_as_people_do():
    text = 'He said: "U.S. isn\'t far" ... (½ km)'
    words, starts = split_into_words(tf.constant([text, "", " \n"]))
    expected = ["He", "said", ":", '"', "U.S", ".", "isn't", "far", '"', "...", "(", "½", "km", ")"]
    assert [word.decode() for word in words[0].numpy()] == expected
    raw = text.encode()
    for word, start in zip(words[0].numpy(), starts[0].numpy(), strict=True):
        assert raw[start : start + len(word)] == word
    assert words.row_lengths().numpy().tolist() == [len(expected), 0, 0]


def test_any_string_is_an_input():
    text = Predictor(
        LabelGraph(TextClassifier(CONFIG, 2), TOKENIZER, labels="ab").predict, ["text"]
    )
    assert {one["label"] for one in text(HOSTILE)} <= {"a", "b"}
    spans = SpanGraph(SpanFinder(CONFIG), TOKENIZER, threshold=-1e9)
    pairs = [HOSTILE, HOSTILE[::-1]]
    for one, context in zip(Predictor(spans.predict, spans.columns)(*pairs), pairs[1], strict=True):
        assert one["start"] < 0 or context[one["start"] : one["end"]] == one["answer"]
    tags = Predictor(TagGraph(TokenTagger(CONFIG, 2), TOKENIZER, labels="ab").predict, ["text"])
    for one, line in zip(tags([*HOSTILE, b"\xff\xfe the"]), [*HOSTILE, ""], strict=True):
        assert len(one["tags"]) == len(one["tokens"]) == len(one["starts"])
        assert not line.isascii() or "".join(one["tokens"]) == "".join(line.split()) or not line


def test_columns_that_are_not_there():
    predict = Predictor(lambda *columns: {}, ["question", "context"])
    with pytest.raises(ValueError, match=r"question and context.*1 column"):
        predict(["who?"])
    with pytest.raises(ValueError, match=r"question and context, apart by a tab.*who"):
        predict.of_lines([b"who?"])
    assert predict.of_lines([]) == []


def test_a_tab_more_is_text():
    """A text may have tabs; only where there are columns does one part them."""
    asked = []

    def graph(*columns):
        asked.append([column.numpy().tolist() for column in columns])
        return {"value": tf.zeros(tf.shape(columns[0]))}

    Predictor(graph, ["text"]).of_lines([b"good\tfilm"])
    Predictor(graph, ["question", "context"]).of_lines([b"who?\ta\tb"])
    assert asked == [[[b"good\tfilm"]], [[b"who?"], [b"a\tb"]]]
