"""A stand-in for TensorFlow Serving's gRPC interface, before a model that the endpoint serves.

Clients can be tried with it where no server can run. It does what the server's protobuf classes
say of `Predict` and of a model's metadata, and joins no requests. The server's other interface,
REST, is that of `keras-transformer serve`.
"""

import concurrent.futures
import contextlib

import grpc
import tensorflow as tf
from google.protobuf import any_pb2, json_format
from tensorflow_serving.apis import get_model_metadata_pb2, prediction_service_pb2_grpc
from tensorflow_serving.apis.predict_pb2 import PredictResponse

from keras_transformer.endpoint.errors import RequestError
from keras_transformer.endpoint.tf_serving_json import signature_definition

_CODES = {400: grpc.StatusCode.INVALID_ARGUMENT, 404: grpc.StatusCode.NOT_FOUND}


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    def __init__(self, models):
        self.models = models

    @contextlib.contextmanager
    def _status(self, context):
        try:
            yield
        except RequestError as error:
            context.abort(_CODES[error.status], error.message)

    def Predict(self, request, context):  # noqa: N802  gRPC's name
        with self._status(context):
            model = self.models.find(request.model_spec.name)
            signature = model.signature(request.model_spec.signature_name or "serving_default")
            inputs = {name: tf.make_ndarray(value) for name, value in request.inputs.items()}
            if set(inputs) != set(signature.inputs):
                raise RequestError(f"Expected the inputs {sorted(signature.inputs)}")
            reply = PredictResponse()
            reply.model_spec.CopyFrom(request.model_spec)
            for name, value in signature(inputs).items():
                reply.outputs[name].CopyFrom(tf.make_tensor_proto(value))
        return reply

    def GetModelMetadata(self, request, context):  # noqa: N802
        with self._status(context):
            signatures = self.models.find(request.model_spec.name).signatures
        definitions = {name: signature_definition(one) for name, one in signatures.items()}
        found = get_model_metadata_pb2.SignatureDefMap()
        json_format.ParseDict({"signature_def": definitions}, found)
        reply = get_model_metadata_pb2.GetModelMetadataResponse(model_spec=request.model_spec)
        packed = any_pb2.Any()
        packed.Pack(found)
        reply.metadata["signature_def"].CopyFrom(packed)
        return reply


@contextlib.contextmanager
def serve_grpc(models, port=0):
    """Serves models on loopback; gives the address."""
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        PredictionService(models), server
    )
    port = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
