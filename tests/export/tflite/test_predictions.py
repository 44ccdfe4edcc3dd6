"""A classifier as one TFLite file: what its run predicts, by stock operations alone."""

import dataclasses
import functools
import json

import numpy as np
import pytest
import tensorflow as tf
import thorough
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from hostile import HOSTILE
from random_models import vary

from keras_transformer import BertConfig
from keras_transformer.commands.main import main
from keras_transformer.config.labelled import (
    ClassificationConfig,
    ClassificationDataConfig,
    PairsConfig,
    PairsDataConfig,
    SpansConfig,
)
from keras_transformer.data.bucketing import BucketPlan, Shape
from keras_transformer.export.predictions import open_predictor
from keras_transformer.export.tflite.predictions import (
    byte_tokenizer,
    export_tflite_predictions,
)
from keras_transformer.runs.progress import Progress
from keras_transformer.runs.run import Run
from keras_transformer.tasks import task_of
from keras_transformer.text.subword_pieces import SubwordPieces
from keras_transformer.text.wordpiece import WordPieceTokenizer
from phrasebook import phrasebook

LINES = [line for pair in phrasebook("train", size=150) for line in pair]
MODEL = BertConfig(num_layers=2, d_model=24, d_ff=48, num_heads=2, max_length=24)
LABELS = ("bad", "good", "neither")
CONFIGS = {
    "pairs": PairsConfig(data=PairsDataConfig("", None, labels=LABELS)),
    "labels": ClassificationConfig(data=ClassificationDataConfig("", None, labels=LABELS)),
    "numbers": ClassificationConfig(data=ClassificationDataConfig("", None, regression=True)),
    "spans": SpansConfig(),
}
VOCABULARIES = ("wordpiece", "sentencepiece", "identity")


@functools.cache
def tokenizer_of(vocabulary):
    if vocabulary == "wordpiece":
        return WordPieceTokenizer.train(LINES, 300, lowercase=True)
    if vocabulary == "sentencepiece":
        return SubwordPieces.train(LINES, 300)
    return SubwordPieces.train(LINES, 300, normalization="identity")


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """Makes a run of a task with a vocabulary, whose model is at random."""

    def make(task, vocabulary):
        tokenizer = tokenizer_of(vocabulary)
        model = dataclasses.replace(MODEL, vocab_size=tokenizer.vocab_size)
        config = dataclasses.replace(CONFIGS[task], model=model)
        plan = BucketPlan((Shape(4, 24, 24),))
        run = Run(tmp_path_factory.mktemp("run"), config, (tokenizer, tokenizer), plan)
        run.write()
        run.checkpoints.save(vary(task_of(config).model(config), seed=1), Progress())
        return run

    return make


def lines_for(task):
    """Text of its language, odd text, and text that is too long, of one column or two."""
    texts = [*(line.encode() for line in LINES[:25]), *HOSTILE, b"Anna sings. " * 30, b"a\nb\x0bc"]
    texts = [text.replace(b"\t", b" ") for text in texts]
    if task != "pairs":
        return texts
    return [b"\t".join(pair) for pair in zip(texts, texts[7:] + texts[:7], strict=True)]


@pytest.mark.parametrize(
    ("task", "vocabulary"),
    thorough.number(
        [("pairs", "wordpiece")],
        [(task, words) for task in ("pairs", "labels", "numbers") for words in VOCABULARIES],
    ),
)
def test_it_predicts_as_its_run(task, vocabulary, make, tmp_path):
    run = make(task, vocabulary)
    path = export_tflite_predictions(run, tmp_path / "export")
    assert sorted(file.name for file in path.iterdir()) == ["metadata.json", "predictor.tflite"]
    lines = lines_for(task)
    expected = open_predictor(run.path).of_lines(lines)
    found = open_predictor(tmp_path / "export").of_lines(lines)
    name = "value" if task == "numbers" else "probabilities"
    for one, other, line in zip(expected, found, lines, strict=True):
        assert one.keys() == other.keys()
        np.testing.assert_allclose(other[name], one[name], atol=1e-5, err_msg=repr(line))
        assert other.get("label") == one.get("label")
    assert len({str(np.round(one[name], 3)) for one in expected}) > 20
    check_operations(path / "predictor.tflite")
    check_tensors(path, run)


@pytest.mark.parametrize("vocabulary", thorough.number(["identity"], list(VOCABULARIES[1:])))
def test_pieces_of_sentencepiece(vocabulary):
    """Without what is done for lines of a translation: breaks and blank text stay what they are."""
    tokenizer = tokenizer_of(vocabulary)
    tokenize = tf.function(
        byte_tokenizer(tokenizer, 2048).tokenize,
        [tf.TensorSpec([None], tf.int32)],
        autograph=False,
    )
    for line in [*lines_for("labels"), b"\n", b"\x0b a\n\nb", b"\t", b" \xe2\x80\xa8 a"]:
        expected = [*tokenizer.tokenize([line])[0].numpy(), tokenizer.sep_id]
        assert tokenize(tf.constant([*line, 0])).numpy().tolist() == expected, line


def check_operations(file):
    """No operation is of another library, nor of TensorFlow's."""
    model = schema.ModelT.InitFromPackedBuf(file.read_bytes())
    assert {code.customCode for code in model.operatorCodes} == {None}
    assert schema.BuiltinOperator.CUSTOM not in {c.builtinCode for c in model.operatorCodes}


def check_tensors(path, run):
    """Sizes are fixed, and what was cut is told."""
    metadata = json.loads((path / "metadata.json").read_text())
    room, is_pair = metadata["limits"]["max_bytes"], len(metadata["columns"]) == 2
    assert (metadata["format"], room) == ("tflite_predictor", 32 * run.config.model.max_length)
    predict = Interpreter(str(path / "predictor.tflite")).get_signature_runner("serving_default")
    described = predict.get_input_details(), predict.get_output_details()
    inputs, outputs = (
        {name: (one["dtype"], one["shape"].tolist()) for name, one in side.items()}
        for side in described
    )
    texts = ["text", "text_pair"] if is_pair else ["text"]
    lengths = ["length", "length_pair"] if is_pair else ["length"]
    assert inputs == {
        **dict.fromkeys(texts, (np.uint8, [room])),
        **dict.fromkeys(lengths, (np.int32, [1])),
    }
    [(name, number)] = {n: x for n, x in outputs.items() if n != "truncated"}.items()
    labels = len(metadata["labels"])
    assert (name, number[1]) == (("probabilities", [labels]) if labels else ("value", [1]))
    assert (number[0], outputs["truncated"]) == (np.float32, (np.int32, [1]))
    fits = MODEL.max_length - (3 if is_pair else 2)
    for count, cut in ((1, 0), (fits, 0), (fits + 1, 1), (20 * fits, 1)):
        rows = np.full((2, room), ord(" "), np.uint8)
        rows[0, : 2 * count : 2] = ord(".")  # Each of them a piece, or two in a row unknown.
        given = [np.array([size], np.int32) for size in (min(2 * count, room), 0)]
        pieces = len(run.tokenizers[0].tokenize([rows[0].tobytes()])[0])
        found = predict(
            **dict(zip(texts, rows, strict=False)), **dict(zip(lengths, given, strict=False))
        )
        assert found["truncated"].tolist() == [int(pieces > fits)]
        assert pieces > fits or not cut
    given[0] = np.array([room + 1], np.int32)
    rows[0] = ord(" ")
    found = predict(
        **dict(zip(texts, rows, strict=False)), **dict(zip(lengths, given, strict=False))
    )
    assert found["truncated"].tolist() == [1]


@pytest.mark.parametrize("quantization", thorough.number(["int8"], ["float16", "int8", "int4"]))
def test_quantization(quantization, make, tmp_path):
    """By the command, which takes it; what is predicted is about what it was."""
    run = make("numbers", "sentencepiece")
    command = ["export", str(run.path), "--output", str(tmp_path / "export"), "--format", "tflite"]
    main([*command, "--quantization", quantization])
    check_operations(tmp_path / "export/1/predictor.tflite")
    check_tensors(tmp_path / "export/1", run)
    weights = schema.ModelT.InitFromPackedBuf((tmp_path / "export/1/predictor.tflite").read_bytes())
    tensors = [tensor for graph in weights.subgraphs for tensor in graph.tensors]
    table = [run.config.model.vocab_size, run.config.model.d_model]
    types = {tensor.type for tensor in tensors if list(tensor.shape) == table}
    assert types
    assert schema.TensorType.FLOAT32 not in types or quantization == "float16"
    texts = LINES[:40]
    whole, small = (
        np.array([one["value"] for one in open_predictor(path)(texts)])
        for path in (run.path, tmp_path / "export")
    )
    # Nothing of it is by chance; fifteen steps from end to end are a tenth of a weight at random.
    error, correlation = (0.6, 0.8) if quantization == "int4" else (0.2, 0.97)
    assert 0 < np.abs(whole - small).mean() < error * whole.std()
    assert np.corrcoef(whole, small)[0, 1] > correlation


def test_what_is_not_exported(make, tmp_path, capsys):
    run = make("spans", "wordpiece")
    with pytest.raises(ValueError, match=r"'classification' or 'pairs'.*the task 'spans'"):
        export_tflite_predictions(run, tmp_path / "export")
    with pytest.raises(ValueError, match=r"`quantization` must be one of float16.*'int16'"):
        export_tflite_predictions(run, tmp_path / "export", quantization="int16")
    with pytest.raises(SystemExit):
        main(["export", str(run.path), "--output", "x", "--format", "tflite", "--max_length", "9"])
    assert "no options of translating. Received: --format tflite, --max_length" in (
        capsys.readouterr().err
    )
    assert not (tmp_path / "export").exists()
