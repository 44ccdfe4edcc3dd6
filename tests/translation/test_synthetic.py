"""A text and its translations as a corpus: whole or not there, and gone on with after a break."""

import errno
import fcntl

import pytest

from keras_transformer.data.corpora import open_corpus
from keras_transformer.translation.results import Translation
from keras_transformer.translation.synthetic import write_synthetic_corpus

LINES = [f"line {number}" for number in range(200)]


class Shouting:
    """Numbers the lines by their places, in capitals; ends with an error at a place."""

    batch_size = 2

    def __init__(self, fails_at=None):
        self.fails_at, self.translated = fails_at, []

    def nbest(self, lines, *, progress=False, start=0):
        if self.fails_at is not None and start >= self.fails_at:
            raise KeyboardInterrupt
        self.translated += lines
        return [
            [Translation(f"{start + number} {line.decode().upper()}", -1.0)]
            for number, line in enumerate(lines)
        ]


EXPECTED = [(line, f"{number} {line.upper()}") for number, line in enumerate(LINES)]


def test_both_files_are_called_by_their_languages(tmp_path):
    write_synthetic_corpus(Shouting(), iter(LINES), tmp_path / "new" / "c", ("de", "en"), [])
    assert list(open_corpus(str(tmp_path / "new" / "c"), "de", "en")) == EXPECTED
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["c.de", "c.en"]


@pytest.mark.parametrize("torn", ["", "half a li"])
def test_after_a_break_only_the_rest_is_translated_by_its_places(tmp_path, torn):
    first, second = Shouting(fails_at=120), Shouting()
    with pytest.raises(KeyboardInterrupt):
        write_synthetic_corpus(first, LINES, tmp_path / "c", ("de", "en"), {"model": 1})
    assert not (tmp_path / "c.en").exists()
    [part] = tmp_path.glob(".c.en.*.part")
    with part.open("a") as file:
        file.write(torn)
    write_synthetic_corpus(second, LINES, tmp_path / "c", ("de", "en"), {"model": 1})
    assert list(open_corpus(str(tmp_path / "c"), "de", "en")) == EXPECTED
    assert first.translated + second.translated == [line.encode() for line in LINES]
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("change", ["model", "text"])
def test_what_is_left_of_another_model_or_text_is_not_gone_on_with(tmp_path, change):
    with pytest.raises(KeyboardInterrupt):
        write_synthetic_corpus(Shouting(120), LINES, tmp_path / "c", ("de", "en"), 1)
    lines = [*LINES[:-1], "other"] if change == "text" else LINES
    second = Shouting()
    write_synthetic_corpus(
        second, lines, tmp_path / "c", ("de", "en"), 2 if change == "model" else 1
    )
    assert second.translated == [line.encode() for line in lines]


def test_a_break_within_a_line_tears_no_corpus_apart(tmp_path):
    write_synthetic_corpus(Shouting(), ["a\nb\r", "c"], tmp_path / "c", ("de", "en"), 1)
    pairs = list(open_corpus(str(tmp_path / "c"), "de", "en"))
    assert pairs == [("a b ", "0 A B"), ("c", "1 C")]


def test_of_two_that_write_one_corpus_the_second_is_refused(tmp_path):
    class Twice(Shouting):
        """Writes it once more in the midst of it: the same, and of another text or model."""

        def nbest(self, lines, **options):
            if not self.translated:
                for others, origin in ((LINES, 1), (LINES, 2), (LINES[::-1], 1)):
                    again = tmp_path / "c", ("de", "en"), origin
                    with pytest.raises(BlockingIOError, match=rf"no other.*{tmp_path}/c$"):
                        write_synthetic_corpus(Shouting(), others, *again)
            return super().nbest(lines, **options)

    write_synthetic_corpus(Twice(), LINES, tmp_path / "c", ("de", "en"), 1)
    assert list(open_corpus(str(tmp_path / "c"), "de", "en")) == EXPECTED
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.de", "c.en"]


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    write_synthetic_corpus(Shouting(), LINES, tmp_path / "c", ("de", "en"), 1)
    assert list(open_corpus(str(tmp_path / "c"), "de", "en")) == EXPECTED
