"""WordPiece: against its algorithm in Python, and the transformers package where it is there."""

import json
import unicodedata

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.text.wordpiece import SPECIAL, WordPieceTokenizer
from phrasebook import phrasebook

LINES = [english for english, _ in phrasebook("train", size=400)]
HARD = [
    "",
    "  The CATS, café's — naïve?!\n",
    "un\u200bbreakable \u00a0 a\tb",
    "中国dogs",
    "[MASK] [SEP] walks",
    "x" * 300 + " dog",
]


@pytest.fixture(scope="module")
def tokenizer():
    return WordPieceTokenizer.train(LINES, vocab_size=200)


def words_of(text):
    """BERT's basic tokenizer, lower-case."""
    text = unicodedata.normalize("NFD", text.casefold())
    words, word = [], ""
    for character in text:
        category = unicodedata.category(character)
        code = ord(character)
        if category == "Mn" or (category in ("Cc", "Cf") and character not in "\t\n\r"):
            continue
        ascii_sign = 33 <= code <= 126 and not character.isalnum()
        alone = ascii_sign or category.startswith("P") or 0x4E00 <= code <= 0x9FFF
        if alone or character.isspace():
            words += [word, character if alone else ""]
            word = ""
        else:
            word += character
    return [word for word in [*words, word] if word]


def ids_of(text, pieces):
    """The longest pieces from the left; a word that is not made of pieces is unknown."""
    ids = {piece: number for number, piece in enumerate(pieces)}
    found = []
    for word in words_of(text):
        cut, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            ends = (e for e in range(len(word), start, -1) if prefix + word[start:e] in ids)
            end = next(ends, None)
            if end is None or len(word) > 100:
                cut = [ids["[UNK]"]]
                break
            cut.append(ids[prefix + word[start:end]])
            start = end
        found += cut
    return found


def test_pieces_are_those_of_the_algorithm(tokenizer):
    texts = LINES[:50] + HARD
    expected = [ids_of(text, tokenizer.pieces) for text in texts]
    assert tokenizer.tokenize(texts).to_list() == expected
    assert any(1 in row for row in expected)
    assert any(len(row) > len(words_of(text)) for row, text in zip(expected, texts, strict=True))


def test_pieces_are_those_of_transformers(tokenizer, tmp_path):
    transformers = pytest.importorskip("transformers")
    tokenizer.save(tmp_path)
    theirs = transformers.BertTokenizer(str(tmp_path / "vocab.txt"), do_lower_case=True)
    texts = LINES + HARD[:4] + HARD[5:]
    expected = [theirs(text, add_special_tokens=False).input_ids for text in texts]
    assert tokenizer.tokenize(texts).to_list() == expected


def test_cased():
    pieces = [*SPECIAL, "The", "the", "É"]
    cased = WordPieceTokenizer(pieces, lowercase=False)
    assert cased.tokenize(["The the É é"]).to_list() == [[5, 6, 7, 1]]


def test_offsets_are_bytes_of_the_given_text(tokenizer):
    text = "Üben, the CATS"
    ids, starts, ends = tokenizer.tokenize_with_offsets([text])
    assert ids.to_list() == tokenizer.tokenize([text]).to_list()
    spans = [
        text.encode()[start:end].decode()
        for start, end in zip(starts[0].numpy(), ends[0].numpy(), strict=True)
    ]
    assert "".join(spans) == "Üben,theCATS"
    assert ends.dtype == tf.int64


def test_it_is_the_same_in_a_saved_model(tokenizer, tmp_path):
    class Cutter(tf.Module):
        def __init__(self):
            super().__init__()
            self.tokenizer = tokenizer

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def cut(self, text):
            ids = self.tokenizer.tokenize(text)
            return ids.to_tensor(), self.tokenizer.to_pieces(ids.to_tensor())

    tf.saved_model.save(Cutter(), tmp_path)
    ids, pieces = tf.saved_model.load(tmp_path).cut(tf.constant(LINES[:3]))
    np.testing.assert_array_equal(ids, tokenizer.tokenize(LINES[:3]).to_tensor())
    assert pieces[0, 0].numpy().decode() == tokenizer.pieces[ids[0, 0]]


def test_saved_and_read(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    found = WordPieceTokenizer.load(tmp_path / "vocab.txt")
    assert (found.pieces, found.lowercase) == (tokenizer.pieces, True)
    WordPieceTokenizer(tokenizer.pieces, lowercase=False).save(tmp_path)
    assert not WordPieceTokenizer.load(tmp_path / "vocab.txt").lowercase
    # Without its options, capital letters in pieces tell.
    (tmp_path / "tokenizer_config.json").unlink()
    assert WordPieceTokenizer.load(tmp_path / "vocab.txt").lowercase
    (tmp_path / "vocab.txt").write_text("\n".join([*SPECIAL, "The"]))
    assert not WordPieceTokenizer.load(tmp_path / "vocab.txt").lowercase


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"do_lower_case": True, "strip_accents": False}, r"\{'strip_accents': False\}"),
        ({"strip_accents": True}, r"do_lower_case, which is False.*\{'strip_accents': True\}"),
        ({"tokenize_chinese_chars": False}, r"\{'tokenize_chinese_chars': False\}"),
    ],
)
def test_options_that_are_not_followed(options, told, tmp_path):
    """Text gone through otherwise than a model was trained on would be other pieces, unnoticed."""
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join([*SPECIAL, "The"]))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(options))
    with pytest.raises(ValueError, match=rf"vocab\.txt: `options` must have .*{told}"):
        WordPieceTokenizer.load(path)
    same = {"do_lower_case": False, "strip_accents": None, "tokenize_chinese_chars": True}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(same))
    assert not WordPieceTokenizer.load(path).lowercase
    (tmp_path / "tokenizer_config.json").write_text("[]")
    with pytest.raises(ValueError, match=r"an object of JSON.*another in .*tokenizer_config\.json"):
        WordPieceTokenizer.load(path)


def test_training_is_exact_and_repeatable(tokenizer):
    assert tokenizer.vocab_size == 200
    assert tokenizer.pieces[:5] == list(SPECIAL)
    assert WordPieceTokenizer.train(iter(LINES), 200).pieces == tokenizer.pieces
    # Every character of the text is a piece, so no word of it is unknown.
    assert 1 not in tokenizer.tokenize(LINES).flat_values.numpy()


def test_a_size_that_text_does_not_give(capsys):
    with pytest.raises(ValueError, match=r"needs at least \d+, a piece or two.*vocab_size=8"):
        WordPieceTokenizer.train(LINES, 8)
    with pytest.raises(ValueError, match=r"gives at most [\d,]+\. Received: vocab_size=90000"):
        WordPieceTokenizer.train(LINES, 90_000)
    fitted = WordPieceTokenizer.train(LINES, 90_000, fit=True)
    assert 50 < fitted.vocab_size < 1000
    assert "in place of 90,000" in capsys.readouterr().out
    with pytest.raises(ValueError, match="at least one line of text"):
        WordPieceTokenizer.train(["", " "], 100)


@pytest.mark.parametrize(
    ("pieces", "told"),
    [
        (["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a"], r"none of \[MASK\]"),
        (["a", *SPECIAL], "'a' first"),
        ([*SPECIAL, "a", "a"], "'a' twice"),
        ([], r"none of \[PAD\]"),
    ],
)
def test_no_vocabulary_of_this_kind(pieces, told, tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(pieces))
    with pytest.raises(ValueError, match=told):
        WordPieceTokenizer.load(path)
