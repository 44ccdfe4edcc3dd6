"""Questions with answers in the JSON of SQuAD, of either version.

`data` -> `paragraphs`, each a `context` -> `qas`, each a `question` with `answers`, a `text` and
where it begins, `answer_start`, in characters. In version 2 a question that is `is_impossible` has
none.
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from keras_transformer.data.corpora import CorpusError
from keras_transformer.data.labelled.examples import Answer, Question


def read_squad(path: Path) -> list[Question]:
    """Reads questions.

    Args:
        path: The file, plain or with gzip.

    Raises:
        CorpusError: If it is no such JSON, or an answer is not where it is said to be; the message
            has the question's id.

    Example:
        >>> answer = {"text": "Anna", "answer_start": 0}
        >>> qas = [{"id": "1", "question": "Who sings?", "answers": [answer]}]
        >>> content = {"data": [{"paragraphs": [{"context": "Anna sings.", "qas": qas}]}]}
        >>> _ = Path("train.json").write_text(json.dumps(content))
        >>> read_squad(Path("train.json"))[0].answers
        (Answer(text='Anna', start=0),)

    Reference:
        "SQuAD: 100,000+ Questions for Machine Comprehension of Text", arXiv 1606.05250; "Know What
        You Don't Know", arXiv 1806.03822.
    """
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb") as file:
            return list(_questions(json.load(file), path))
    except (KeyError, TypeError, AttributeError) as error:
        raise CorpusError(
            f"{path} must have SQuAD's layout: data, paragraphs, context, qas, question, answers. "
            f"Received: a JSON in which {error} is missing or of another kind"
        ) from error
    except (
        json.JSONDecodeError,
        UnicodeDecodeError,
        gzip.BadGzipFile,
        zlib.error,
        EOFError,
    ) as error:
        raise CorpusError(f"{path} must be a JSON file. Received: {error}") from error


def _questions(content: Mapping[str, Any], path: Path) -> Iterator[Question]:
    for article in content["data"]:
        for paragraph in article["paragraphs"]:
            context = _string(paragraph["context"])
            for asked in paragraph["qas"]:
                found = () if asked.get("is_impossible") else asked["answers"]
                answers = tuple(Answer(_string(one["text"]), one["answer_start"]) for one in found)
                for answer in answers:
                    _require_answer_in(context, answer, f"{path}, question {asked.get('id')}")
                yield Question(_string(asked["question"]), context, answers)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(repr(value)[:80])
    return value


def _require_answer_in(context: str, answer: Answer, place: str) -> None:
    text, start = answer
    if type(start) is not int:
        raise CorpusError(
            f"{place}: `answer_start` must be an integer, of characters. Received: {start!r}"
        )
    stands = context[start : start + len(text)] if start >= 0 else ""
    if not text or stands != text:
        raise CorpusError(
            f"{place}: an answer must stand in its context at `answer_start`, in characters. "
            f"Received: {text!r} at {start}, where the context has {stands!r}"
        )
