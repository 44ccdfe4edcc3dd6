"""The in-graph tokenizer against the SentencePiece library, on hostile input and after export."""

import os
import subprocess
import sys
import unicodedata

import keras
import numpy as np
import pytest
import sentencepiece
import tensorflow as tf

from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID

SCRIPTS = {
    "english": "The quick brown fox jumps over the lazy dog, again and again.",
    "german": "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.",
    "french": "Portez ce vieux whisky au juge blond qui fume à Noël.",
    "vietnamese": "Tiếng Việt có nhiều dấu thanh.",
    "russian": "Съешь же ещё этих мягких французских булок.",
    "greek": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.",
    "arabic": "نص حكيم له سر قاطع وذو شأن عظيم",
    "hebrew": "דג סקרן שט בים מאוכזב ולפתע מצא חברה",
    "hindi": "ऋषियों को सताने वाले दुष्ट राक्षसों",
    "thai": "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า",
    "chinese": "天地玄黄 宇宙洪荒",
    "japanese": "いろはにほへと ちりぬるを カタカナ",
    "korean": "키스의 고유조건은 입술끼리 만나야 하고",
    "emoji": "Smile 🙂 and wave 👋🏽 the 👨‍👩‍👧 of 🇩🇪",
}
HOSTILE = [
    b"",
    b"   \t \r\n ",
    b"\xff\xfe\xfa",
    b"half \xe2\x82",
    b"\xed\xa0\x80 surrogate",
    b"\xc0\xaf overlong",
    b"a\x00b\x00",
    b"\x00",
    b"\x1b[31mred\x07",
    b"</s> <s> <pad> <unk> <0x41>",
    "\u2581\u2581 \u200b\u200d\ufeff\u2028\u2029".encode(),
    ("e" + "\u0301" * 500).encode(),
    b"x" * 50_000,
    "\U0010ffff\ufffd\uffff".encode(),
]


@pytest.fixture(scope="module")
def tokenizer():
    return SubwordTokenizer.train(SCRIPTS.values(), 600, byte_fallback=True)


@pytest.fixture(scope="module")
def library(tokenizer):
    return sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)


def random_lines(count):
    """Draws lines of random words, of random characters, and of mixtures of scripts."""
    rng = np.random.default_rng(0)
    words = " ".join(SCRIPTS.values()).split()
    for _ in range(count):
        line = " ".join(rng.choice(words, rng.integers(0, 12)))
        noise = "".join(map(chr, rng.integers(32, 0xD000, rng.integers(0, 8)).tolist()))
        cut = rng.integers(0, len(line) + 1)
        yield line[:cut] + noise + line[cut:]


def test_ids_are_those_of_the_library(tokenizer, library):
    lines = [*SCRIPTS.values(), *random_lines(2000)]
    expected = [[*ids, EOS_ID] for ids in library.encode(lines)]
    ids = tokenizer.tokenize(lines)
    assert ids.dtype == tf.int32
    assert ids.to_list() == expected


def test_strings_are_those_of_the_library(tokenizer, library):
    lines = [*SCRIPTS.values(), *random_lines(500)]
    ids = library.encode(lines)
    strings = tokenizer.detokenize(tf.ragged.constant(ids, tf.int32, ragged_rank=1))
    assert [string.decode() for string in strings.numpy()] == library.decode(ids)


@pytest.mark.parametrize("script", SCRIPTS)
def test_round_trip(tokenizer, script):
    text = SCRIPTS[script]
    [string] = tokenizer.detokenize(tokenizer.tokenize([text])).numpy()
    assert string.decode() == unicodedata.normalize("NFC", text)


def test_characters_without_a_piece_round_trip_as_bytes(tokenizer):
    text = "ꙮ ᚠᛇᚻ 𝄞 🦄 ⵣ"
    ids = tokenizer.tokenize([text])
    assert UNK_ID not in ids.values.numpy()
    assert tokenizer.detokenize(ids).numpy()[0].decode() == unicodedata.normalize("NFC", text)


def test_normal_forms_give_the_same_ids(tokenizer):
    composed = tokenizer.tokenize(["Zwölf Noël Việt"])
    decomposed = tokenizer.tokenize([unicodedata.normalize("NFD", "Zwölf Noël Việt")])
    assert composed.to_list() == decomposed.to_list()


@pytest.mark.parametrize("byte_fallback", [True, False])
def test_hostile_input(byte_fallback):
    options = {"byte_fallback": byte_fallback, "vocab_size": 350 if byte_fallback else 60}
    tokenizer = SubwordTokenizer.train([SCRIPTS["english"], SCRIPTS["german"]], **options)
    ids = tokenizer.tokenize(HOSTILE)
    for row in ids.to_list():
        assert row[-1] == EOS_ID
        assert not {PAD_ID, BOS_ID, EOS_ID} & set(row[:-1]), "text must not spell a special id"
    assert ids[:2].to_list() == [[EOS_ID], [EOS_ID]]
    for string in tokenizer.detokenize(ids).numpy():
        string.decode("utf-8")


def test_empty_string_and_empty_batch(tokenizer):
    assert tokenizer.tokenize([""]).to_list() == [[EOS_ID]]
    assert tokenizer.tokenize([]).to_list() == []
    assert tokenizer.detokenize(tf.zeros([0, 5], tf.int32)).shape == [0]
    assert tokenizer.detokenize(tf.zeros([0, 0], tf.int32)).shape == [0]
    assert tokenizer.detokenize(tf.zeros([2, 0], tf.int32)).numpy().tolist() == [b"", b""]
    assert tokenizer.detokenize(tokenizer.tokenize([])).shape == [0]


def test_detokenize_stops_at_eos_and_drops_padding(tokenizer):
    [[*word, _]] = tokenizer.tokenize(["dog"]).to_list()
    rows = [
        [BOS_ID, *word, EOS_ID, *word],
        [*word, PAD_ID, PAD_ID],
        [EOS_ID, *word],
        [PAD_ID, *word, EOS_ID, EOS_ID],
    ]
    ragged = tf.ragged.constant(rows, tf.int32)
    expected = [b"dog", b"dog", b"", b"dog"]
    assert tokenizer.detokenize(ragged).numpy().tolist() == expected
    assert tokenizer.detokenize(ragged.to_tensor()).numpy().tolist() == expected
    assert tokenizer.detokenize(tf.cast(ragged, tf.int64)).numpy().tolist() == expected


def test_detokenize_reads_ids_beyond_the_vocabulary_as_unknown(tokenizer):
    beyond = tf.constant([[tokenizer.vocab_size, -1, 2**31 - 1]])
    unknown = tf.fill([1, 3], UNK_ID)
    assert tokenizer.detokenize(beyond).numpy() == tokenizer.detokenize(unknown).numpy()


def test_graph_equals_eager(tokenizer):
    @tf.function(input_signature=[tf.TensorSpec(None, tf.string)])
    def tokenize(text):
        return tokenizer.tokenize(text)

    @tf.function(input_signature=[tf.TensorSpec(None, tf.int64)])
    def detokenize(ids):
        return tokenizer.detokenize(ids)

    for lines in ([*SCRIPTS.values()], HOSTILE, []):
        ids = tokenizer.tokenize(lines)
        assert tokenize(tf.constant(lines, tf.string)).to_list() == ids.to_list()
        dense = tf.cast(ids.to_tensor(), tf.int64)
        np.testing.assert_array_equal(detokenize(dense), tokenizer.detokenize(ids))


def test_inside_a_dataset(tokenizer):
    lines = [*SCRIPTS.values()]
    dataset = tf.data.Dataset.from_tensor_slices(lines).batch(4).map(tokenizer.tokenize)
    ids = [row for batch in dataset for row in batch.to_list()]
    assert ids == tokenizer.tokenize(lines).to_list()


LOAD = """
import sys
import tensorflow as tf
import tensorflow_text
assert "keras_transformer" not in sys.modules
loaded = tf.saved_model.load(sys.argv[1])
text = tf.constant(["Zwölf foxes \U0001f642", "", "dog"])
print([text.decode() for text in loaded.echo(text).numpy()])
"""


def test_saved_model_loads_in_a_fresh_process(tokenizer, tmp_path):
    class Echo(tf.Module):
        """Reads with one tokenizer and writes with another, as a translator does."""

        def __init__(self):
            super().__init__()
            self.source = tokenizer
            self.target = SubwordTokenizer(tokenizer.model)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def echo(self, text):
            return self.target.detokenize(self.source.tokenize(text))

    tf.saved_model.save(Echo(), str(tmp_path / "echo"))
    graph = tf.saved_model.load(str(tmp_path / "echo")).echo.concrete_functions[0].graph
    operations = {node.op for node in graph.as_graph_def().node}
    operations |= {n.op for f in graph.as_graph_def().library.function for n in f.node_def}
    from_text = {op for op in operations if "entence" in op}
    assert from_text == {"SentencepieceTokenizeOp", "SentencepieceDetokenizeOp"}

    # Elsewhere, so that the package in the current folder cannot be imported by accident.
    result = subprocess.run(
        [sys.executable, "-c", LOAD, str(tmp_path / "echo")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONIOENCODING": "utf-8"},
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == str(["Zwölf foxes 🙂", "", "dog"])


def test_save_and_load(tokenizer, tmp_path):
    path = tmp_path / "vocabulary.model"
    path.write_bytes(b"an older one")
    tokenizer.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["vocabulary.model"]
    assert SubwordTokenizer.load(path).model == tokenizer.model


def test_a_failed_save_leaves_the_old_file(tokenizer, tmp_path, monkeypatch):
    path = tmp_path / "vocabulary.model"
    path.write_bytes(b"an older one")

    def full_disk(_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="no space left"):
        tokenizer.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["vocabulary.model"]
    assert path.read_bytes() == b"an older one"


def test_vocabulary(tokenizer, library):
    assert tokenizer.vocab_size == 600
    assert tokenizer.pieces == [library.id_to_piece(i) for i in range(600)]
    assert tokenizer.pieces[:4] == ["<pad>", "<unk>", "<s>", "</s>"]


@pytest.mark.parametrize("model", [b"", b"not a model"])
def test_bytes_that_are_no_model(model, tmp_path):
    with pytest.raises(ValueError, match=rf"`model` must be .*Received: {len(model)} bytes"):
        SubwordTokenizer(model)
    path = tmp_path / "broken.model"
    path.write_bytes(model)
    with pytest.raises(ValueError, match=r"broken\.model: `model` must be"):
        SubwordTokenizer.load(path)


def test_model_with_other_special_ids(tmp_path):
    prefix = str(tmp_path / "default")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the cat sat"]), model_prefix=prefix, vocab_size=11, minloglevel=3
    )
    with pytest.raises(ValueError, match=r"special ids .*Received: \{'pad': -1, 'unk': 0"):
        SubwordTokenizer.load(f"{prefix}.model")


def test_survives_a_new_random_seed():
    tokenizer = SubwordTokenizer.train(["the cat sat", "the dog ran"], vocab_size=20)
    before = tokenizer.tokenize(["the cat"]).to_list()
    keras.utils.set_random_seed(1)  # Clears TensorFlow's kernel cache, and kernel-owned resources.
    assert tokenizer.tokenize(["the cat"]).to_list() == before
    assert tokenizer.detokenize(before).numpy().tolist() == [b"the cat"]
