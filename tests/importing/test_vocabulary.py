"""Vocabularies whose ids are not SentencePiece's: in graph, saved, in TFLite; what they refuse."""

import keras
import pytest
import tensorflow as tf

from keras_transformer.export.tflite.byte_tokenizer import ByteTokenizer
from keras_transformer.export.tflite.string_tokenizer import LiteTokenizer
from keras_transformer.importing.vocabulary import Vocabulary
from keras_transformer.text.folder import load_tokenizers, save_tokenizers
from keras_transformer.text.tokenizer import SubwordTokenizer

THEIRS = ["</s>", "<unk>", "ß", "▁dog", "▁the", ">>deu<<", "s", "▁", "漢", "a", "<pad>"]
LINES = ["the dogs", "", ">>deu<< the dog", "the 漢 dog", ">>x<< dog", "xx"]
# Pad has no row of its own, bos is their padding, and the rest keeps its order.
IDS = {piece: number for number, piece in enumerate(THEIRS[2:-1], start=4)}
EXPECTED = [
    ["▁the", "▁dog", "s"],
    [],
    [">>deu<<", "▁the", "▁dog"],
    ["▁the", "▁", "漢", "▁dog"],
    ["<unk>", "▁dog"],
    ["▁", "<unk>"],
]


@pytest.fixture(scope="module")
def segmentation():
    """A model that cuts text, with other special ids, and without pieces that others know."""
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto()
    kinds = proto.SentencePiece.Type
    for piece, score, kind in (
        ("<unk>", 0.0, kinds.UNKNOWN),
        ("<s>", 0.0, kinds.CONTROL),
        ("</s>", 0.0, kinds.CONTROL),
        *((piece, -1.0, kinds.NORMAL) for piece in ("▁the", "▁dog", "s", "▁cat", "▁")),
        *((letter, -9.0, kinds.NORMAL) for letter in "abcdeghot"),
    ):
        proto.pieces.add(piece=piece, score=score, type=kind)
    proto.trainer_spec.model_type = proto.trainer_spec.UNIGRAM
    proto.normalizer_spec.name = "identity"
    return proto.SerializeToString()


@pytest.fixture(scope="module")
def tokenizer(segmentation):
    return Vocabulary.of(THEIRS, "<unk>", "</s>", pad=10, start=10).tokenizer(segmentation)


def ids_of(pieces):
    return [*({**IDS, "<unk>": 1}[piece] for piece in pieces), 3]


def test_pieces_are_looked_up_after_the_text_is_cut(tokenizer):
    """A character that the segmentation does not know may be in the vocabulary."""
    assert tokenizer.tokenize(LINES).to_list() == [ids_of(pieces) for pieces in EXPECTED]
    assert tokenizer.pieces[:6] == ["<pad>", "<unk>", "<s>", "</s>", "ß", "▁dog"]
    assert dict(tokenizer.tags) == {"deu": IDS[">>deu<<"]}


def test_text_of_pieces_that_the_segmentation_does_not_know(tokenizer):
    ids = [ids_of(["▁the", "▁dog", "ß", "漢", "▁"]), [2, 0, *ids_of(["s", "<unk>"])], [3, 9]]
    text = tokenizer.detokenize(tf.ragged.constant(ids, tf.int32)).numpy()
    assert [line.decode() for line in text] == ["the dogß漢", "s \u2047", ""]


def test_in_a_saved_model_and_after_a_new_seed(tokenizer, tmp_path):
    module = tf.Module()
    module.tokenizer = tokenizer
    module.ids = tf.function(
        lambda text: tokenizer.tokenize(text).to_tensor(0),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    expected = module.ids(tf.constant(LINES)).numpy()
    keras.utils.set_random_seed(1)
    assert (module.ids(tf.constant(LINES)).numpy() == expected).all()
    tf.saved_model.save(module, tmp_path / "module")
    loaded = tf.saved_model.load(tmp_path / "module")
    assert (loaded.ids(tf.constant(LINES)).numpy() == expected).all()


def test_in_files(tokenizer, tmp_path):
    save_tokenizers(tmp_path, (tokenizer, tokenizer))
    for again in load_tokenizers(tmp_path):
        assert (again.model, again.segmentation) == (tokenizer.model, tokenizer.segmentation)
        assert again.tokenize(LINES).to_list() == tokenizer.tokenize(LINES).to_list()


def test_what_cut_the_text_before_goes_with_its_vocabulary(tokenizer, tmp_path):
    ours = SubwordTokenizer.train(["the cat sat", "a dog"], 20)
    path = tmp_path / "source.model"
    tokenizer.save(path)
    ours.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["source.model"]
    assert SubwordTokenizer.load(path).segmentation is None


def test_a_model_that_is_called_as_what_cuts_text(tokenizer, tmp_path):
    ours = SubwordTokenizer.train(["the cat sat", "a dog"], 20)
    ours.save(tmp_path / "mine.spm")
    again = SubwordTokenizer.load(tmp_path / "mine.spm")
    assert (again.model, again.segmentation) == (ours.model, None)
    with pytest.raises(ValueError, match=r"must not end with \.spm"):
        tokenizer.save(tmp_path / "source.spm")


def test_in_tflite(tokenizer):
    lite = ByteTokenizer(tokenizer, max_bytes=64)
    for line, pieces in zip(LINES, EXPECTED, strict=True):
        assert lite.tokenize(tf.constant([*line.encode(), 0])).numpy().tolist() == ids_of(pieces)
    joined = lite.detokenize(tf.constant(ids_of(["▁", "▁the", "ß", "▁"]))).numpy()
    assert bytes(joined.tolist()).decode() == "theß\0"


def test_in_tflite_by_the_operations_of_tf_text(tokenizer, segmentation):
    """But for tags, which are refused, and for characters that the segmentation does not know."""
    with pytest.raises(ValueError, match=r"`tokenizer` must have no language tags.*: deu"):
        LiteTokenizer(tokenizer, max_length=16)
    untagged = [piece for piece in THEIRS if piece != ">>deu<<"]
    pad = untagged.index("<pad>")
    vocabulary = Vocabulary.of(untagged, "<unk>", "</s>", pad=pad, start=pad)
    lite = LiteTokenizer(vocabulary.tokenizer(segmentation), max_length=16)
    ids = {piece: number for number, piece in enumerate(untagged[2:-1], start=4)} | {"</s>": 3}
    for line, pieces in zip(LINES[:2], EXPECTED, strict=False):
        expected = [ids[piece] for piece in (*pieces, "</s>")]
        assert lite.tokenize(tf.constant([line])).numpy().tolist() == expected
    joined = lite.detokenize(tf.constant([ids["▁the"], ids["ß"]])).numpy()
    assert joined[0].decode() == "theß"


def test_no_pieces_are_drawn(tokenizer):
    with pytest.raises(ValueError, match="`dropout` must be 0 for a vocabulary of another toolkit"):
        tokenizer.tokenize_sampled(["the dog"], 0.1, seed=0)


def test_a_vocabulary_of_ours_stays_one():
    """Without a look-up: it may grow, and have its pieces drawn."""
    ours = SubwordTokenizer.train(["the cat sat", "a dog"], 20)
    vocabulary = Vocabulary.of(ours.pieces, "<unk>", "</s>", pad=0, start=2)
    assert vocabulary.rows == tuple(range(20))
    again = vocabulary.tokenizer(ours.model)
    assert (again.model, again.segmentation) == (ours.model, None)


@pytest.mark.parametrize(
    ("special", "pieces", "rows"),
    [
        (dict(), ["<<pad>>", "<unk>", "<<s>>", "</s>"], [None, 1, None, 0]),
        (dict(pad=3, start=3), ["<pad>", "<unk>", "<<s>>", "</s>"], [None, 1, 3, 0]),
        (dict(pad=3, start=2), ["<pad>", "<unk>", "<s>", "</s>"], [3, 1, 2, 0]),
        (dict(pad=3, start=0), ["<pad>", "<unk>", "<</s>>", "</s>"], [3, 1, 0, 0]),
    ],
    ids=str,
)
def test_special_pieces(special, pieces, rows):
    """Wherever they are, no two of ours have the same name."""
    theirs = ["</s>", "<unk>", "<s>", "<pad>", "a"]
    vocabulary = Vocabulary.of(theirs, "<unk>", "</s>", **special)
    assert list(vocabulary.pieces[:4]) == pieces
    assert list(vocabulary.rows[:4]) == rows
    assert len({*vocabulary.pieces}) == len(vocabulary.pieces)
    assert {*range(5)} == {row for row in vocabulary.rows if row is not None}
