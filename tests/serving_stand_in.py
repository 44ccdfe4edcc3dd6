"""A stand-in for TensorFlow Serving: its gRPC and REST interfaces before a loaded SavedModel.

Clients can be tried with it where no server can run. It does what the server's protobuf classes
and https://www.tensorflow.org/tfx/serving/api_rest say of `Predict`, of the status of a model and
of its metadata, for one version of one model, and joins no requests.
`python tests/serving_stand_in.py exports/demo/1 demo` serves on the ports of the server.
"""

import base64
import concurrent.futures
import contextlib
import http.server
import json
import re
import sys
import threading
from pathlib import Path

import grpc
import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  registers the tokenizer's ops
from google.protobuf import any_pb2, json_format
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import get_model_metadata_pb2, prediction_service_pb2_grpc
from tensorflow_serving.apis.predict_pb2 import PredictResponse


class Model:
    """Runs signatures by name; raises LookupError for what it lacks, ValueError for a bad input.

    Its version is the name of its folder.
    """

    def __init__(self, path, name, loaded=None, max_batch_size=64):
        self.path, self.name, self.max_batch_size = path, name, max_batch_size
        self.version = str(int(Path(path).name))
        self.loaded = loaded or tf.saved_model.load(path)

    def has(self, name, version=None):
        return name == self.name and version in (None, self.version)

    def check_name(self, name, version=None):
        if not self.has(name, version):
            asked = f"Latest({name})" if version is None else f"Specific({name}, {version})"
            raise LookupError(f"Servable not found for request: {asked}")

    def status(self, name, version=None):
        if not self.has(name, version):
            what = "any versions" if version is None else f"version {version}"
            raise LookupError(f"Could not find {what} of model {name}")
        fine = {"error_code": "OK", "error_message": ""}
        status = {"version": self.version, "state": "AVAILABLE", "status": fine}
        return {"model_version_status": [status]}

    def signatures(self):
        saved = saved_model_pb2.SavedModel.FromString(
            Path(self.path, "saved_model.pb").read_bytes()
        )
        signatures = get_model_metadata_pb2.SignatureDefMap()
        for name, signature in saved.meta_graphs[0].signature_def.items():
            signatures.signature_def[name].CopyFrom(signature)
        return signatures

    def metadata(self, name, version=None):
        self.check_name(name, version)
        signatures = json_format.MessageToDict(
            self.signatures(),
            preserving_proto_field_name=True,
            always_print_fields_with_no_presence=True,
        )
        spec = {"name": name, "signature_name": "", "version": self.version}
        return {"model_spec": spec, "metadata": {"signature_def": signatures}}

    def input_types(self, signature):
        if signature not in self.loaded.signatures:
            raise ValueError(f"Serving signature name: {signature!r} not found in signature def")
        specs = self.loaded.signatures[signature].structured_input_signature[1]
        return {name: spec.dtype for name, spec in specs.items()}

    def predict(self, signature, inputs):
        """Takes and gives arrays by name."""
        types = self.input_types(signature)
        if set(inputs) != set(types):
            raise ValueError(f"Expected the inputs {sorted(types)}. Received: {sorted(inputs)}")
        tensors = {name: tf.constant(inputs[name], types[name]) for name in types}
        shapes = {tuple(tensor.shape) for tensor in tensors.values()}
        if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
            raise ValueError(f"Inputs must be vectors of one size. Received: shapes {shapes}")
        [[size]] = shapes
        if size > self.max_batch_size:
            raise ValueError(
                f"Task size {size} is larger than maximum input batch size {self.max_batch_size}"
            )
        outputs = self.loaded.signatures[signature](**tensors)
        return {name: value.numpy() for name, value in outputs.items()}


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    def __init__(self, model):
        self.model = model

    @contextlib.contextmanager
    def _status(self, context):
        try:
            yield
        except LookupError as error:
            context.abort(grpc.StatusCode.NOT_FOUND, error.args[0])
        except ValueError as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))

    def Predict(self, request, context):  # noqa: N802  gRPC's name
        with self._status(context):
            self.model.check_name(request.model_spec.name)
            signature = request.model_spec.signature_name or "serving_default"
            inputs = {name: tf.make_ndarray(value) for name, value in request.inputs.items()}
            reply = PredictResponse()
            reply.model_spec.CopyFrom(request.model_spec)
            for name, value in self.model.predict(signature, inputs).items():
                reply.outputs[name].CopyFrom(tf.make_tensor_proto(value))
        return reply

    def GetModelMetadata(self, request, context):  # noqa: N802
        with self._status(context):
            self.model.check_name(request.model_spec.name)
        reply = get_model_metadata_pb2.GetModelMetadataResponse(model_spec=request.model_spec)
        packed = any_pb2.Any()
        packed.Pack(self.model.signatures())
        reply.metadata["signature_def"].CopyFrom(packed)
        return reply


def parse(content):
    """Returns a request's body and the name of its signature."""
    try:
        body = json.loads(content)
    except ValueError as error:
        raise ValueError(f"JSON Parse error: {error}") from error
    if not isinstance(body, dict):
        raise ValueError(f"JSON Value: {json.dumps(body)} Is not object")
    if ("instances" in body) and ("inputs" in body):
        raise ValueError("Not formatted correctly expecting only one of 'inputs' or 'instances'")
    signature = body.get("signature_name", "serving_default")
    if not isinstance(signature, str):
        raise ValueError("Not formatted correctly. 'signature_name' key must be a string value.")
    return body, signature


def to_columns(body, types):
    """Returns the inputs of a body by name, which has them in rows ("instances") or columns."""
    if "instances" in body:
        columns = _columns_of_rows(body["instances"], types)
    elif "inputs" in body:
        columns = body["inputs"] if _is_object(body["inputs"]) else _alone(body["inputs"], types)
        if missing := [name for name in types if name not in columns]:
            raise ValueError(f"Missing named input: {missing[0]} in 'inputs' object.")
    else:
        raise ValueError("Missing 'inputs' or 'instances' key")
    return {name: _from_json(columns[name], dtype) for name, dtype in types.items()}


def _columns_of_rows(rows, types):
    if not isinstance(rows, list):
        raise ValueError(
            f"JSON Value: {json.dumps(rows)} Excepting 'instances' to be an list/array"
        )
    if not rows:
        raise ValueError("No values in 'instances' array")
    if not _is_object(rows[0]):
        return _alone(rows, types)
    for i, row in enumerate(rows):
        if not _is_object(row) or set(row) != set(types):
            raise ValueError(
                f"Failed to process element: {i} of 'instances' list. JSON object: "
                f"{json.dumps(row)} keys must be equal to: {','.join(sorted(types))}"
            )
    return {name: [row[name] for row in rows] for name in types}


def _alone(values, types):
    """Names the values of a signature with one input."""
    if len(types) > 1:
        raise ValueError("plain list, but expecting objects as multiple input tensors required")
    return dict.fromkeys(types, values)


def _is_object(value):
    return isinstance(value, dict) and set(value) != {"b64"}


def _from_json(value, dtype):
    if isinstance(value, list):
        return [_from_json(part, dtype) for part in value]
    if dtype == tf.string and isinstance(value, dict) and not _is_object(value):
        return base64.b64decode(value["b64"], validate=True)
    kinds = str if dtype == tf.string else int if dtype.is_integer else (int, float)
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise ValueError(f"JSON Value: {json.dumps(value)} is not of expected type: {dtype.name}")
    return value


def to_json(name, value):
    """Returns an output as JSON has it: a name that ends in `_bytes` means base64."""
    if isinstance(value, np.ndarray):
        return [to_json(name, part) for part in value]
    if isinstance(value, bytes):
        is_binary = name.endswith("_bytes")
        return {"b64": base64.b64encode(value).decode()} if is_binary else value.decode()
    # The shortest digits that give the float32 back.
    return float(str(value)) if isinstance(value, np.floating) else value.item()


class RestHandler(http.server.BaseHTTPRequestHandler):
    model = None

    def do_GET(self):
        asked = re.fullmatch(r"/v1/models/([^/:]+)(?:/versions/(\d+))?(/metadata)?", self.path)
        if asked and asked[3]:
            return self._answer(lambda: self.model.metadata(asked[1], asked[2]))
        return self._answer(asked and (lambda: self.model.status(asked[1], asked[2])))

    def do_POST(self):
        content = self.rfile.read(int(self.headers["Content-Length"] or 0))
        asked = re.fullmatch(r"/v1/models/([^/:]+)(?:/versions/(\d+))?:predict", self.path)
        return self._answer(asked and (lambda: self._predict(asked[1], asked[2], content)))

    def _answer(self, answer):
        """Replies with what a function gives; None for an address that there is not."""
        if answer is None:
            return self._reply(400, {"error": f"Malformed request: {self.command} {self.path}"})
        try:
            return self._reply(200, answer())
        except LookupError as error:
            return self._reply(404, {"error": error.args[0]})
        except ValueError as error:
            return self._reply(400, {"error": str(error)})

    def _predict(self, name, version, content):
        self.model.check_name(name, version)
        body, signature = parse(content)
        inputs = to_columns(body, self.model.input_types(signature))
        outputs = {
            name: to_json(name, value)
            for name, value in self.model.predict(signature, inputs).items()
        }
        if "inputs" in body:
            return {"outputs": outputs}
        rows = zip(*outputs.values(), strict=True)
        return {"predictions": [dict(zip(outputs, row, strict=True)) for row in rows]}

    def _reply(self, status, content):
        content = json.dumps(content, ensure_ascii=False, indent=1).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        """Keeps quiet."""


@contextlib.contextmanager
def serve(model, grpc_port=0, rest_port=0):
    """Serves a `Model` on loopback; gives the addresses of gRPC and REST. 0 is a free port."""
    grpc_server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        PredictionService(model), grpc_server
    )
    grpc_port = grpc_server.add_insecure_port(f"127.0.0.1:{grpc_port}")
    handler = type("Handler", (RestHandler,), {"model": model})
    rest_server = http.server.ThreadingHTTPServer(("127.0.0.1", rest_port), handler)
    grpc_server.start()
    threading.Thread(target=rest_server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{grpc_port}", f"127.0.0.1:{rest_server.server_port}"
    finally:
        rest_server.shutdown()
        rest_server.server_close()
        grpc_server.stop(None).wait()


if __name__ == "__main__":
    with serve(Model(*sys.argv[1:]), grpc_port=8500, rest_port=8501) as addresses:
        print("Serving; Ctrl-C ends it:", *addresses, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
