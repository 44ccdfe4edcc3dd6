"""LibreTranslate's routes, which many applications can be pointed at.

Reference:
    https://docs.libretranslate.com/guides/api_usage
"""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import numpy as np
from fastapi import APIRouter, Request, Response

from keras_transformer.endpoint.errors import RequestError
from keras_transformer.endpoint.languages import identify, language_name
from keras_transformer.endpoint.models import ServedModel, ServedModels
from keras_transformer.endpoint.service import Service, json_response
from keras_transformer.endpoint.tf_serving_json import parse_object, to_json
from keras_transformer.translation.in_batches import encode

_FORM = "application/x-www-form-urlencoded"


def libretranslate_routes(service: Service) -> APIRouter:
    """Makes the routes `/languages`, `/detect` and `/translate`.

    Args:
        service: What answers; a model has to tell its languages to be found by them.

    Example:
        >>> [route.path for route in libretranslate_routes(Service(ServedModels([]))).routes]
        ['/languages', '/detect', '/translate']
    """
    router = APIRouter()

    @router.get("/languages")
    async def languages() -> Response:
        return json_response(_languages(service.models))

    @router.post("/detect")
    async def detect(request: Request) -> Response:
        fields = await _fields(service, request)
        return json_response([_detected(service.models, _texts(fields))])

    @router.post("/translate")
    async def translate(request: Request) -> Response:
        fields = await _fields(service, request)
        asked = _asked(fields, service.models)
        reply: dict[str, Any] = await _translate(service, asked, request)
        if not isinstance(fields["q"], list):
            reply = {name: values[0] for name, values in reply.items()}
        if asked.detected:
            reply["detectedLanguage"] = asked.detected
        return json_response(reply)

    return router


class _Asked(NamedTuple):
    """What is to be translated, by which model, with how many further translations."""

    texts: list[str]
    model: ServedModel
    alternatives: int
    detected: dict[str, Any] | None


async def _fields(service: Service, request: Request) -> dict[str, Any]:
    """Returns the fields of a request, which is JSON or a form."""
    body = await service.read(request)
    is_form = request.headers.get("content-type", "").startswith(_FORM)
    # What curl sends is called a form, whatever it is.
    if not is_form or body.startswith(b"{"):
        return parse_object(body)
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, errors="strict")
    except ValueError as error:
        raise RequestError(f"Invalid request: the form must be UTF-8: {error}") from None
    # A field that is there several times is a list.
    return {name: value[0] if len(value) == 1 else value for name, value in fields.items()}


def _asked(fields: Mapping[str, Any], models: ServedModels) -> _Asked:
    texts = _texts(fields)
    kind = _string(fields, "format", "text")
    if kind != "text":
        raise RequestError(f"{kind[:20]} format is not supported; send text without markup")
    try:
        alternatives = int(fields.get("alternatives") or 0)
    except (OverflowError, TypeError, ValueError):
        raise RequestError("Invalid request: alternatives must be a number") from None
    source, target = _string(fields, "source"), _string(fields, "target")
    detected = _detected(models, texts) if source == "auto" else None
    model = _find(models, detected["language"] if detected else source, target)
    return _Asked(texts, model, max(alternatives, 0), detected)


async def _translate(service: Service, asked: _Asked, request: Request) -> dict[str, list[Any]]:
    """Returns a value for each text."""
    if not asked.texts:
        return {"translatedText": []}
    signature = asked.model.signature("nbest" if asked.alternatives else "serving_default")
    columns = {"text": np.array(encode(asked.texts), object)}
    outputs = await service.compute(signature, columns, request)
    if not asked.alternatives:
        return {"translatedText": to_json(outputs["translation"])}
    found = to_json(outputs["translations"])
    missing = np.finfo(np.float32).min
    counts = (outputs["scores"] > missing).sum(1)
    others = [row[1:count][: asked.alternatives] for row, count in zip(found, counts, strict=True)]
    return {"translatedText": [best for best, *_ in found], "alternatives": others}


def _texts(fields: Mapping[str, Any]) -> list[str]:
    if "q" not in fields:
        raise RequestError("Invalid request: missing q parameter")
    q = fields["q"]
    texts = q if isinstance(q, list) else [q]
    if not all(isinstance(text, str) for text in texts):
        raise RequestError("Invalid request: q must be a string or a list of strings")
    return texts


def _string(fields: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = fields.get(name, default)
    if value is None:
        raise RequestError(f"Invalid request: missing {name} parameter")
    if not isinstance(value, str):
        raise RequestError(f"Invalid request: {name} must be a string")
    return value


def _pairs(models: ServedModels) -> dict[tuple[str, str], ServedModel]:
    """Returns the first model of each pair of languages."""
    pairs: dict[tuple[str, str], ServedModel] = {}
    for model in models:
        if model.languages:
            pairs.setdefault(model.languages, model)
    return pairs


def _find(models: ServedModels, source: str, target: str) -> ServedModel:
    pairs = _pairs(models)
    if (source, target) in pairs:
        return pairs[source, target]
    known = {code for pair in pairs for code in pair}
    for code in (source, target):
        if code not in known:
            raise RequestError(f"{code[:20]} is not supported")
    raise RequestError(f"{target} is not available as a target language from {source}")


def _languages(models: ServedModels) -> list[dict[str, Any]]:
    """Returns all languages, also those that are targets alone: clients read names here."""
    pairs = _pairs(models)
    codes = dict.fromkeys(code for pair in pairs for code in pair)
    return [
        {
            "code": code,
            "name": language_name(code),
            "targets": [target for source, target in pairs if source == code],
        }
        for code in codes
    ]


def _detected(models: ServedModels, texts: list[str]) -> dict[str, Any]:
    sources = dict.fromkeys(source for source, _ in _pairs(models))
    language, confidence = identify("\n".join(texts), list(sources))
    return {"confidence": confidence, "language": language}
