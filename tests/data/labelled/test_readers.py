"""Readers of labelled examples, on files written here as the formats' own pages show them."""

import functools
import gzip
import json
from unittest import mock

import pytest

from keras_transformer.data.corpora import CorpusError
from keras_transformer.data.labelled.examples import (
    Answer,
    Examples,
    LabelledText,
    Question,
    TaggedWords,
    labels_of,
    require_known_labels,
    require_shared_labels,
)
from keras_transformer.data.labelled.opening import open_questions, open_texts, open_words


def written(path, text):
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return str(path)


def test_texts_of_a_tsv(tmp_path):
    texts = open_texts(written(tmp_path / "a.tsv", 'good\tI like it.\r\nbad\tNö, "no".\n'))
    assert texts.rows == (LabelledText("good", "I like it."), LabelledText("bad", 'Nö, "no".'))
    pairs = written(tmp_path / "b.tsv.gz", "0.5\ta dog\ta cat\n-3\tone\t\n")
    assert open_texts(pairs, pairs=True, numbers=True).rows == (
        LabelledText("0.5", "a dog", "a cat"),
        LabelledText("-3", "one", ""),
    )


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("good\tI like it.\nbad\n", {}, r"a\.tsv, line 2: .*a label and a text.*1 column"),
        ("good\tyes\tno\n", {}, "line 1.*3 column"),
        ("good\tyes\n", {"pairs": True}, "a label and two texts.*2 column"),
        ("\tyes\n", {}, "line 1.*first ''"),
        ("good\tyes\n", {"numbers": True}, "must be a number with `regression`.*'good'"),
        ("nan\tyes\n", {"numbers": True}, "must be a number"),
        # Beyond float32, and in it, but not its square.
        ("1e39\tyes\n", {"numbers": True}, r"from -1\.8e\+19 to 1\.8e\+19.*'1e39'"),
        ("1\tyes\n-1.9e19\tno\n", {"numbers": True}, r"line 2.*'-1\.9e19'"),
        ("", {}, "at least one example"),
    ],
)
def test_malformed_texts(tmp_path, text, options, message):
    path = written(tmp_path / "a.tsv", text)
    with pytest.raises(CorpusError, match=message):
        open_texts(path, **options)


def squad(*questions, context="Anna sings in Köln."):
    return json.dumps({"data": [{"paragraphs": [{"context": context, "qas": list(questions)}]}]})


def test_questions_of_both_versions(tmp_path):
    asked = {"id": "1", "question": "Where?", "answers": [{"text": "Köln", "answer_start": 14}]}
    none = {"id": "2", "question": "When?", "is_impossible": True, "answers": []}
    none["plausible_answers"] = [{"text": "Anna", "answer_start": 0}]
    questions = open_questions(written(tmp_path / "a.json.gz", squad(asked, none)))
    context = "Anna sings in Köln."
    assert questions.rows == (
        Question("Where?", context, (Answer("Köln", 14),)),
        Question("When?", context, ()),
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            squad({"id": "7", "question": "?", "answers": [{"text": "Paul", "answer_start": 0}]}),
            r"a\.json, question 7: .*`answer_start`.*'Paul' at 0.*'Anna'",
        ),
        (
            squad({"id": "7", "question": "?", "answers": [{"text": "Anna", "answer_start": -19}]}),
            "'Anna' at -19",
        ),
        (
            squad({"id": "7", "question": "?", "answers": [{"text": "Anna", "answer_start": "0"}]}),
            r"a\.json, question 7: `answer_start` must be an integer.*'0'",
        ),
        (
            squad({"id": "7", "question": "?", "answers": [{"text": "Anna", "answer_start": 0.5}]}),
            r"question 7: .*0\.5",
        ),
        (squad({"id": "7", "question": 5, "answers": []}), "SQuAD's layout.* 5 is missing or of"),
        ('{"data": [{"paragraphs": [{"qas": []}]}]}', "SQuAD's layout.*'context'"),
        ("[1, 2]", "SQuAD's layout"),
        ("{", "must be a JSON file"),
        ('{"data": []}', "at least one example"),
    ],
)
def test_malformed_questions(tmp_path, content, message):
    path = written(tmp_path / "a.json", content)
    with pytest.raises(CorpusError, match=message):
        open_questions(path)


def test_words_in_columns(tmp_path):
    text = (
        "-DOCSTART- -X- O O\n\nAnna NNP B-NP B-PER\nsings VBZ B-VP O\n\n\nKöln\tNNP\tB-NP\tB-LOC\n"
    )
    assert open_words(written(tmp_path / "train.txt", text)).rows == (
        TaggedWords(("Anna", "sings"), ("B-PER", "O")),
        TaggedWords(("Köln",), ("B-LOC",)),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Anna B-PER\nsings\n", r"a\.conll, line 2: .*Received: 1"),
        ("Anna NNP B-PER\nsings O\n", "line 2.*columns as the lines before, 3.*Received: 2"),
        ("Anna\n", "line 1"),
    ],
)
def test_malformed_words(tmp_path, text, message):
    path = written(tmp_path / "a.conll", text)
    with pytest.raises(CorpusError, match=message):
        open_words(path)


@pytest.mark.parametrize(
    ("open_examples", "spec", "message"),
    [
        (open_texts, "phrasebook:mood", "kind of.*question.*tense.*'phrasebook:mood'"),
        (open_texts, "phrasebook:follows", "kind of"),  # Pairs.
        (open_texts, "phrasebook:tense:dev", "split of.*combinations"),
        (open_texts, "phrasebook:tense:test:many", "SIZE"),
        (open_words, "phrasebook:words:test:5:6", "SPLIT:SIZE"),
        (
            functools.partial(open_texts, numbers=True),
            "phrasebook:tense",
            "With `regression`.*built in have words.*'phrasebook:tense'",
        ),
        (open_texts, "tfds:", "tfds:NAME or tfds:NAME:SPLIT.*'tfds:'"),
        (open_texts, "there/is/none.tsv", "file that is there and ends in .tsv"),
        (open_questions, "README.md", "ends in .json.*'README.md'"),
        (open_questions, "tfds:squad", "phrasebook:KIND or a file"),
    ],
)
def test_corpora_there_are_not(open_examples, spec, message):
    with pytest.raises(CorpusError, match=message):
        open_examples(spec)


def test_labels_that_validation_has_alone():
    train = Examples("train.tsv", (LabelledText("b", "x"), LabelledText("a", "y")))
    valid = Examples("valid.tsv", (LabelledText("c", "x"), LabelledText("a", "y")))
    assert labels_of(train) == ("a", "b")
    assert labels_of([TaggedWords(("x", "y"), ("O", "B-X"))]) == ("B-X", "O")
    told = r"valid\.tsv must.*those of.*Received: c, beside a, b; 'c' in example 1"
    with pytest.raises(CorpusError, match=told):
        require_known_labels(valid, labels_of(train))
    require_known_labels(train, labels_of(train))


def test_a_label_that_is_not_known_is_said_with_its_place(tmp_path):
    texts = open_texts(written(tmp_path / "a.tsv", "good\tyes\nbad\tno\nbda\tno\n"))
    with pytest.raises(CorpusError, match=r"a\.tsv must.*`data\.labels`.*'bda' in line 3"):
        require_known_labels(texts, ["bad", "good"])
    words = open_words(written(tmp_path / "a.conll", "Anna X\n\nAnna X\nsings Y\n"))
    with pytest.raises(CorpusError, match=r"'Y' in sentence 2"):
        require_known_labels(words, ["X"])


def test_texts_in_the_column_of_labels(tmp_path):
    columns = [(f"It is {number}.", "good" if number % 2 else "bad") for number in range(20)]
    swapped = open_texts(written(tmp_path / "a.tsv", "".join(f"{x}\t{y}\n" for x, y in columns)))
    message = r"swap.*--data\.regression True.*20 labels of 20 examples; 'It is 0\.' in line 1"
    with pytest.raises(CorpusError, match=message):
        require_shared_labels(swapped)
    as_told = open_texts(written(tmp_path / "b.tsv", "".join(f"{y}\t{x}\n" for x, y in columns)))
    require_shared_labels(as_told)
    # Ten labels of two examples each.
    shared = [LabelledText(str(number // 2), "It is so.") for number in range(20)]
    require_shared_labels(Examples("shared", tuple(shared)))
    # Too few to tell.
    require_shared_labels(Examples("few", swapped.rows[:19]))


def test_the_fingerprint_tells_examples_apart():
    one = Examples("one", (LabelledText("a", "b", "c"),))
    same = Examples("same", (LabelledText("a", "b", "c"),))
    other = Examples("other", (LabelledText("a", "bc"),))
    assert one.fingerprint() == same.fingerprint()
    assert one.fingerprint() != other.fingerprint()


def test_glue_by_its_tfds_names(tmp_path):
    tfds = pytest.importorskip("tensorflow_datasets")
    with tfds.testing.mock_data(num_examples=3):
        sentences = open_texts("tfds:glue/sst2:validation")
        assert {one.label for one in sentences} <= {"negative", "positive"}
        assert [one.text_pair for one in sentences] == [""] * 3
        pairs = open_texts("tfds:glue/mnli:train", pairs=True)
        builder = tfds.builder("glue/mnli")
        [first, *_] = builder.as_dataset(split="train").as_numpy_iterator()
        assert pairs.rows[0].text == first["premise"].decode()
        assert pairs.rows[0].text_pair == first["hypothesis"].decode()
        builder = tfds.builder("glue/stsb")
        [first, *_] = builder.as_dataset(split="train").as_numpy_iterator()
        [one, *_] = open_texts("tfds:glue/stsb", pairs=True, numbers=True)
        assert float(one.label) == pytest.approx(float(first["label"]))
        with pytest.raises(CorpusError, match=r"must have one text.*sentence1"):
            open_texts("tfds:glue/mrpc")
        with pytest.raises(CorpusError, match="a label that is a number"):
            open_texts("tfds:glue/mrpc", pairs=True, numbers=True)
        # The colon is the slice's.
        assert len(open_texts("tfds:glue/sst2:train[:2]")) > 0


def test_data_sets_that_are_not_there():
    tfds = pytest.importorskip("tensorflow_datasets")
    with pytest.raises(CorpusError, match=r"name of a data set.*'tfds:of_nobody'"):
        open_texts("tfds:of_nobody")
    offline = mock.Mock()
    offline.download_and_prepare.side_effect = ConnectionError("no route to host")
    with (
        mock.patch.object(tfds, "builder", return_value=offline),
        pytest.raises(CorpusError, match=r"can be downloaded.*glue/sst2' \(no route to host\)"),
    ):
        open_texts("tfds:glue/sst2")
    with (
        mock.patch.dict("sys.modules", tensorflow_datasets=None),
        pytest.raises(CorpusError, match="needs the package tensorflow-datasets; install it"),
    ):
        open_texts("tfds:glue/sst2")
