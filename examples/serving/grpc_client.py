"""Translates sentences with TensorFlow Serving over gRPC.

Needs `pip install tensorflow-serving-api`, and neither TF Text nor a model:
`python grpc_client.py localhost demo "The dog sleeps."`, or sentences on standard input, one a
line.
"""

import os
import re
import sys
from collections.abc import Sequence

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import grpc
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

# The server refuses a request with more sentences than its `max_batch_size`.
SENTENCES_A_REQUEST = 32
DEADLINE_SECONDS = 60


def translate(
    stub: prediction_service_pb2_grpc.PredictionServiceStub, model: str, sentences: Sequence[str]
) -> list[str]:
    """Returns the translations of at most `SENTENCES_A_REQUEST` sentences."""
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    request.model_spec.signature_name = "serving_default"
    request.inputs["text"].CopyFrom(tf.make_tensor_proto(sentences, tf.string))
    reply = stub.Predict(request, timeout=DEADLINE_SECONDS)
    return [line.decode() for line in tf.make_ndarray(reply.outputs["translation"])]


def main() -> None:
    """Prints a translation for each sentence."""
    if len(sys.argv) < 3:
        sys.exit("usage: grpc_client.py HOST[:PORT] MODEL_NAME [SENTENCE ...]")
    address, model, *sentences = sys.argv[1:]
    if not re.search(r":\d+$", address):
        address += ":8500"
    sys.stdout.reconfigure(encoding="utf-8")
    lines = (line.decode(errors="replace") for line in sys.stdin.buffer)
    sentences = sentences or [line.rstrip("\r\n") for line in lines]
    with grpc.insecure_channel(address) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        for start in range(0, len(sentences), SENTENCES_A_REQUEST):
            part = sentences[start : start + SENTENCES_A_REQUEST]
            try:
                translations = translate(stub, model, part)
            except grpc.RpcError as error:
                sys.exit(
                    f"grpc_client.py: no translation from {address}: {error.code().name}, "
                    f"{error.details()}. Are the address and the model's name right?"
                )
            for sentence, translation in zip(part, translations, strict=True):
                print(f"{sentence}\n  -> {translation}")


if __name__ == "__main__":
    main()
