"""Vocabulary training: special ids, determinism, bounded memory and every error."""

import numpy as np
import pytest
import sentencepiece

from keras_transformer.text.training import train_sentencepiece
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID

LINES = ["the cat sat on the mat", "a dog ran in the park", "", "the park is far"]


def processor(model):
    return sentencepiece.SentencePieceProcessor(model_proto=model)


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_special_ids_and_size(algorithm):
    trained = processor(train_sentencepiece(LINES, 24, algorithm=algorithm))
    ids = (trained.pad_id(), trained.unk_id(), trained.bos_id(), trained.eos_id())
    assert ids == (PAD_ID, UNK_ID, BOS_ID, EOS_ID) == (0, 1, 2, 3)
    assert trained.get_piece_size() == 24


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_same_seed_gives_the_same_bytes(algorithm):
    options = {"algorithm": algorithm, "max_sentences": 10}
    many = [f"{line} {word}" for line in LINES for word in ("now", "then", "here", "there")]
    first = train_sentencepiece(many, 24, seed=1, **options)
    assert train_sentencepiece(iter(many), 24, seed=1, **options) == first
    assert train_sentencepiece(many, 24, seed=2, **options) != first


def test_no_more_than_max_sentences_are_used():
    lines = ["abc abd"] * 1000 + ["xyz"] * 1000
    pieces = processor(train_sentencepiece(lines[:1000], 9, max_sentences=5))
    assert pieces.get_piece_size() == 9
    read = 0

    def stream():
        nonlocal read
        for read, line in enumerate(lines, 1):  # noqa: B007
            yield line

    train_sentencepiece(stream(), 12, max_sentences=200)
    assert read == 2000, "a sample of the first lines only would miss a second language"


def test_byte_fallback_leaves_no_character_unknown():
    trained = processor(train_sentencepiece(LINES, 300, byte_fallback=True))
    ids = trained.encode("Ω 🙂")
    assert UNK_ID not in ids
    assert trained.decode(ids) == "Ω 🙂"


@pytest.mark.parametrize("lines", [[], ["", "  ", "\t\n"]])
def test_lines_without_text(lines):
    with pytest.raises(ValueError, match=r"`lines` must hold at least one line.*Received: none"):
        train_sentencepiece(lines, 24)


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_vocabulary_larger_than_the_text_supports(algorithm):
    with pytest.raises(ValueError, match=r"larger than the (\d+) pieces.*vocab_size=5000") as error:
        train_sentencepiece(LINES, 5000, algorithm=algorithm)
    largest = int(str(error.value).split("than the ")[1].split()[0])
    trained = processor(train_sentencepiece(LINES, largest, algorithm=algorithm))
    assert trained.get_piece_size() == largest


def test_vocabulary_smaller_than_the_characters():
    with pytest.raises(ValueError, match=r"smaller than the (\d+) pieces.*vocab_size=6") as error:
        train_sentencepiece(LINES, 6)
    smallest = int(str(error.value).split("than the ")[1].split()[0])
    assert processor(train_sentencepiece(LINES, smallest)).get_piece_size() == smallest


def bounds(lines):
    """The most pieces that lines support and the fewest that they need, as the errors tell them."""
    found = []
    for size, words in ((5000, "larger than the "), (6, "smaller than the ")):
        with pytest.raises(ValueError, match=words) as error:
            train_sentencepiece(lines, size)
        found.append(int(str(error.value).split(words)[1].split()[0]))
    return found


def test_a_vocabulary_is_fitted_to_the_text(capsys):
    lines = LINES * 3
    largest, smallest = bounds(lines)
    assert 2 * smallest < largest
    for size, expected, bound in (
        (5000, largest // 2, f"supports {largest}"),
        (largest + 1, largest // 2, f"supports {largest}"),
        (6, 2 * smallest, f"needs at least {smallest}"),
    ):
        assert train_sentencepiece(lines, size, fit=True) == train_sentencepiece(lines, expected)
        said = f"A vocabulary of {expected} pieces in place of {size:,}: the text {bound}\n"
        assert capsys.readouterr().out == said
    for size in (smallest, largest):
        assert train_sentencepiece(lines, size, fit=True) == train_sentencepiece(lines, size)
    assert not capsys.readouterr().out


def test_a_text_of_many_characters_is_fitted_too():
    """Half of what it supports would be less than its characters need."""
    lines = [chr(0x4E00 + index) for index in range(300)]
    largest, smallest = bounds(lines)
    assert largest // 2 < smallest
    for size in (6, 9000):
        pieces = processor(train_sentencepiece(lines, size, fit=True)).get_piece_size()
        assert pieces == (smallest + largest) // 2


def test_another_error_is_not_fitted():
    with pytest.raises(ValueError, match="at least one line"):
        train_sentencepiece([], 24, fit=True)


@pytest.mark.parametrize("vocab_size", [0, 2, 4])
def test_vocabulary_without_room_for_the_special_ids(vocab_size):
    with pytest.raises(ValueError, match=rf"`vocab_size`.*Received: vocab_size={vocab_size}"):
        train_sentencepiece(LINES, vocab_size)


def test_unknown_algorithm():
    with pytest.raises(ValueError, match=r"`algorithm` must be one of .*Received: 'wordpiece'"):
        train_sentencepiece(LINES, 24, algorithm="wordpiece")


def test_accepts_numpy_sizes():
    assert train_sentencepiece(LINES, np.int64(24)) == train_sentencepiece(LINES, 24)


LONG = "a dog " * 700  # 4,200 bytes.


def test_lines_that_are_left_out_are_counted(capsys):
    lines = [*LINES, LONG, LONG[:4000], LONG, "a \u2585 dog"]
    left_in = train_sentencepiece([*LINES, LONG[:4000]], 24)
    assert capsys.readouterr().out == ""
    assert train_sentencepiece(lines, 24) == left_in
    said = capsys.readouterr().out
    assert "2 of more than 4,192 bytes (split them into sentences)" in said
    assert "1 with U+2585" in said


def test_all_lines_left_out():
    with pytest.raises(
        ValueError, match=r"at least one line.*none; left out: 2 of more than 4,192"
    ):
        train_sentencepiece([LONG] * 2, 24)


@pytest.mark.parametrize("repeats", [10, 1000])
def test_line_ends_that_are_carriage_returns(repeats):
    """A file of them is one line, which may be too long or too little."""
    with pytest.raises(ValueError, match=r"carriage returns.*convert the file: tr '\\r' '\\n'"):
        train_sentencepiece(["a dog ran\r" * repeats], 500)


def test_a_bare_string_is_no_corpus():
    with pytest.raises(ValueError, match=r"`lines` must be lines, not one string.*'corpus.txt'"):
        train_sentencepiece("corpus.txt", 24)


def test_unknown_normalization():
    with pytest.raises(ValueError, match=r"`normalization` must be one of .*Received: 'nfd'"):
        train_sentencepiece(LINES, 24, normalization="nfd")


def test_what_the_normalization_changes_is_said(capsys):
    lines = [*LINES, "x\u00b2 and y\u00b2", "wait\u2026"]
    train_sentencepiece(lines, 34, normalization="nmt_nfkc")
    said = capsys.readouterr().out
    # Two of the five lines with text.
    assert "nmt_nfkc changes 40.00% of the lines" in said
    assert "U+00B2 SUPERSCRIPT TWO (2)" in said
    assert "U+2026 HORIZONTAL ELLIPSIS (1)" in said
    train_sentencepiece(lines, 34, normalization="nmt_nfc")
    assert capsys.readouterr().out == ""
