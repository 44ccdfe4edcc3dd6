"""WordPiece of TFLite's own operations against TF Text's."""

import functools
import unicodedata

import numpy as np
import pytest
import tensorflow as tf
import thorough
from ai_edge_litert.interpreter import Interpreter
from hostile import HOSTILE, hostile_strings
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.export.tflite.bert_characters import LETTER, SIGN, SPACE, BertCharacters
from keras_transformer.export.tflite.tables import END
from keras_transformer.export.tflite.word_pieces import ByteWordPieces
from keras_transformer.text.wordpiece import SPECIAL, WordPieceTokenizer
from phrasebook import phrasebook

LINES = [
    *(line for pair in phrasebook("train", size=150) for line in pair),
    "Ёжик пьёт чай. Ὀδυσσεύς ἐστιν Ἕλλην. İstanbul\u2019da \u0131ş\u0131k. straße Ærø Øst",
    "שָׁלוֹם עולם مَرْحَبًا هندي हिन्दी भाषा ไทย 한국어 中国日本語 ひらがな カタカナ",
    "½ ﬁnal Ⅷ ﷺ \uff12\uff10\uff12\uff16 a\u0301 e\u0308 $5 + 3 = 8 < 9 | x^2 ~ y `z`",
    "“q” «r» … — \u2028 👩‍🚀 🇩🇪",
] * 2
CHARACTERS = sorted({*"".join(LINES)}) + [
    *"\0\t\n\x0b\x11\x1f\x7f\x85\xa0\xad\u0300\u0345\u1680\u200b\u200d\u2029\u202e\u3000\ufeff",
    *"\ufdfa\uf900\U0002f800\U00020000\u4dbf\u9fff\ua015\ue000\uffff\ufffd\U0010fffe\U0001d400",
]
both = pytest.mark.parametrize("lowercase", [True, False], ids=["uncased", "cased"])


@functools.cache
def functions(lowercase):
    """TF Text's, and the one that TFLite is given."""
    tokenizer = WordPieceTokenizer.train(LINES, 700, lowercase=lowercase, fit=True)
    # What no text is cut into: signs within, white space, and what the vocabulary marks pieces by.
    more = ["##", "##.", "a.b", "\u00e9\u4e2d", "##\u4e2d", "\u4e2d", "\ufffd", "ss", "x" * 90]
    pieces = [*tokenizer.pieces, *(piece for piece in more if piece not in tokenizer.pieces)]
    return functions_of(WordPieceTokenizer(pieces, lowercase))


def functions_of(tokenizer):
    function = tf.function(
        ByteWordPieces(tokenizer).tokenize, [tf.TensorSpec([None], tf.int32)], autograph=False
    )
    concrete = function.get_concrete_function()
    content = tf.lite.TFLiteConverter.from_concrete_functions([concrete], tf.Module()).convert()
    run = Interpreter(model_content=content, num_threads=1).get_signature_runner()
    [given], [output] = run.get_input_details(), run.get_output_details()
    return (
        lambda text: tokenizer.tokenize([text]).to_list()[0] + [tokenizer.sep_id],
        lambda text: run(**{given: np.array([*text, 0], np.int32)})[output].tolist(),
    )


def check(lowercase, text):
    expected, found = functions(lowercase)
    assert found(text) == expected(text), text


@both
@settings(max_examples=thorough.number(100, 20_000), deadline=None, derandomize=True)
@given(string=hostile_strings())
def test_any_string(lowercase, string):
    check(lowercase, string[:600])


def broken():
    """Characters of the vocabulary and odd ones, in words, of which a byte may be lost."""
    letters = st.sampled_from(CHARACTERS)
    word = st.one_of(st.sampled_from("\n".join(LINES).split()), st.text(letters, max_size=6))
    between = st.sampled_from(["", " ", ".", "\u0301", "中"])
    joined = st.tuples(st.lists(word, max_size=8), between).map(lambda x: x[1].join(x[0]).encode())
    return st.tuples(joined, st.integers(0, 200)).map(lambda x: x[0][: x[1]] + x[0][x[1] + 1 :])


@both
@settings(max_examples=thorough.number(250, 20_000), deadline=None, derandomize=True)
@given(string=broken())
def test_words_of_many_scripts(lowercase, string):
    check(lowercase, string)


@both
def test_chosen_strings(lowercase):
    for string in [*HOSTILE, *(line.encode() for line in LINES[:20] + LINES[-3:])]:
        check(lowercase, string)
    expected, found = functions(lowercase)
    # The words are known, but for one.
    assert expected(LINES[0].encode()).count(1) == 0 < len(found(LINES[0].encode())) - 1
    for text in ("##", "###a", "a##b", "a.b", "[MASK] [UNK]", "\u4e2d\u4e2da\u4e2d", "\ufffd\xff"):
        check(lowercase, text.encode())


@both
def test_long_words(lowercase):
    """One of a hundred bytes is the longest; what is made of pieces but longer is unknown."""
    for character in ("x", "a", "\u00e9", "\u0436", "\u4e2d", "\ud55c", "\U0001f469"):
        size = len(character.encode())
        for count in (*range(100 // size - 2, 100 // size + 3), 90, 190, 400):
            check(lowercase, f"a {character * count}. b".encode())
            check(lowercase, f"{character * count}a".encode())


@both
def test_malformed_bytes_at_every_place(lowercase):
    for character in ("\u00e4", "\u4e2d", "\U0001f600"):
        encoded = character.encode()
        for cut in range(1, len(encoded)):
            first, rest = encoded[:cut], encoded[cut:]
            check(lowercase, b"a" + first + b"b " + rest + b"c." + first)
            # What parts the bytes goes away, or becomes a space.
            for between in ("\u0301", "\u00ad", "\0", "\u200b", "A"):
                check(lowercase, b"a" + first + between.encode() + rest + b" a")
    check(lowercase, b"\xc0\x80\xc1\xbf\xc2\x80\xe0\x9f\xbf\xe0\xa0\x80\xf0\x8f\xbf\xbf\xf8\x88")


def test_no_piece_goes_on():
    expected, found = functions_of(WordPieceTokenizer([*SPECIAL, "the", "cat"], lowercase=True))
    for text in (b"The cat", b"the cats", b"", b"thecat", b"."):
        assert found(text) == expected(text)


def test_characters_are_those_of_unicode():
    """As Python knows them, of the scripts that all versions have alike."""
    cased, uncased = BertCharacters(lowercase=False), BertCharacters(lowercase=True)
    text = "".join(character for character in "".join(LINES) if ord(character) < 0x3000)
    codes = cased.read(tf.constant([*text.encode(), 0]))[0].numpy()
    controls = [one if unicodedata.category(one) not in ("Cc", "Cf") else " " for one in text]
    assert codes.tolist() == [*map(ord, controls), END]
    kinds = cased.kinds(tf.constant(codes[:-1])).numpy()
    for character, kind in zip(controls, kinds, strict=True):
        sign = unicodedata.category(character)[0] == "P" or character in "$+<=>^`|~"
        assert kind == (SPACE if character.isspace() else SIGN if sign else LETTER), character
    folded = unicodedata.normalize("NFD", "Ёжик pierde İ Straße Ὀδυσσεύς".casefold())
    expected = "".join(one for one in folded if unicodedata.category(one) != "Mn")
    codes, sizes = uncased.read(tf.constant([*"Ёжик pierde İ Straße Ὀδυσσεύς".encode(), 0]))
    assert "".join(map(chr, codes.numpy()[:-1])) == expected
    assert sizes.numpy().tolist() == [*(len(one.encode()) for one in expected), 1]


@thorough.only
@both
def test_every_character(lowercase):
    """Each between letters, which a space, a sign and a letter leave otherwise."""
    for first in range(0, END, 100):
        codes = range(first, min(first + 100, END))
        codes = (code for code in codes if not 0xD800 <= code < 0xE000)
        check(lowercase, "".join(f" a{chr(code)}a {chr(code)}" for code in codes).encode())
