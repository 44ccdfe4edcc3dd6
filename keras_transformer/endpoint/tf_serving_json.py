"""TF Serving's JSON: requests in rows or in columns become arrays, and arrays become replies.

Reference:
    https://www.tensorflow.org/tfx/serving/api_rest, "Request format", "JSON mapping"
"""

import base64
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from tensorflow.core.framework import types_pb2

from keras_transformer.endpoint.errors import RequestError
from keras_transformer.endpoint.signature import Columns, Signature
from keras_transformer.translation.in_batches import encode

# Numbers that are written as text at a time.
_AT_ONCE = 2**16


def parse_object(content: bytes) -> dict[str, Any]:
    """Parses the body of a request, which has to be an object.

    Raises:
        RequestError: If it is none.

    Example:
        >>> parse_object(b'{"instances": ["a dog"]}')
        {'instances': ['a dog']}
    """
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"JSON Parse error: {error}") from None
    if not isinstance(body, dict):
        raise RequestError(f"JSON Value: {_shown(body)} Is not object")
    return body


def signature_name(body: Mapping[str, Any]) -> str:
    """Returns the name of the signature that a request asks for.

    Raises:
        RequestError: If it is no string, or the request has both rows and columns.

    Example:
        >>> signature_name({"instances": ["a dog"]})
        'serving_default'
    """
    if "instances" in body and "inputs" in body:
        raise RequestError("Not formatted correctly expecting only one of 'inputs' or 'instances'")
    name = body.get("signature_name", "serving_default")
    if not isinstance(name, str):
        raise RequestError("Not formatted correctly. 'signature_name' key must be a string value.")
    return name


def to_columns(body: Mapping[str, Any], inputs: Mapping[str, tf.TensorSpec]) -> Columns:
    """Returns the inputs of a request, in rows ("instances") or in columns ("inputs").

    Args:
        body: The request.
        inputs: Those of the signature, all vectors.

    Raises:
        RequestError: If it has not what the signature takes.

    Example:
        >>> inputs = {"text": tf.TensorSpec([None], tf.string)}
        >>> to_columns({"instances": ["a", {"b64": "/w=="}]}, inputs)["text"].tolist()
        [b'a', b'\\xff']
    """
    if "instances" in body:
        columns = _columns_of_rows(body["instances"], inputs)
    elif "inputs" in body:
        columns = body["inputs"] if _is_object(body["inputs"]) else _alone(body["inputs"], inputs)
        if missing := [name for name in inputs if name not in columns]:
            raise RequestError(f"Missing named input: {missing[0]} in 'inputs' object.")
    else:
        raise RequestError("Missing 'inputs' or 'instances' key")
    shapes = {_shape(columns[name]) for name in inputs}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise RequestError(f"Inputs must be vectors of one size. Received: shapes {shapes}")
    return {name: _to_array(columns[name], spec.dtype) for name, spec in inputs.items()}


def to_reply(columns: Columns, in_rows: bool) -> dict[str, Any]:
    """Returns a reply to a request, in rows or in columns as that is.

    Args:
        columns: The outputs.
        in_rows: Whether the request has rows.

    Example:
        >>> to_reply({"score": np.array([0.1], np.float32)}, in_rows=True)
        {'predictions': [{'score': 0.1}]}
    """
    values = {name: to_json(column) for name, column in columns.items()}
    if in_rows:
        rows = zip(*values.values(), strict=True)
        return {"predictions": [dict(zip(values, row, strict=True)) for row in rows]}
    return {"outputs": values}


def to_json(array: npt.NDArray[Any]) -> Any:
    """Returns an array as lists of what JSON has; float32 in the fewest digits that give it back.

    Example:
        >>> to_json(np.array([[0.1, 2.0]], np.float32)), to_json(np.array([b"a"], object))
        ([[0.1, 2.0]], ['a'])
    """
    if array.dtype == object:
        return _decoded(array.tolist())
    if array.dtype == np.float32:
        array = _in_fewest_digits(array)
    return array.tolist()


def _in_fewest_digits(array: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Goes by text, of which a number takes 128 bytes: so it is done part by part."""
    flat = array.ravel()
    exact = np.empty(flat.shape, np.float64)
    for start in range(0, flat.size, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        exact[part] = flat[part].astype("U")
    return exact.reshape(array.shape)


def signature_definition(signature: Signature) -> dict[str, Any]:
    """Returns a signature as TF Serving describes it: a `SignatureDef` in protobuf's JSON.

    Example:
        >>> signature = Signature("upper", {"text": tf.TensorSpec([None], tf.string)}, {}, None)
        >>> signature_definition(signature)["inputs"]["text"]["dtype"]
        'DT_STRING'
    """
    return {
        "inputs": _tensors(signature.name, signature.inputs),
        "outputs": _tensors(signature.name, signature.outputs),
        "method_name": "tensorflow/serving/predict",
        "defaults": {},
    }


def _tensors(prefix: str, specs: Mapping[str, tf.TensorSpec]) -> dict[str, Any]:
    def described(name: str, spec: tf.TensorSpec) -> dict[str, Any]:
        sizes = [-1 if size is None else size for size in spec.shape]
        dimensions = [{"size": str(size), "name": ""} for size in sizes]
        return {
            "dtype": types_pb2.DataType.Name(spec.dtype.as_datatype_enum),
            "tensor_shape": {"dim": dimensions, "unknown_rank": False},
            "name": f"{prefix}_{name}:0",
        }

    return {name: described(name, spec) for name, spec in specs.items()}


def _columns_of_rows(rows: Any, inputs: Mapping[str, tf.TensorSpec]) -> dict[str, Any]:
    if not isinstance(rows, list):
        raise RequestError(f"JSON Value: {_shown(rows)} Excepting 'instances' to be an list/array")
    if not rows:
        raise RequestError("No values in 'instances' array")
    if not _is_object(rows[0]):
        return _alone(rows, inputs)
    for i, row in enumerate(rows):
        if not _is_object(row) or set(row) != set(inputs):
            raise RequestError(
                f"Failed to process element: {i} of 'instances' list. JSON object: "
                f"{_shown(row)} keys must be equal to: {','.join(sorted(inputs))}"
            )
    return {name: [row[name] for row in rows] for name in inputs}


def _alone(values: Any, inputs: Mapping[str, tf.TensorSpec]) -> dict[str, Any]:
    """Names the values of a signature with one input."""
    if len(inputs) > 1:
        raise RequestError("plain list, but expecting objects as multiple input tensors required")
    return dict.fromkeys(inputs, values)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) and set(value) != {"b64"}


def _shape(value: Any) -> tuple[int, ...]:
    """Returns the sizes of nested lists, by the first of each; not recursive, however deep."""
    sizes = []
    while isinstance(value, list):
        sizes.append(len(value))
        value = value[0] if value else None
    return tuple(sizes[:32])


def _to_array(values: list[Any], dtype: tf.DType) -> npt.NDArray[Any]:
    if dtype == tf.string:
        return np.array([_to_bytes(value) for value in values], object)
    kinds = int if dtype.is_integer else (int, float)
    for value in values:
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise _wrong_type(value, dtype)
    try:
        return np.array(values, dtype.as_numpy_dtype)
    except OverflowError:
        raise RequestError(f"A value is out of the range of {dtype.name}") from None


def _to_bytes(value: Any) -> bytes:
    if isinstance(value, dict) and set(value) == {"b64"}:
        try:
            return base64.b64decode(value["b64"], validate=True)
        except (TypeError, ValueError) as error:
            raise RequestError(f"'b64' must be base64: {error}") from None
    if not isinstance(value, str):
        raise _wrong_type(value, tf.string)
    return encode(value)[0]


def _wrong_type(value: Any, dtype: tf.DType) -> RequestError:
    return RequestError(f"JSON Value: {_shown(value)} is not of expected type: {dtype.name}")


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(part) for part in value]
    return value.decode("utf-8", "replace")


def _shown(value: Any) -> str:
    """Returns what tells a value in a message, which is short whatever it is."""
    if isinstance(value, dict | list):
        return "{...}" if isinstance(value, dict) else "[...]"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:100]}..."
