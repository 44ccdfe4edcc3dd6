"""A stream of lines: one line out for each line in, whatever the bytes are."""

import io

import pytest

from keras_transformer.translation.stream import translate_stream
from keras_transformer.translation.translator import Translation


def shout(lines, progress=False):
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
    def break_lines(lines, progress=False):
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

    def watch(lines, progress):
        seen.append(progress)
        return shout(lines)

    for window in (1, 8):
        translated(b"ab\n", window, watch)
    assert seen == [False, True]
