"""BERT's checkpoints become runs: against transformers, and by their files alone."""

import json
import re

import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf
from references import softmax, to_numpy

from keras_transformer import Bert, BertConfig, MaskedLanguageModel
from keras_transformer.commands.main import main
from keras_transformer.export.predictions import open_predictor
from keras_transformer.importing import keras_hub
from keras_transformer.importing.runs import import_run
from keras_transformer.runs.run import open_run
from keras_transformer.text.wordpiece import SPECIAL

PIECES = [*SPECIAL, *(f"w{number}" for number in range(25))]
OPTIONS = {
    "model_type": "bert",
    "vocab_size": 30,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 16,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-5,
}
RNG = np.random.default_rng(5)
IDS = RNG.integers(5, 30, (3, 12)).astype("int32")
IDS[1, 8:] = 0
SEGMENTS = np.tile(np.arange(12) > 5, (3, 1)).astype("int32")
INPUTS = {"ids": IDS, "segments": SEGMENTS}
REAL = IDS != 0


def folder_of(path, options, pieces=PIECES, name="config.json"):
    path.mkdir(exist_ok=True)
    (path / name).write_text(json.dumps(options))
    (path / "vocab.txt").write_text("\n".join(pieces))
    return path


def shapes():
    """The weights of a `BertForPreTraining`, by their names there."""
    d, inner, size = 16, 24, 30
    yield "bert.embeddings.word_embeddings.weight", (size, d)
    yield "bert.embeddings.position_embeddings.weight", (16, d)
    yield "bert.embeddings.token_type_embeddings.weight", (2, d)
    yield from norm_of("bert.embeddings.LayerNorm")
    for layer in (f"bert.encoder.layer.{index}" for index in range(2)):
        for part in ("query", "key", "value"):
            yield from linear_of(f"{layer}.attention.self.{part}", d, d)
        yield from linear_of(f"{layer}.attention.output.dense", d, d)
        yield from norm_of(f"{layer}.attention.output.LayerNorm")
        yield from linear_of(f"{layer}.intermediate.dense", d, inner)
        yield from linear_of(f"{layer}.output.dense", inner, d)
        yield from norm_of(f"{layer}.output.LayerNorm")
    yield from linear_of("bert.pooler.dense", d, d)
    yield from linear_of("cls.predictions.transform.dense", d, d)
    yield from norm_of("cls.predictions.transform.LayerNorm")
    yield "cls.predictions.bias", (size,)
    yield from linear_of("cls.seq_relationship", d, 2)


def norm_of(name):
    yield f"{name}.weight", (16,)
    yield f"{name}.bias", (16,)


def linear_of(name, width_in, width_out):
    yield f"{name}.weight", (width_out, width_in)
    yield f"{name}.bias", (width_out,)


@pytest.fixture(scope="module")
def weights():
    rng = np.random.default_rng(1)
    return {name: rng.normal(0, 0.3, shape).astype("float32") for name, shape in shapes()}


@pytest.fixture
def huggingface(tmp_path, weights):
    folder = folder_of(tmp_path / "huggingface", OPTIONS)
    safetensors.numpy.save_file(weights, folder / "model.safetensors")
    return folder


@pytest.fixture
def run(huggingface, tmp_path):
    return import_run(huggingface, tmp_path / "run")


def model_of(run):
    return run.checkpoints.best().load()


def logits_of(model):
    return {name: to_numpy(logits) for name, logits in model(INPUTS, training=False).items()}


def assert_same_model(one, other):
    for x, y in zip(one.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(x, y)


def test_it_computes_what_transformers_does(huggingface, run):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    theirs = transformers.BertForPreTraining.from_pretrained(
        str(huggingface), attn_implementation="eager"
    ).eval()
    inputs = {
        "input_ids": torch.tensor(IDS.astype("int64")),
        "token_type_ids": torch.tensor(SEGMENTS.astype("int64")),
        "attention_mask": torch.tensor(REAL.astype("int64")),
    }
    with torch.no_grad():
        vectors, heads = theirs.bert(**inputs), theirs(**inputs)
    model = model_of(run)
    found = model.bert(INPUTS, training=False)
    tokens = vectors.last_hidden_state.numpy()
    np.testing.assert_allclose(to_numpy(found["tokens"])[REAL], tokens[REAL], atol=1e-5)
    np.testing.assert_allclose(to_numpy(found["pooled"]), vectors.pooler_output.numpy(), atol=1e-5)
    logits = logits_of(model)
    words = heads.prediction_logits.numpy()
    np.testing.assert_allclose(logits["masked"][REAL], words[REAL], rtol=1e-5, atol=1e-5)
    is_next = heads.seq_relationship_logits.numpy()
    np.testing.assert_allclose(logits["next"][:, 0, 1:], is_next, atol=1e-5)


def test_the_result_is_an_ordinary_run(run, weights):
    opened = open_run(run.path)
    assert opened.config.task == "masked_lm"
    assert opened.config.model == BertConfig(
        vocab_size=30, num_layers=2, d_model=16, d_ff=24, num_heads=4, max_length=16,
        norm_epsilon=1e-5,
    )  # fmt: skip
    assert opened.tokenizers[0].pieces == PIECES
    model = model_of(opened)
    bias = weights["bert.encoder.layer.1.attention.self.key.bias"]
    fused = to_numpy(model.bert.encoder.layers[1].self_attention.query_key_value.bias)
    np.testing.assert_array_equal(fused[16:32], bias)


def test_names_of_old_files_and_of_the_encoder_alone(huggingface, weights, run, tmp_path, capsys):
    """`gamma` and `beta`, no prefix, and no heads, which are new then."""
    kinds = {"weight": "gamma", "bias": "beta"}

    def old(name):
        name = name.removeprefix("bert.")
        return re.sub(r"LayerNorm\.(\w+)", lambda found: f"LayerNorm.{kinds[found[1]]}", name)

    alone = {old(name): x for name, x in weights.items() if not name.startswith("cls.")}
    alone["embeddings.position_ids"] = np.arange(16, dtype="int64")
    alone["classifier.weight"] = np.zeros((3, 16), "float32")
    folder = folder_of(tmp_path / "old", OPTIONS)
    safetensors.numpy.save_file(alone, folder / "model.safetensors")
    found = model_of(import_run(folder, tmp_path / "old_run"))
    assert_same_model(found.bert, model_of(run).bert)
    said = capsys.readouterr().out
    assert "as in a new model: cls.predictions.transform.dense, cls.seq_relationship" in said
    assert "Left out, as heads of another task: classifier.weight" in said
    assert "position_ids" not in said


def test_googles_checkpoints(weights, run, tmp_path):
    """Kernels lie the other way, and heads have names of their own."""
    variables = {}
    for name, x in weights.items():
        place, _, kind = name.rpartition(".")
        place = re.sub(r"layer\.(\d)", r"layer_\1", place).replace(".", "/")
        if "embeddings" in name and "LayerNorm" not in name:
            variables[place] = x
        elif "LayerNorm" in name:
            variables[f"{place}/{'gamma' if kind == 'weight' else 'beta'}"] = x
        elif name == "cls.predictions.bias":
            variables["cls/predictions/output_bias"] = x
        elif "seq_relationship" in name:
            variables[f"{place}/output_{'weights' if kind == 'weight' else 'bias'}"] = x
        else:
            variables[f"{place}/{'kernel' if kind == 'weight' else 'bias'}"] = x.T
    variables["global_step"] = np.array(7)
    variables["bert/pooler/dense/kernel/adam_m"] = np.zeros((16, 16), "float32")
    options = {k: v for k, v in OPTIONS.items() if k not in ("model_type", "layer_norm_eps")}
    folder = folder_of(tmp_path / "google", options, name="bert_config.json")
    tf.raw_ops.SaveV2(
        prefix=str(folder / "bert_model.ckpt"),
        tensor_names=list(variables),
        shape_and_slices=[""] * len(variables),
        tensors=[tf.constant(x) for x in variables.values()],
    )
    imported = import_run(folder, tmp_path / "google_run")
    assert imported.config.model.norm_epsilon == 1e-12
    assert_same_model(model_of(imported), model_of(run))


def test_a_tokenizer_in_json(huggingface, tmp_path):
    (huggingface / "vocab.txt").unlink()
    content = {
        "model": {"type": "WordPiece", "vocab": {piece: i for i, piece in enumerate(PIECES)}},
        "normalizer": {"type": "BertNormalizer", "lowercase": False},
    }
    (huggingface / "tokenizer.json").write_text(json.dumps(content))
    tokenizer = import_run(huggingface, tmp_path / "json_run").tokenizers[0]
    assert (tokenizer.pieces, tokenizer.lowercase) == (PIECES, False)
    for ids in ({piece: 2 * i for i, piece in enumerate(PIECES)}, {"a": 0, "b": "1"}):
        changed = {**content, "model": {"type": "WordPiece", "vocab": ids}}
        (huggingface / "tokenizer.json").write_text(json.dumps(changed))
        with pytest.raises(ValueError, match=r"a piece for each id from 0 on in tokenizer\.json"):
            import_run(huggingface, tmp_path / "refused")
    (huggingface / "tokenizer.json").write_text(json.dumps(content))
    # It is followed beside a vocab.txt as well, and what the graph cannot do is refused by name.
    (huggingface / "vocab.txt").write_text("\n".join(PIECES))
    assert not import_run(huggingface, tmp_path / "both").tokenizers[0].lowercase
    for name, part, told in (
        ("normalizer", {"lowercase": True, "strip_accents": False}, "'strip_accents': False"),
        ("normalizer", {"handle_chinese_chars": False}, "'tokenize_chinese_chars': False"),
        ("normalizer", {"type": "Sequence"}, "a normalizer of the type BertNormalizer.*'Sequence'"),
        ("pre_tokenizer", {"type": "Whitespace"}, "BertPreTokenizer.*'Whitespace'"),
        ("normalizer", None, "of the type BertNormalizer.*Received: None"),
    ):
        changed = {**content, name: part}
        (huggingface / "tokenizer.json").write_text(json.dumps(changed))
        with pytest.raises(ValueError, match=told):
            import_run(huggingface, tmp_path / "refused")


@pytest.mark.parametrize(
    ("options", "pieces", "told"),
    [
        ({"position_embedding_type": "relative_key"}, PIECES, "position_embedding_type"),
        ({"is_decoder": True}, PIECES, "is_decoder"),
        ({"hidden_size": None}, PIECES, "must tell hidden_size"),
        ({}, PIECES[:-1], "vocabulary of the 30 pieces"),
        ({"vocab_size": 29}, PIECES[:-1], r"word_embeddings\.weight in the shape \(29, 16\)"),
        ({"num_hidden_layers": 3}, PIECES, "layer.2.attention.self.query"),
        ({"max_position_embeddings": 10**9}, PIECES, r"position_embeddings\.weight in the shape"),
        ({"type_vocab_size": 10**9}, PIECES, r"token_type_embeddings\.weight in the shape"),
        ({"tie_word_embeddings": False}, PIECES, "tie_word_embeddings"),
        ({"hidden_act": "mish"}, PIECES, "hidden_act"),
    ],
)
def test_what_has_no_counterpart(options, pieces, told, huggingface, tmp_path):
    folder_of(huggingface, {**OPTIONS, **options}, pieces)
    with pytest.raises(ValueError, match=told):
        import_run(huggingface, tmp_path / "refused")
    assert not (tmp_path / "refused").exists()


def test_models_with_one_head(huggingface, weights, tmp_path):
    """Of masked words alone, without a pooler: so there are no next sentences."""
    kept = {n: x for n, x in weights.items() if not re.search("seq_relationship|pooler", n)}
    safetensors.numpy.save_file(kept, huggingface / "model.safetensors")
    run = import_run(huggingface, tmp_path / "one_head")
    model = model_of(run)
    assert isinstance(model, MaskedLanguageModel)
    assert isinstance(model.bert, Bert)
    assert model.next_sentence is None
    assert not run.config.data.next_sentence


LABELS = {"0": "bad", "1": "good", "2": "neither"}


def fine_tuned(path, weights, architecture, **options):
    """A folder of a model with a head, at random; of labels it has three unless one is wanted."""
    part = "qa_outputs" if architecture == "BertForQuestionAnswering" else "classifier"
    size = 2 if part == "qa_outputs" else options.pop("size", 3)
    kept = {n: x for n, x in weights.items() if not n.startswith("cls.")}
    if architecture != "BertForSequenceClassification":
        kept = {n: x for n, x in kept.items() if "pooler" not in n}
    rng = np.random.default_rng(2)
    for name, shape in linear_of(part, 16, size):
        kept[name] = rng.normal(0, 0.3, shape).astype("float32")
    folder = folder_of(path, {**OPTIONS, "architectures": [architecture], **options})
    safetensors.numpy.save_file(kept, folder / "model.safetensors")
    return folder


HEADS = pytest.mark.parametrize(
    ("architecture", "options", "task"),
    [
        ("BertForSequenceClassification", {"id2label": LABELS}, "classification"),
        ("BertForSequenceClassification", {"id2label": {"0": "x"}, "size": 1}, "classification"),
        ("BertForTokenClassification", {"id2label": LABELS}, "tags"),
        ("BertForQuestionAnswering", {}, "spans"),
    ],
)


def found_and_theirs(task, options, logits, theirs):
    """Our logits, without those of no label, and theirs; of real tokens where they are of these."""
    if task == "classification":
        return logits if options.get("size") == 1 else logits[:, 0, 1:], theirs
    of_tokens = logits[:, :, 1:]
    return (of_tokens if task == "tags" else of_tokens.transpose(0, 2, 1))[REAL], theirs[REAL]


@HEADS
def test_a_fine_tuned_model_becomes_a_run_of_its_task(
    architecture, options, task, weights, tmp_path, capsys
):
    """Its head in NumPy, on our own vectors, which another test compares with transformers'."""
    folder = fine_tuned(tmp_path / "theirs", weights, architecture, **options)
    run = open_run(import_run(folder, tmp_path / "run").path)
    assert not capsys.readouterr().out
    config = run.config
    assert (config.task, config.data.train, config.data.valid) == (task, "", None)
    is_number = options.get("size") == 1
    has_labels = "id2label" in options and not is_number
    assert config.data.labels == (tuple(LABELS.values()) if has_labels else ())
    assert getattr(config.data, "regression", False) == is_number
    model, part = model_of(run), "qa_outputs" if task == "spans" else "classifier"
    stored = safetensors.numpy.load_file(folder / "model.safetensors")
    vectors = model.bert(INPUTS, training=False)["pooled" if task == "classification" else "tokens"]
    theirs = to_numpy(vectors) @ stored[f"{part}.weight"].T + stored[f"{part}.bias"]
    logits = to_numpy(model(INPUTS, training=False))
    np.testing.assert_allclose(*found_and_theirs(task, options, logits, theirs), atol=1e-5)


@HEADS
def test_a_fine_tuned_model_computes_what_transformers_does(
    architecture, options, task, weights, tmp_path
):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = fine_tuned(tmp_path / "theirs", weights, architecture, **options)
    run = import_run(folder, tmp_path / "run")
    model = getattr(transformers, architecture).from_pretrained(
        str(folder), attn_implementation="eager"
    )
    inputs = {"input_ids": IDS, "token_type_ids": SEGMENTS, "attention_mask": REAL}
    with torch.no_grad():
        found = model.eval()(**{n: torch.tensor(x.astype("int64")) for n, x in inputs.items()})
    parts = (found.start_logits, found.end_logits) if task == "spans" else ()
    theirs = np.stack(parts, -1) if parts else found.logits.numpy()
    logits = to_numpy(model_of(run)(INPUTS, training=False))
    np.testing.assert_allclose(*found_and_theirs(task, options, logits, theirs), atol=1e-5)
    if task == "classification" and options.get("size") != 1:
        [one] = open_predictor(run.path)(["w3 w1 w2"])
        ids = torch.tensor([[2, 8, 6, 7, 3]])
        with torch.no_grad():
            expected = softmax(model(ids).logits[0].numpy())
        np.testing.assert_allclose(one["probabilities"], expected, atol=1e-5)
        assert one["label"] == LABELS[str(expected.argmax())]


def test_a_classifier_of_pairs(weights, tmp_path, huggingface, capsys):
    """Nothing in the folder says that it reads two texts; labels without names have numbers."""
    folder = fine_tuned(tmp_path / "theirs", weights, "BertForSequenceClassification")
    main(["import", str(folder), "--output", str(tmp_path / "run"), "--task", "pairs"])
    run = open_run(tmp_path / "run")
    assert (run.config.task, run.config.data.labels) == ("pairs", ("LABEL_0", "LABEL_1", "LABEL_2"))
    assert open_predictor(run.path).columns == ("text", "text_pair")
    with pytest.raises(ValueError, match=r"`task` must be 'pairs'.*'pairs', of another model"):
        import_run(huggingface, tmp_path / "refused", task="pairs")
    folder_of(folder, {**OPTIONS, "architectures": ["BertForTokenClassification"]})
    with pytest.raises(ValueError, match=r"of one of the task 'tags'"):
        import_run(folder, tmp_path / "refused", task="pairs")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"problem_type": "multi_label_classification"}, "problem_type=.multi_label"),
        ({"problem_type": "regression"}, "problem_type=.regression"),
        ({"id2label": {"0": "bad", "1": "good"}}, r"each of the 3 labels.*\{'0': 'bad'"),
        ({"id2label": ["bad", "good", "neither"]}, r"each of the 3 labels.*\['bad'"),
        ({"id2label": {**LABELS, "2": "bad"}}, "different from each other"),
        ({"architectures": ["BertForQuestionAnswering"]}, r"must hold the weights qa_outputs"),
    ],
)
def test_labels_that_have_no_counterpart(options, told, weights, tmp_path):
    folder = fine_tuned(tmp_path / "theirs", weights, "BertForSequenceClassification")
    architectures = ["BertForSequenceClassification"]
    folder_of(folder, {**OPTIONS, "architectures": architectures, **options})
    with pytest.raises(ValueError, match=told):
        import_run(folder, tmp_path / "refused")
    assert not (tmp_path / "refused").exists()


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """A preset as KerasHub writes one, and its model, whose weights are at random."""
    import keras_hub as library

    backbone = library.models.BertBackbone(
        vocabulary_size=30,
        num_layers=2,
        num_heads=4,
        hidden_dim=16,
        intermediate_dim=24,
        max_sequence_length=16,
    )
    rng = np.random.default_rng(3)
    for weight in backbone.weights:
        mean = float("gamma" in weight.path)
        weight.assign(rng.normal(mean, 0.3, weight.shape))
    folder = tmp_path_factory.mktemp("preset")
    backbone.save_to_preset(str(folder))
    library.models.BertTokenizer(PIECES, lowercase=True).save_to_preset(str(folder))
    return folder, backbone


def test_it_computes_what_kerashub_does(preset, tmp_path, capsys):
    folder, theirs = preset
    run = import_run(folder, tmp_path / "run")
    assert "as in a new model: cls.predictions" in capsys.readouterr().out
    assert run.config.model == BertConfig(
        vocab_size=30, num_layers=2, d_model=16, d_ff=24, num_heads=4, max_length=16,
        activation="gelu_tanh",
    )  # fmt: skip
    assert (run.tokenizers[0].pieces, run.tokenizers[0].lowercase) == (PIECES, True)
    inputs = {"token_ids": IDS, "segment_ids": SEGMENTS, "padding_mask": REAL.astype("int32")}
    expected = theirs(inputs)
    found = model_of(run).bert(INPUTS, training=False)
    tokens = to_numpy(expected["sequence_output"])[REAL]
    np.testing.assert_allclose(to_numpy(found["tokens"])[REAL], tokens, atol=1e-5)
    pooled = to_numpy(expected["pooled_output"])
    np.testing.assert_allclose(to_numpy(found["pooled"]), pooled, atol=1e-5)


def test_a_preset_by_its_name(preset, tmp_path, monkeypatch):
    """Where there is no network KerasHub says so in many ways."""
    folder, _ = preset
    run = import_run(f"keras_hub:{folder}", tmp_path / "run")
    assert run.tokenizers[0].pieces == PIECES
    with pytest.raises(ValueError, match=r"there are bert_tiny_en_uncased, .*Received: bert_none"):
        import_run("keras_hub:bert_none", tmp_path / "refused")

    def without_network(*args, **kwargs):
        raise ConnectionError("no route to host")

    import keras_hub as library

    monkeypatch.setattr(library.models.BertBackbone, "from_preset", without_network)
    with pytest.raises(ValueError, match=r"it takes a network.*ConnectionError: no route to host"):
        keras_hub.read_keras_hub("bert_tiny_en_uncased")
    assert not (tmp_path / "refused").exists()
