"""The tokenizer of TFLite's own operations against the SentencePiece library."""

import functools
import re

import numpy as np
import pytest
import sentencepiece
import tensorflow as tf
import thorough
from ai_edge_litert.interpreter import Interpreter
from hostile import BLANK, HOSTILE, hostile_strings
from hypothesis import given, settings
from hypothesis import strategies as st
from sentencepiece import sentencepiece_model_pb2

from keras_transformer.data.corpora import open_corpus
from keras_transformer.export.tflite.byte_tokenizer import ByteTokenizer
from keras_transformer.text.invisible import shows_nothing
from keras_transformer.text.normalization import nmt_nfc_rules
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import EOS_ID

MAX_BYTES = 2048
# Each algorithm, normalization and fallback is in one of them, and each algorithm in two.
VOCABULARIES = [
    ("bpe", "nmt_nfc", False),
    ("unigram", "nmt_nfkc", False),
    ("bpe", "nfkc", True),
    ("unigram", "identity", True),
]
every_vocabulary = pytest.mark.parametrize("vocabulary", VOCABULARIES, ids=str)


@functools.cache
def tokenizers(vocabulary):
    """The library, and the functions that TFLite is given."""
    algorithm, normalization, byte_fallback = vocabulary
    lines = [line for pair in open_corpus("phrasebook:train:400", "en", "de") for line in pair]
    options = dict(algorithm=algorithm, normalization=normalization, byte_fallback=byte_fallback)
    return functions_of(SubwordTokenizer.train(lines, 600, **options))


def functions_of(tokenizer):
    lite = ByteTokenizer(tokenizer, MAX_BYTES)
    library = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    return library, in_tflite(lite.tokenize), in_tflite(lite.detokenize)


def in_tflite(function):
    """Converts a function of a vector, for TFLite's kernels are what it is written for."""
    converted = tf.function(function, [tf.TensorSpec([None], tf.int32, "x")], autograph=False)
    concrete = converted.get_concrete_function()
    content = tf.lite.TFLiteConverter.from_concrete_functions([concrete], tf.Module()).convert()
    interpreter = Interpreter(model_content=content, num_threads=1)
    run = interpreter.get_signature_runner()
    [output] = run.get_output_details()
    return lambda x: run(x=np.array(x, np.int32))[output].tolist()


def expected_ids(library, string):
    """What the library makes of a string that shows something, its line breaks being spaces."""
    text = string.decode("utf-8", "surrogateescape")
    if shows_nothing(text):
        return [EOS_ID]
    line = re.sub("[\n-\r\u0085\u2028\u2029]", " ", text)
    return [*library.encode(line.encode("utf-8", "surrogateescape")), EOS_ID]


def ids_of(tokenize, string):
    return tokenize([*string, 0])


def check(functions, string):
    library, tokenize, detokenize = functions
    ids = ids_of(tokenize, string)
    assert ids == expected_ids(library, string)
    check_joined(library, detokenize, ids[:-1])


def check_joined(library, detokenize, ids):
    assert bytes(detokenize([*ids, EOS_ID])) == library.decode(ids).encode() + b"\0"


def spelled_by_rules():
    """Characters that rules put others in place of, in any order."""
    spelled = st.sampled_from(sorted(nmt_nfc_rules()))
    return st.lists(st.one_of(spelled, st.sampled_from("e \u0301\ufdfa\uff76")), max_size=9)


@every_vocabulary
@settings(max_examples=thorough.number(60, 5_000), deadline=None, derandomize=True)
@given(string=hostile_strings())
def test_any_string(vocabulary, string):
    check(tokenizers(vocabulary), string[: MAX_BYTES // 8])


@every_vocabulary
@settings(max_examples=thorough.number(30, 2_000), deadline=None, derandomize=True)
@given(characters=spelled_by_rules())
def test_characters_that_are_normalized(vocabulary, characters):
    check(tokenizers(vocabulary), "".join(characters).encode())


@every_vocabulary
def test_chosen_strings(vocabulary):
    for string in HOSTILE:
        check(tokenizers(vocabulary), string)


@every_vocabulary
def test_text_of_its_language(vocabulary):
    for string in [line for line, _ in open_corpus("phrasebook:test", "en", "de")][:20]:
        check(tokenizers(vocabulary), string.encode())


@every_vocabulary
@settings(max_examples=thorough.number(30, 2_000), deadline=None, derandomize=True)
@given(data=st.data())
def test_any_ids(vocabulary, data):
    """Bytes that are no character, unk, and spaces by themselves are joined as well."""
    library, _, detokenize = tokenizers(vocabulary)
    one = st.one_of(st.integers(0, 263), st.integers(0, library.get_piece_size() - 1))
    check_joined(library, detokenize, data.draw(st.lists(one, max_size=12)))


def test_no_character_reaches_over_a_piece_without_text():
    library, _, detokenize = tokenizers(VOCABULARIES[2])
    first, second, space = (library.piece_to_id(one) for one in ("<0xD0>", "<0x82>", "\u2581"))
    for between in ([], [0], [2, EOS_ID]):
        check_joined(library, detokenize, [space, first, *between, second, 0])


def test_blank_is_nothing():
    for string in BLANK:
        assert ids_of(tokenizers(VOCABULARIES[0])[1], string) == [EOS_ID]


def test_malformed_bytes_at_every_place():
    """Each byte of a character missing, and each byte alone."""
    functions = tokenizers(VOCABULARIES[2])
    for character in ("\u00e4", "\u20ac", "\U0001f600"):
        encoded = character.encode()
        for cut in range(1, len(encoded)):
            check(functions, b"a" + encoded[:cut] + b"b" + encoded[cut:] + b"c" + encoded[:cut])
    for string in (b"\xed\x9f\xbf\xed\xa0\x80\xee\x80\x80", b"\xf4\x8f\xbf\xbf\xf4\x90\x80\x80"):
        check(functions, string)
    check(functions, b"\xc0\x80\xc1\xbf\xc2\x80\xe0\x9f\xbf\xe0\xa0\x80\xf0\x8f\xbf\xbf\xf8\x88")


def test_equal_pairs_merge_from_the_left():
    """Three equal letters, of which any two are a piece."""
    functions = functions_of(SubwordTokenizer.train(["aa aa aa aa b"], 9))
    for length in range(12):
        check(functions, b"b" + b"a" * length + b" a aa")


def test_equal_sums_are_chosen_between_as_by_the_library():
    """Runs of one letter, in which pieces of any order have the same sum, but for rounding."""
    functions = functions_of(
        SubwordTokenizer.train(
            ["a aa aaa aaaa ab aab abab baa", "aaa abaab"], 14, algorithm="unigram"
        )
    )
    for length in range(40):
        check(functions, b"ab aab" * (length % 3) + b"a" * length + b"b" + b"a" * (length // 2))


def test_language_tags():
    tokenizer = SubwordTokenizer.train(["the dog sat", ">> << the cat"], 30)
    proto = sentencepiece_model_pb2.ModelProto.FromString(tokenizer.model)
    for tag in (">>fra<<", ">>de<<"):
        proto.pieces.add(piece=tag, score=0.0, type=proto.SentencePiece.Type.CONTROL)
    tokenizer = SubwordTokenizer(proto.SerializeToString())
    _, tokenize, _ = functions_of(tokenizer)
    lines = ["the dog", ">>fra<< the dog", ">>de<<the cat", ">>x<< the cat", ">>de<<", ">>de< dog"]
    lines += [">><< dog", "a >>de<< dog", ">>fra<<>>de<< dog", ">>>de<< dog", "<< >>", ">", ""]
    for line in lines:
        assert ids_of(tokenize, line.encode()) == tokenizer.tokenize([line]).to_list()[0], line


def keeps_white_space(proto):
    proto.normalizer_spec.remove_extra_whitespaces = False


def marks_ends(proto):
    proto.trainer_spec.treat_whitespace_as_suffix = True


def has_words(proto):
    proto.trainer_spec.model_type = proto.trainer_spec.WORD


def has_own_pieces(proto):
    proto.pieces[-1].type = proto.SentencePiece.Type.USER_DEFINED


def misses_a_letter(proto):
    [letter] = [piece for piece in proto.pieces if piece.piece == "t"]
    letter.type = proto.SentencePiece.Type.CONTROL


def has_equal_scores(proto):
    for piece in proto.pieces:
        piece.score = -1.0


@pytest.mark.parametrize(
    ("change", "received"),
    [
        (keeps_white_space, "a vocabulary that keeps white space"),
        (marks_ends, "one that marks the end of words"),
        (has_words, "one of words or characters"),
        (has_own_pieces, "one with pieces of the user's own"),
        (misses_a_letter, "one without 't'"),
        (has_equal_scores, "pieces of equal score"),
    ],
)
def test_what_cannot_be_followed(change, received):
    model = SubwordTokenizer.train(["the cat sat", "the dog ran"], 24).model
    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    change(proto)
    with pytest.raises(ValueError, match=f"`tokenizer` must.*Received: {received}"):
        ByteTokenizer(SubwordTokenizer(proto.SerializeToString()), MAX_BYTES)
