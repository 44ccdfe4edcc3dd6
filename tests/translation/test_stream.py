"""A stream of lines: one line out for each line in, whatever the bytes are."""

import io
import os

import pytest

from keras_transformer.translation.stream import lines_as_they_come, translate_stream
from keras_transformer.translation.translator import Translation


def shout(lines, progress=False, start=0):
    """Two translations of each line: in capitals, and backwards."""
    texts = [line.decode("utf-8", "replace") for line in lines]
    return [[Translation(text.upper(), -1.25), Translation(text[::-1], -2.5)] for text in texts]


def translated(data, window=2, function=shout, **options):
    output = io.BytesIO()
    translate_stream(function, io.BytesIO(data), output, window, **options)
    return output.getvalue()


@pytest.mark.parametrize("window", [1, 2, 100])
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", b""),
        (b"ab\ncd\nef\n", b"AB\tba\nCD\tdc\nEF\tfe\n"),
        (b"ab", b"AB\tba\n"),
        (b"\n\nab\n\n", b"\t\n\t\nAB\tba\n\t\n"),
        (b"ab\r\ncd\r\n", b"AB\tba\nCD\tdc\n"),
        (b"\xff\n", "\ufffd\t\ufffd\n".encode()),
    ],
)
def test_a_line_for_each_line(window, data, expected):
    assert translated(data, window) == expected


def test_scores_come_before_their_translations():
    assert translated(b"ab\n", with_scores=True) == b"-1.2500\tAB\t-2.5000\tba\n"


def test_what_a_translation_holds_breaks_neither_line_nor_field():
    def break_lines(lines, **options):
        return [[Translation("a\nb\tc\r\n d\u2028e", 0.0), Translation("x", 0.0)] for _ in lines]

    assert translated(b"1\n2\n", function=break_lines) == b"a b c d e\tx\n" * 2


def test_each_window_is_written_before_the_next_is_read():
    """What a pipe needs: no line waits for one that comes later."""
    output, windows = io.BytesIO(), []

    def lines():
        for number in range(5):
            windows.append((number, output.getvalue().count(b"\n")))
            yield b"line\n"

    translate_stream(shout, lines(), output, window=2)
    assert windows == [(0, 0), (1, 0), (2, 2), (3, 2), (4, 4)]
    assert output.getvalue().count(b"\n") == 5


def test_progress_is_shown_of_windows_and_not_to_a_person_who_types():
    seen = []

    def watch(lines, progress, **options):
        seen.append(progress)
        return shout(lines)

    for window in (1, 8):
        translated(b"ab\ncd\n", window, watch)
    assert seen == [False, False, True]


def test_what_is_there_is_translated_when_the_input_pauses():
    output, batches = io.BytesIO(), []

    def watched(lines, progress=False, **options):
        batches.append((lines, progress))
        return shout(lines)

    lines = [None, b"1", None, None, b"2", b"3", b"4", None, b"5"]
    translate_stream(watched, lines, output, window=2)
    assert batches == [([b"1"], False), ([b"2", b"3"], True), ([b"4"], False), ([b"5"], False)]
    assert output.getvalue().count(b"\n") == 5


def test_a_pipe_pauses():
    reader, writer = os.pipe()
    with open(reader, "rb") as stream:
        lines = lines_as_they_come(stream)
        assert next(lines) is None
        os.write(writer, b"one\n\nthr")
        assert [next(lines) for _ in range(3)] == [b"one", b"", None]
        os.write(writer, b"ee\nfo")
        os.write(writer, b"ur")
        os.close(writer)
        assert list(lines) == [b"three", b"four"]


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_file_does_not_pause(tmp_path, end):
    """Lines that are shorter and longer than what is read at once."""
    lines = [b"a" * length for length in (3, 0, 200_000, 1, 70_000)] * 20 + [b"b"]
    path = tmp_path / "lines"
    path.write_bytes(b"\n".join(lines) + end)
    with path.open("rb") as stream:
        assert list(lines_as_they_come(stream)) == lines
