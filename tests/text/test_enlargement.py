"""An enlarged vocabulary: the old pieces where they were, and new ones within reach."""

import itertools
from collections import Counter

import numpy as np
import pytest
import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from keras_transformer.text.enlargement import cut_new_pieces, enlarge_sentencepiece
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.training import train_sentencepiece
from phrasebook import phrasebook

OLD_SIZE, NEW_SIZE = 300, 500
GEORGIAN = [
    "კატა ზის სახლში",
    "ძაღლი ზის ბაღში",
    "კატა ხედავს ძაღლს 1234",
    "კატის ბაღი (დიდი) არის.",
]


@pytest.fixture(scope="module")
def english():
    return [source for source, _ in phrasebook("train", size=400)]


@pytest.fixture(scope="module")
def german():
    return [target for _, target in phrasebook("train", size=400)]


@pytest.fixture(scope="module")
def old(english):
    return train_sentencepiece(english, OLD_SIZE)


@pytest.fixture(scope="module")
def new(old, german):
    return enlarge_sentencepiece(old, german + GEORGIAN * 20, NEW_SIZE)


def processor(model, **options):
    return sentencepiece.SentencePieceProcessor(model_proto=model, **options)


def pieces_of(model):
    found = processor(model)
    return found.id_to_piece(list(range(found.get_piece_size())))


def test_old_pieces_keep_their_ids(old, new):
    pieces = pieces_of(new)
    assert pieces[:OLD_SIZE] == pieces_of(old)
    assert len(pieces) == len(set(pieces)) == NEW_SIZE
    scores = [processor(new).get_score(i) for i in range(NEW_SIZE)]
    assert max(scores[OLD_SIZE:]) < min(scores[:OLD_SIZE])
    assert np.all(np.diff(scores[OLD_SIZE:]) < 0)


def test_unknown_characters_get_pieces(old, new):
    for line in GEORGIAN:
        assert processor(old).unk_id() in processor(old).encode(line)
        assert processor(new).unk_id() not in processor(new).encode(line)
        assert processor(new).decode(processor(new).encode(line)) == line


def test_every_new_piece_is_what_its_own_text_becomes(new):
    """None is out of reach of the merges, the fate of pieces from a vocabulary learned apart."""
    proto = sentencepiece_model_pb2.ModelProto.FromString(new)
    # The space that begins a text is not part of a piece from within a word.
    proto.normalizer_spec.add_dummy_prefix = False
    proto.normalizer_spec.remove_extra_whitespaces = False
    plain = processor(proto.SerializeToString())
    for piece in pieces_of(new)[OLD_SIZE:]:
        assert plain.encode(piece.replace("▁", " "), out_type=str) == [piece]


def merged(symbols, pair):
    """Joins a pair of symbols wherever it occurs, from left to right."""
    i, symbols = 0, list(symbols)
    while i < len(symbols) - 1:
        if (symbols[i], symbols[i + 1]) == pair:
            symbols[i : i + 2] = ["".join(pair)]
        i += 1
    return symbols


def test_new_merges_go_on_from_the_old_pieces(old, german):
    """Byte-pair encoding by definition, on words that begin as the old vocabulary cuts them."""
    cut = {
        word: processor(old).encode(word, out_type=str) for line in german for word in line.split()
    }
    in_two = next(word for word, pieces in cut.items() if word.isascii() and len(pieces) == 2)
    words = {tuple(cut[in_two]): 40}
    words |= {("▁", *word): n for word, n in {"აბგ": 7, "ზაბ": 4, "ბგდ": 10, "აბგდ": 1}.items()}
    lines = [line for word, n in words.items() for line in ["".join(word).replace("▁", " ")] * n]
    expected = []
    for _ in range(6):
        counts = Counter()
        for word, n in words.items():
            for pair in itertools.pairwise(word):
                counts[pair] += n
        (best, most), (_, next_most) = counts.most_common(2)
        assert most > next_most, "the order of a tie is not defined"
        expected.append("".join(best))
        words = {tuple(merged(word, best)): n for word, n in words.items()}
    found = pieces_of(enlarge_sentencepiece(old, lines, OLD_SIZE + len("აბგდზ") + 6))[OLD_SIZE:]
    assert set(found[:5]) == set("აბგდზ")
    assert found[5:] == expected == ["▁" + in_two, "ბგ", "ბგდ", "▁ბგდ", "▁ა", "▁აბგ"]


def test_words_take_fewer_pieces_and_old_text_stays(old, new, english, german):
    def count(model, lines):
        return sum(map(len, processor(model).encode(lines)))

    assert count(new, german) < 0.75 * count(old, german)
    cut_as_before = [processor(old).encode(line) == processor(new).encode(line) for line in english]
    assert np.mean(cut_as_before) > 0.5
    assert count(new, english) <= count(old, english)


def test_in_graph_tokenizer_agrees(new, english, german):
    tokenizer, lines = SubwordTokenizer(new), [*english[:100], *german[:100], *GEORGIAN, "", "日本"]
    ids = tokenizer.tokenize(lines)
    assert ids.to_list() == processor(new).encode(lines, add_eos=True)
    normalized = processor(new).decode(processor(new).encode(lines))
    assert [text.decode() for text in tokenizer.detokenize(ids).numpy()] == normalized
    assert normalized[:-1] == lines[:-1]


def test_letters_digits_and_signs_stay_apart(new):
    for piece in pieces_of(new)[OLD_SIZE:]:
        text = piece.lstrip("▁")
        assert text.isalpha() or not any(map(str.isalpha, text)), piece
        assert text.isdecimal() or not any(map(str.isdecimal, text)), piece


def test_parts_of_new_pieces_spell_them(old, new):
    parts = cut_new_pieces(old, new)
    assert list(parts) == list(range(OLD_SIZE, NEW_SIZE))
    old_pieces, new_pieces, unknown = pieces_of(old), pieces_of(new), 0
    for number, ids in parts.items():
        if processor(old).unk_id() in ids:
            unknown += 1
            assert not set(new_pieces[number].lstrip("▁")) <= set("".join(old_pieces))
        else:
            assert "".join(old_pieces[i] for i in ids) == new_pieces[number]
            assert len(ids) > 1
    assert 0 < unknown < len(parts)
    assert cut_new_pieces(old, old) == {}


def test_same_arguments_same_model(old, german):
    assert enlarge_sentencepiece(old, german, 350) == enlarge_sentencepiece(old, german, 350)


def test_bytes_are_not_merged(english):
    """An old vocabulary that spells unknown characters in bytes gets characters all the same."""
    old = train_sentencepiece(english, 600, byte_fallback=True)
    new = enlarge_sentencepiece(old, GEORGIAN, 640)
    fresh = pieces_of(new)[600:]
    assert "კ" in fresh
    assert not [piece for piece in fresh if "<0x" in piece]
    assert processor(new).encode("日") == processor(old).encode("日")


def test_lines_with_nul_are_learned_from(old):
    """As in SentencePiece's training: it ends a word, and is no character."""
    line, size = "ტყვია", OLD_SIZE + 9
    enlarged = enlarge_sentencepiece(old, [f"{line}\0{line}"] * 50, size)
    fresh = pieces_of(enlarged)[OLD_SIZE:]
    assert {*line} < {*fresh}
    assert not [piece for piece in fresh if "\0" in piece or f"{line}{line[0]}" in piece]
    trained = train_sentencepiece([f"{line}\0{line}"] * 50, 20)
    assert not [piece for piece in pieces_of(trained) if "\0" in piece or line + line[0] in piece]


def test_what_cannot_be_enlarged(old, english):
    with pytest.raises(ValueError, match=r"larger than that of `model`, 300. Received: vocab_si"):
        enlarge_sentencepiece(old, GEORGIAN, OLD_SIZE)
    with pytest.raises(ValueError, match=r"larger than the \d+ pieces that `model` and `lines`"):
        enlarge_sentencepiece(old, GEORGIAN, 5000)
    with pytest.raises(
        ValueError, match=r"smaller than the 3\d\d pieces that `model` and the char"
    ):
        enlarge_sentencepiece(old, GEORGIAN, OLD_SIZE + 5)
    with pytest.raises(ValueError, match="`lines` must hold at least one line of text"):
        enlarge_sentencepiece(old, [" "], NEW_SIZE)
    unigram = train_sentencepiece(english, 200, algorithm="unigram")
    with pytest.raises(ValueError, match="must be a BPE vocabulary to be enlarged"):
        enlarge_sentencepiece(unigram, GEORGIAN, NEW_SIZE)
    with pytest.raises(ValueError, match="`new` must begin with the pieces of `old`"):
        cut_new_pieces(unigram, old)
