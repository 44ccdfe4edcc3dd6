"""SentencePiece in WordPiece's place: the pieces of translation, and one for what is hidden."""

import numpy as np
import pytest

from keras_transformer.text.folder import load_tokenizers, save_tokenizers
from keras_transformer.text.subword_pieces import SubwordPieces
from keras_transformer.text.tokenizer import SubwordTokenizer
from phrasebook import phrasebook

LINES = [english for english, _ in phrasebook("train", size=400)]


@pytest.fixture(scope="module")
def pieces():
    return SubwordPieces.train(LINES, vocab_size=200)


def test_ids_are_those_of_sentencepiece_without_an_end(pieces):
    texts = [*LINES[:20], "", "Ünbekannt [MASK]"]
    whole = SubwordTokenizer(pieces.model).tokenize(texts).to_list()
    found = pieces.tokenize(texts).to_list()
    assert [[*row, 3] for row in found] == whole
    # The piece for what is hidden comes from no text.
    assert pieces.pieces[pieces.mask_id] == "[MASK]"
    assert all(pieces.mask_id not in row for row in found)
    assert pieces.vocab_size == 200
    assert pieces.special_ids == [0, 1, 2, 3, pieces.mask_id]


def test_words_and_their_places(pieces):
    text = LINES[0]
    ids, starts, ends = pieces.tokenize_with_offsets([text])
    spans = [text.encode()[a:b].decode() for a, b in zip(starts[0], ends[0], strict=True)]
    assert "".join(spans) == text
    assert pieces.begins_word[ids[0].numpy()].sum() == len(text.split())
    assert pieces.detokenize(np.array([[2, *ids[0].numpy(), 0]])) == [f"<s> {text}"]


def test_saved_and_read(pieces, tmp_path):
    save_tokenizers(tmp_path, (pieces, pieces))
    one, other = load_tokenizers(tmp_path)
    assert one is other
    assert one.pieces == pieces.pieces
    assert one.tokenize(LINES[:3]).to_list() == pieces.tokenize(LINES[:3]).to_list()


def test_a_vocabulary_for_translation_is_none():
    with pytest.raises(ValueError, match=r"`model` must have a piece \[MASK\]"):
        SubwordPieces(SubwordTokenizer.train(LINES, vocab_size=100).model)
