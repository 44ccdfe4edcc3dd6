"""The bundle for TensorFlow Serving, its clients, and what the server asks of a SavedModel.

No server runs here: configuration is parsed into the server's protobuf messages, warm-up requests
are replayed, clients talk to our endpoint and to `serving_stand_in`, and batches are joined and
split as the server does it.
"""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import grpc
import numpy as np
import pytest
import tensorflow as tf
import thorough
import yaml
from endpoint_server import of_loaded, serve
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from google.protobuf.wrappers_pb2 import DESCRIPTOR as WRAPPERS
from random_models import vary
from serving_stand_in import serve_grpc
from tensorflow.core.framework.attr_value_pb2 import AttrValue
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import get_model_metadata_pb2, predict_pb2
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

from keras_transformer import DecodingConfig, Transformer, TransformerConfig
from keras_transformer.config.search_shapes import SearchShape
from keras_transformer.data.corpora import open_corpus
from keras_transformer.endpoint.models import ServedModels
from keras_transformer.export import serving
from keras_transformer.export.opening import open_translator
from keras_transformer.export.serving import CONFIGURATION, WARMUP_REQUESTS, export_serving
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.translation.translator import Translator

CLIENTS = Path(__file__).parents[2] / "examples" / "serving"

# Two requests: rows of different lengths, one without text, one beyond the model's maximum.
FIRST = ["the dog", "When does the train arrive on Friday?", ""]
SECOND = ["We do not want to visit the museum tomorrow. " * 4, "the old woman"]


@pytest.fixture(scope="module")
def translator():
    pairs = list(open_corpus("phrasebook:train:200", "en", "de"))
    tokenizer = SubwordTokenizer.train((line for pair in pairs for line in pair), 200)
    size = dict(num_layers=1, d_model=32, d_ff=32, num_heads=2, max_length=16, norm_first=True)
    return Translator(vary(Transformer(TransformerConfig(vocab_size=200, **size)), 0), tokenizer)


SHAPES = SearchShape(1, 6), SearchShape(2, 16)


@pytest.fixture(scope="module")
def exported(translator, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports") / "small"
    return export_serving(translator, folder, shapes=SHAPES)


@pytest.fixture(scope="module")
def loaded(exported):
    return tf.saved_model.load(exported)


@pytest.fixture(scope="module")
def addresses(loaded):
    """Of gRPC and of REST."""
    model = of_loaded(loaded, "small")
    with serve_grpc(ServedModels([model])) as of_grpc, serve([model]) as of_rest:
        yield of_grpc, of_rest


@pytest.fixture
def fake_export(monkeypatch):
    """Replaces the SavedModel, which takes seconds, with an empty folder."""

    def export_saved_model(translator, directory, *_):
        path = Path(directory) / "1"
        path.mkdir(parents=True)
        return path

    monkeypatch.setattr(serving, "export_saved_model", export_saved_model)


def run(loaded, signature, **inputs):
    specs = loaded.signatures[signature].structured_input_signature[1]
    tensors = {name: tf.constant(value, specs[name].dtype) for name, value in inputs.items()}
    outputs = loaded.signatures[signature](**tensors)
    return {name: value.numpy() for name, value in outputs.items()}


def translations(loaded, sentences):
    outputs = run(loaded, "serving_default", text=sentences)
    return [line.decode() for line in outputs["translation"]]


def message(package_file, messages):
    """Returns message classes of a .proto file of which no Python class is released.

    Args:
        package_file: Its path in https://github.com/tensorflow/serving.
        messages: Fields of each message: name to (number, type), types as in the file.
    """
    file = descriptor_pb2.FileDescriptorProto(
        name=package_file,
        package="tensorflow.serving",
        syntax="proto3",
        dependency=[WRAPPERS.name],
    )
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in messages.items():
        new = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            options = dict(name=field, number=number, label=kinds.LABEL_OPTIONAL)
            if kind in ("bool", "string"):
                new.field.add(type=getattr(kinds, f"TYPE_{kind.upper()}"), **options)
            else:
                new.field.add(type=kinds.TYPE_MESSAGE, type_name=f".{kind}", **options)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(WRAPPERS.serialized_pb)
    pool.Add(file)
    found = (pool.FindMessageTypeByName(f"tensorflow.serving.{name}") for name in messages)
    return [message_factory.GetMessageClass(one) for one in found]


class TestConfiguration:
    def read(self, exported, name):
        return (exported.parent / "serving" / name).read_text("utf-8")

    def test_models(self, exported):
        config = text_format.Parse(self.read(exported, "models.config"), ModelServerConfig())
        [model] = config.model_config_list.config
        assert (model.name, model.base_path) == ("small", "/models/small")
        assert model.model_platform == "tensorflow"
        assert model.model_version_policy.latest.num_versions == 1

    def test_batching_parameters(self, exported):
        number = "google.protobuf.Int64Value"
        [batching_parameters] = message(
            "tensorflow_serving/servables/tensorflow/session_bundle_config.proto",
            {
                "BatchingParameters": {
                    "max_batch_size": (1, number),
                    "batch_timeout_micros": (2, number),
                    "max_enqueued_batches": (3, number),
                    "num_batch_threads": (4, number),
                }
            },
        )
        text = self.read(exported, "batching_parameters.txt")
        parameters = text_format.Parse(text, batching_parameters())
        values = {field.name: value.value for field, value in parameters.ListFields()}
        assert values == {
            "max_batch_size": 64,
            "batch_timeout_micros": 5000,
            "max_enqueued_batches": 16,
            "num_batch_threads": 4,
        }

    def test_monitoring(self, exported):
        _, monitoring_config = message(
            "tensorflow_serving/config/monitoring_config.proto",
            {
                "PrometheusConfig": {"enable": (1, "bool"), "path": (2, "string")},
                "MonitoringConfig": {
                    "prometheus_config": (1, "tensorflow.serving.PrometheusConfig")
                },
            },
        )
        config = text_format.Parse(self.read(exported, "monitoring.config"), monitoring_config())
        assert config.prometheus_config.enable
        assert config.prometheus_config.path == "/monitoring/prometheus/metrics"

    def test_compose(self, exported):
        [(name, service)] = yaml.safe_load(self.read(exported, "compose.yaml"))["services"].items()
        assert name == "small"
        assert service["image"] == "tensorflow/serving:2.19.1"
        assert service["ports"] == ["127.0.0.1:8500:8500", "127.0.0.1:8501:8501"]
        flags = dict(flag.removeprefix("--").split("=") for flag in service["command"])
        assert flags["enable_batching"] == flags["enable_model_warmup"] == "true"
        [volume] = service["volumes"]
        local, mounted, mode = volume.split(":")
        assert (mounted, mode) == ("/models/small", "ro")
        files = [Path(path) for name, path in flags.items() if name.endswith("_file")]
        assert len(files) == 3
        here = exported.parent / "serving"
        for path in files:
            assert (here / local / path.relative_to(mounted)).is_file()

    def test_an_edited_file_stays(self, fake_export, tmp_path):
        export_serving(None, tmp_path)
        folder = tmp_path / "serving"
        assert sorted(path.name for path in folder.iterdir()) == sorted(CONFIGURATION)
        (folder / "models.config").write_text("# edited")
        (folder / "compose.yaml").unlink()
        shutil.rmtree(tmp_path / "1")
        export_serving(None, tmp_path, name="other")
        assert (folder / "models.config").read_text() == "# edited"
        assert "/models/other:ro" in (folder / "compose.yaml").read_text()

    @pytest.mark.parametrize("name", ["a/b", "a:b", "two words", "über", "-a", ".a"])
    def test_a_name_is_part_of_an_address(self, fake_export, tmp_path, name):
        with pytest.raises(ValueError, match=f"`name` must.*Received: name={name!r}"):
            export_serving(None, tmp_path, name=name)
        assert not list(tmp_path.iterdir())

    def test_without_the_package(self, monkeypatch, fake_export, tmp_path):
        monkeypatch.setitem(sys.modules, "tensorflow_serving", None)
        with pytest.raises(ImportError, match=r"pip install 'keras_transformer\[serving\]'"):
            export_serving(None, tmp_path)
        assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def requests(exported):
    records = tf.data.TFRecordDataset(str(exported / WARMUP_REQUESTS)).as_numpy_iterator()
    logs = [PredictionLog.FromString(record) for record in records]
    assert all(log.WhichOneof("log_type") == "predict_log" for log in logs)
    return [log.predict_log.request for log in logs]


def test_what_xla_must_compile_is_in_one_signature(exported):
    """A server that does not compile answers all others."""
    saved = saved_model_pb2.SavedModel.FromString((exported / "saved_model.pb").read_bytes())
    [graph] = saved.meta_graphs
    functions = {one.signature.name: one for one in graph.graph_def.library.function}

    def reached(nodes):
        names = {
            value.func.name
            for node in nodes
            for attribute in node.attr.values()
            for value in (attribute, *(AttrValue(func=one) for one in attribute.list.func))
            if value.HasField("func")
        }
        return names.union(*(reached(functions[name].node_def) for name in names))

    nodes = {node.name: node for node in graph.graph_def.node}
    needing_xla = set()
    for name, signature in graph.signature_def.items():
        outputs = (nodes[info.name.split(":")[0]] for info in signature.outputs.values())
        if any(functions[one].attr["_XlaMustCompile"].b for one in reached(outputs)):
            needing_xla.add(name)
    assert needing_xla == {"compiled"}


@thorough.only
def test_compiled_in_python(exported, loaded):
    """Sentence by sentence, so that each is compiled, as the others have them together."""
    translator = open_translator([exported], shapes=())
    found = [translator.nbest([line])[0][0].text for line in (*FIRST, *SECOND)]
    assert found == translations(loaded, [*FIRST, *SECOND])


class TestWarmup:
    def test_every_request_runs(self, requests, loaded):
        for request in requests:
            inputs = {name: tf.make_ndarray(value) for name, value in request.inputs.items()}
            outputs = run(loaded, request.model_spec.signature_name, **inputs)
            [size] = {len(value) for value in inputs.values()}
            assert all(len(value) == size for value in outputs.values())

    def test_covers_signatures_and_sizes(self, requests, loaded):
        assert len(requests) <= 1000, "the server refuses to load more"
        assert {request.model_spec.name for request in requests} == {"small"}
        sizes = {}
        for request in requests:
            size = next(iter(request.inputs.values())).tensor_shape.dim[0].size
            sizes.setdefault(request.model_spec.signature_name, set()).add(size)
        assert sizes == {name: {1, 8} for name in loaded.signatures} | {"compiled": {1, 2, 8}}
        assert len(sizes) == 6

    def test_every_shape_is_compiled(self, requests, translator):
        """The last requests are as large as a shape, and too large for the one before."""
        one, two = (request.inputs["text"].string_val for request in requests[-2:])
        lengths = translator.source_tokenizer.tokenize([*one, *two]).row_lengths().numpy()
        assert (len(one), len(two)) == (1, 2)
        assert lengths[0] <= 6 < lengths[1] <= 16

    def test_a_sentence_for_a_shape_is_one_piece(self, translator):
        """Also where each sentence of a text is translated by itself."""
        config = DecodingConfig(split_sentences=True)
        split = Translator(translator.models, translator.source_tokenizer, config=config)
        text = serving._sentence(split, SearchShape(1, 14))
        outputs = split.graph.translate(tf.constant([text]))
        assert outputs["pieces"].numpy().tolist() == [1]
        with pytest.raises(ValueError, match=r"`shapes` must have room for a text.*Received: 1x2"):
            serving._sentence(split, SearchShape(1, 2))

    def test_text_is_short_and_long(self, requests, translator):
        text = [line for request in requests for line in request.inputs["text"].string_val]
        lengths = translator.source_tokenizer.tokenize(text).row_lengths().numpy()
        assert lengths.min() < 10
        assert lengths.max() > translator.graph.max_length


@pytest.fixture(scope="module")
def expected(loaded):
    """What clients print."""
    sentences = [*FIRST, *SECOND]
    lines = translations(loaded, sentences)
    assert len(set(lines)) == 5
    return "".join(f"{s}\n  -> {t}\n" for s, t in zip(sentences, lines, strict=True))


class TestClients:
    def client(self, name, *arguments, **options):
        """Runs a client and returns its exit status, output and errors."""
        program = [sys.executable] if name.endswith(".py") else ["sh"]
        # Whatever proxy is set, the servers are on this machine.
        environment = {**os.environ, "PYTHONIOENCODING": "ascii", "no_proxy": "*"}
        command = [*program, CLIENTS / name, *arguments]
        options |= dict(capture_output=True, encoding="utf-8", env=environment)
        done = subprocess.run(command, **options)
        return done.returncode, done.stdout, done.stderr

    def test_grpc(self, addresses, expected):
        arguments = "grpc_client.py", addresses[0], "small", *FIRST, *SECOND
        status, output, errors = self.client(*arguments)
        assert (status, output) == (0, expected), errors

    def test_rest(self, addresses, expected):
        arguments = "rest_client.py", addresses[1], "small", *FIRST, *SECOND
        assert self.client(*arguments) == (0, expected, "")

    def test_rest_sends_many_lines_in_parts(self, addresses, loaded):
        """The endpoint refuses more than 64 at a time, as the server does."""
        lines = [*FIRST, *[""] * 60, *SECOND]
        text = "\n".join(lines) + "\n"
        status, output, errors = self.client("rest_client.py", addresses[1], "small", input=text)
        assert (status, errors) == (0, "")
        found = [line.removeprefix("  -> ") for line in output.splitlines()[1::2]]
        assert found == translations(loaded, lines)

    @pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
    def test_curl(self, addresses, loaded):
        status, output, errors = self.client("translate.sh", addresses[1], "small")
        assert (status, errors) == (0, "")
        rows, columns, options = (
            json.loads(part.partition("\n")[2]) for part in output.split("# ")[1:]
        )
        best = translations(loaded, ["The dog sleeps.", "When does the train arrive?"])
        assert [row["translation"] for row in rows["predictions"]] == best
        assert columns["outputs"]["translation"] == best
        same = {"text": ["The dog sleeps."] * 2, "max_length": [20, 3], "length_penalty": [0.6, 0]}
        found = run(loaded, "translate", **same)["translation"]
        assert [row["translation"] for row in options["predictions"]] == [
            line.decode() for line in found
        ]

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("rest_client.py", "no reply from http://127.0.0.1:1/v1/models/small.*refused"),
            ("grpc_client.py", "no translation from 127.0.0.1:1: UNAVAILABLE"),
        ],
    )
    def test_no_server(self, monkeypatch, name, reason):
        monkeypatch.setenv("no_proxy", "*")
        monkeypatch.setattr(sys, "argv", [name, "127.0.0.1:1", "small", "the dog"])
        with pytest.raises(SystemExit, match=f"{name}: {reason}"):
            runpy.run_path(CLIENTS / name, run_name="__main__")

    @pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
    def test_no_server_for_curl(self):
        status, _, errors = self.client("translate.sh", "127.0.0.1:1", "small")
        assert status == 1
        assert "http://127.0.0.1:1/v1/models/small:predict gave no translation" in errors

    def test_another_model(self, addresses):
        status, _, errors = self.client("rest_client.py", addresses[1], "large", "the dog")
        assert status == 1
        assert "404" in errors
        assert "Servable not found for request: Latest(large)" in errors


# Inputs of each signature.
INPUTS = {
    "serving_default": {"text": FIRST},
    "translate": {"text": FIRST, "max_length": [9, 2, 3], "length_penalty": [0.6, 0.0, 1.5]},
    "nbest": {"text": FIRST},
    "score": {"source": FIRST, "target": ["der Hund", "", "Wann kommt der Zug?"]},
    "attention": {"text": FIRST},
    "compiled": {"text": FIRST},
}

# Those of two requests in one batch, and where each of them is.
PARTS = slice(0, len(FIRST)), slice(len(FIRST), None)
VALUES = {
    "text": [*FIRST, *SECOND],
    "source": [*FIRST, *SECOND],
    "target": ["der Hund", "", "Wann kommt der Zug am Freitag an?", "", "die Frau"],
    "max_length": [9, 2, 3, 16, 5],
    "length_penalty": [0.6, 0.0, 1.5, 0.6, 1.0],
}


class TestInterfaces:
    """What the clients leave out: each signature over both interfaces."""

    def post(self, address, **body):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        url = f"http://{address}/v1/models/small:predict"
        with opener.open(url, json.dumps(body).encode(), timeout=60) as reply:
            return json.load(reply)

    def check_same(self, found, expected):
        """Compares outputs as JSON has them."""
        assert set(found) == set(expected)
        for name, value in expected.items():
            if value.dtype == object:
                assert found[name] == np.char.decode(value.astype(bytes), "utf-8").tolist()
            else:
                np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-6)

    @pytest.mark.parametrize("signature", INPUTS)
    def test_rest(self, addresses, loaded, signature):
        inputs = INPUTS[signature]
        expected = run(loaded, signature, **inputs)
        reply = self.post(addresses[1], signature_name=signature, inputs=inputs)
        self.check_same(reply["outputs"], expected)
        rows = [dict(zip(inputs, row, strict=True)) for row in zip(*inputs.values(), strict=True)]
        reply = self.post(addresses[1], signature_name=signature, instances=rows)
        columns = {name: [row[name] for row in reply["predictions"]] for name in expected}
        self.check_same(columns, expected)

    def test_rest_of_a_single_and_of_a_binary_string(self, addresses, loaded):
        binary = {"b64": "dGhlIP8gZG9n"}
        [text, other] = self.post(addresses[1], instances=["the dog", binary])["predictions"]
        assert [text["translation"]] == translations(loaded, ["the dog"])
        assert [other["translation"]] == translations(loaded, [b"the \xff dog"])
        [alone] = self.post(addresses[1], instances=["the dog"])["predictions"]
        assert alone == {**text, "score": pytest.approx(text["score"], rel=1e-4)}

    @pytest.mark.parametrize(
        "rows", [{"instances": ["a dog", ""]}, {"instances": [{"text": "a dog"}, {"text": ""}]}]
    )
    def test_rest_in_rows_and_in_columns(self, addresses, loaded, rows):
        """What the server's documentation has for a signature with one input."""
        expected = translations(loaded, ["a dog", ""])
        found = self.post(addresses[1], **rows)["predictions"]
        assert [row["translation"] for row in found] == expected
        for columns in (["a dog", ""], {"text": ["a dog", ""]}):
            found = self.post(addresses[1], inputs=columns)["outputs"]
            assert found["translation"] == expected

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            ('{"instances": "a dog"}', "'instances' to be an list/array"),
            ('{"instances": []}', "No values in 'instances' array"),
            ('{"instances": [5]}', "5 is not of expected type: string"),
            ('{"instances": [true]}', "true is not of expected type: string"),
            ('{"instances": [null]}', "null is not of expected type: string"),
            ('{"instances": [["a dog"]]}', r"vectors .*\(1, 1\)"),
            ('{"instances": [{"text": "a"}, "b"]}', "element: 1 .*keys must be equal to: text"),
            ('{"instances": [{"line": "a"}]}', "element: 0 .*keys must be equal to: text"),
            ('{"instances": ["a", {"text": "b"}]}', "not of expected type: string"),
            ('{"instances": [{"b64": "?"}]}', "base64"),
            ('{"inputs": "a dog"}', r"vectors .*\(\)"),
            ('{"inputs": {"line": ["a"]}}', "Missing named input: text"),
            ('{"inputs": ["a"], "instances": ["a"]}', "only one of 'inputs' or 'instances'"),
            ("{}", "Missing 'inputs' or 'instances' key"),
            ("[]", "Is not object"),
            ("", "JSON Parse error"),
            ('{"instances": ["a"', "JSON Parse error"),
            ('{"instances": ["a"], "signature_name": "no"}', "signature name: 'no' not found"),
            ('{"instances": ["a"], "signature_name": 5}', "must be a string value"),
            ('{"instances": ["a"], "signature_name": "score"}', "multiple input tensors"),
            ('{"inputs": ["a"], "signature_name": "score"}', "multiple input tensors"),
            ('{"inputs": {"source": ["a"], "target": []}, "signature_name": "score"}', "one size"),
        ],
    )
    def test_rest_refuses(self, addresses, body, message):
        """As the server does: status 400, and an object with what is wrong."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with pytest.raises(urllib.error.HTTPError) as refused:
            opener.open(f"http://{addresses[1]}/v1/models/small:predict", body.encode(), timeout=60)
        assert refused.value.code == 400
        assert refused.value.headers["Content-Type"] == "application/json"
        [(key, text)] = json.load(refused.value).items()
        assert key == "error"
        assert re.search(message, text), text

    def get(self, address, path):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://{address}/v1/models/{path}", timeout=60) as reply:
            return json.load(reply)

    @pytest.mark.parametrize("path", ["small", "small/versions/1"])
    def test_rest_of_status_and_metadata(self, addresses, loaded, path):
        status = {"error_code": "OK", "error_message": ""}
        versions = [{"version": "1", "state": "AVAILABLE", "status": status}]
        assert self.get(addresses[1], path) == {"model_version_status": versions}
        found = self.get(addresses[1], f"{path}/metadata")
        assert found["model_spec"] == {"name": "small", "signature_name": "", "version": "1"}
        signatures = found["metadata"]["signature_def"]["signature_def"]
        assert set(signatures) >= set(loaded.signatures)
        text = signatures["serving_default"]["inputs"]["text"]
        assert (text["dtype"], text["tensor_shape"]["dim"]) == (
            "DT_STRING",
            [{"size": "-1", "name": ""}],
        )

    def test_rest_of_a_version(self, addresses, loaded):
        body = json.dumps({"instances": ["the dog"]}).encode()
        url = f"http://{addresses[1]}/v1/models/small/versions/1:predict"
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url, body, timeout=60) as reply:
            [found] = json.load(reply)["predictions"]
        assert [found["translation"]] == translations(loaded, ["the dog"])

    @pytest.mark.parametrize(
        ("path", "body", "code", "error"),
        [
            ("large", None, 404, "Could not find any versions of model large"),
            ("small/versions/2", None, 404, "Could not find version 2 of model small"),
            ("large/metadata", None, 404, "Servable not found for request: Latest(large)"),
            (
                "small/versions/2:predict",
                b"{}",
                404,
                "Servable not found for request: Specific(small, 2)",
            ),
            ("small:predict", None, 400, "Malformed request: GET /v1/models/small:predict"),
            ("small", b"{}", 400, "Malformed request: POST /v1/models/small"),
            ("small/versions/one", None, 400, "Malformed request: GET /v1/models/small/versions"),
        ],
    )
    def test_rest_of_what_is_not_there(self, addresses, path, body, code, error):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with pytest.raises(urllib.error.HTTPError) as refused:
            opener.open(f"http://{addresses[1]}/v1/models/{path}", body, timeout=60)
        assert refused.value.code == code
        assert json.load(refused.value)["error"].startswith(error)

    def test_rest_knows_no_other_address(self, addresses):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with pytest.raises(urllib.error.HTTPError) as refused:
            opener.open(f"http://{addresses[1]}/v1/models/small:guess", b"{}", timeout=60)
        assert refused.value.code == 400
        assert json.load(refused.value) == {
            "error": "Malformed request: POST /v1/models/small:guess"
        }

    def test_no_output_is_taken_for_binary(self, loaded):
        for signature in loaded.signatures.values():
            assert not [name for name in signature.structured_outputs if name.endswith("_bytes")]

    @pytest.fixture
    def stub(self, addresses):
        with grpc.insecure_channel(addresses[0]) as channel:
            yield PredictionServiceStub(channel)

    @pytest.mark.parametrize("signature", INPUTS)
    def test_grpc(self, stub, loaded, signature):
        inputs = INPUTS[signature]
        expected = run(loaded, signature, **inputs)
        request = predict_pb2.PredictRequest()
        request.model_spec.name = "small"
        request.model_spec.signature_name = signature
        specs = loaded.signatures[signature].structured_input_signature[1]
        for name, value in inputs.items():
            request.inputs[name].CopyFrom(tf.make_tensor_proto(value, specs[name].dtype))
        reply = stub.Predict(request, timeout=60)
        outputs = {name: tf.make_ndarray(value) for name, value in reply.outputs.items()}
        assert set(outputs) == set(expected)
        for name, value in expected.items():
            np.testing.assert_array_equal(outputs[name], value)

    def test_grpc_metadata(self, stub, loaded):
        request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
        request.model_spec.name = "small"
        reply = stub.GetModelMetadata(request, timeout=60)
        found = get_model_metadata_pb2.SignatureDefMap()
        assert reply.metadata["signature_def"].Unpack(found)
        assert set(found.signature_def) >= set(loaded.signatures)


class TestBatching:
    """The server joins the inputs of requests along dimension 0 and splits the outputs there."""

    @pytest.mark.parametrize("signature", INPUTS)
    def test_parts_equal_single_requests(self, loaded, signature):
        inputs = {name: VALUES[name] for name in INPUTS[signature]}
        joint = run(loaded, signature, **inputs)
        for name, value in joint.items():
            assert len(value) == len(FIRST) + len(SECOND), f"{name} has no batch dimension"
        for part in PARTS:
            single = run(loaded, signature, **{name: v[part] for name, v in inputs.items()})
            split = {name: value[part] for name, value in joint.items()}
            for name in single:
                self.check_same(self.real(split, name), self.real(single, name))

    def real(self, outputs, name):
        """Returns an output's values, in rows of tokens and in weights those of real tokens."""
        value = outputs[name]
        if name == "weights":
            is_target, is_source = (outputs[f"{of}_tokens"] != b"" for of in ("target", "source"))
            real = is_target[:, None, :, None] & is_source[:, None, None, :]
            return value[np.broadcast_to(real, value.shape)]
        if name in ("tokens", "token_log_probs"):
            return value[outputs["tokens"] != b""]
        return value[value != b""] if name in ("source_tokens", "target_tokens") else value

    def check_same(self, found, expected):
        if expected.dtype == np.float32:
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
        else:
            np.testing.assert_array_equal(found, expected)


# The program of the same name, which does not load the tokenizer's ops by itself.
SAVED_MODEL_CLI = """
import json, sys
import tensorflow_text
from tensorflow.python.tools import saved_model_cli
for arguments in json.loads(sys.argv[1]):
    sys.argv[1:] = arguments
    try:
        saved_model_cli.main()
    except SystemExit as end:
        if end.code:
            raise
"""


class TestOtherLoaders:
    @thorough.only
    def test_saved_model_cli(self, exported, loaded):
        run_options = "--tag_set", "serve", "--signature_def", "serving_default"
        commands = [
            ["show", "--dir", str(exported), "--all"],
            ["run", "--dir", str(exported), *run_options, "--input_exprs", 'text=["the dog"]'],
        ]
        command = [sys.executable, "-c", SAVED_MODEL_CLI, json.dumps(commands)]
        done = subprocess.run(command, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        for signature in loaded.signatures:
            assert f"signature_def['{signature}']" in done.stdout
        [translation] = run(loaded, "serving_default", text=["the dog"])["translation"]
        assert f"Result for output key translation:\n[{translation!r}]" in done.stdout

    def test_session(self, exported, loaded):
        """The server loads a SavedModel as TensorFlow 1 does: a graph, a session, fed by name."""
        sentences = [*FIRST, *SECOND]
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            graph = tf.compat.v1.saved_model.load(session, ["serve"], str(exported))
            definition = graph.signature_def["serving_default"]
            text = definition.inputs["text"].name
            output = definition.outputs["translation"].name
            found = session.run(output, {text: sentences})
        assert [line.decode() for line in found] == translations(loaded, sentences)
