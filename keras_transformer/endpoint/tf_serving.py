"""The routes of TF Serving's REST interface: predict, status and metadata.

Reference:
    https://www.tensorflow.org/tfx/serving/api_rest
"""

import asyncio
import re
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request, Response

from keras_transformer.endpoint.errors import RequestError
from keras_transformer.endpoint.models import ServedModel, ServedModels
from keras_transformer.endpoint.service import Service, json_response
from keras_transformer.endpoint.tf_serving_json import (
    parse_object,
    signature_definition,
    signature_name,
    to_columns,
    to_reply,
)

_MODEL = (
    r"/v1/models/(?P<name>[^/:]+)(?:/versions/(?P<version>\d{1,18})|/labels/(?P<label>[^/:]+))?"
)
_READ = re.compile(rf"{_MODEL}(?P<metadata>/metadata)?")
_PREDICT = re.compile(rf"{_MODEL}:predict")


def tf_serving_routes(service: Service) -> APIRouter:
    """Makes the routes.

    Args:
        service: What answers.

    Example:
        >>> [route.path for route in tf_serving_routes(Service(ServedModels([]))).routes]
        ['/v1/{rest:path}', '/v1/{rest:path}']
    """
    router = APIRouter()

    @router.get("/v1/{rest:path}")
    async def read(request: Request) -> Response:
        asked = _asked(_READ, request)
        describe = _metadata if asked["metadata"] else _status
        return json_response(describe(service.models, asked["name"], _version(asked)))

    @router.post("/v1/{rest:path}")
    async def predict(request: Request) -> Response:
        asked = _asked(_PREDICT, request)
        model = service.models.find(asked["name"], _version(asked))
        body = parse_object(await service.read(request))
        signature = model.signature(signature_name(body))
        columns = to_columns(body, signature.inputs)
        outputs = await service.compute(signature, columns, request)
        in_rows = "instances" in body
        # Attention weights of long texts are millions of numbers, for which nobody else waits.
        return await asyncio.to_thread(lambda: json_response(to_reply(outputs, in_rows)))

    return router


def _asked(pattern: re.Pattern[str], request: Request) -> re.Match[str]:
    found = pattern.fullmatch(request.scope["path"])
    if found is None:
        raise malformed(request)
    return found


def malformed(request: Request) -> RequestError:
    """Returns what TF Serving says of an address, or of a method, that it has not.

    Example:
        >>> scope = {"type": "http", "method": "PUT", "path": "/v1/models/demo"}
        >>> malformed(Request(scope)).message
        'Malformed request: PUT /v1/models/demo'
    """
    return RequestError(f"Malformed request: {request.method} {request.scope['path'][:200]}")


def _version(asked: re.Match[str]) -> int | None:
    if asked["label"]:
        raise RequestError(f"Unrecognized servable version label: {asked['label'][:100]}")
    return int(asked["version"]) if asked["version"] else None


def _status(models: ServedModels, name: str, version: int | None) -> dict[str, Any]:
    found = [model for model in models.versions(name) if version in (None, model.version)]
    if not found:
        what = "any versions" if version is None else f"version {version}"
        raise RequestError(f"Could not find {what} of model {name}", HTTPStatus.NOT_FOUND)
    return {"model_version_status": [_available(model) for model in found]}


def _available(model: ServedModel) -> dict[str, Any]:
    fine = {"error_code": "OK", "error_message": ""}
    return {"version": str(model.version), "state": "AVAILABLE", "status": fine}


def _metadata(models: ServedModels, name: str, version: int | None) -> dict[str, Any]:
    model = models.find(name, version)
    definitions = {key: signature_definition(one) for key, one in model.signatures.items()}
    return {
        "model_spec": {"name": name, "signature_name": "", "version": str(model.version)},
        "metadata": {"signature_def": {"signature_def": definitions}},
    }
