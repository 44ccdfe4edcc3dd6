"""The page: three files without anything from elsewhere, which speak to the same routes."""

import dataclasses
from importlib import resources
from typing import Any

from fastapi import APIRouter, Response

from keras_transformer.endpoint.models import ServedModel
from keras_transformer.endpoint.service import Service, json_response
from keras_transformer.export.metadata import eos_of

_FILES = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}

_HEADERS = {
    # Whatever a text holds, nothing of it is run, and nothing is loaded from elsewhere.
    "Content-Security-Policy": "default-src 'self'; img-src data:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}


def page_routes(service: Service) -> APIRouter:
    """Makes the routes of the page's files, and of `/served`, which tells it what there is.

    Args:
        service: What answers.

    Example:
        >>> from keras_transformer.endpoint.models import ServedModels
        >>> [route.path for route in page_routes(Service(ServedModels([]))).routes][:2]
        ['/served', '/']
    """
    router = APIRouter()

    @router.get("/served")
    async def served() -> Response:
        models = [_described(model) for model in service.models]
        return json_response({"models": models, "limits": dataclasses.asdict(service.limits)})

    folder = resources.files("keras_transformer.endpoint") / "page_files"
    for path, (file, media_type) in _FILES.items():
        _add_file(router, path, (folder / file).read_bytes(), media_type)
    return router


def _add_file(router: APIRouter, path: str, content: bytes, media_type: str) -> None:
    @router.get(path)
    async def file() -> Response:
        return Response(content, headers=_HEADERS, media_type=media_type)


def _described(model: ServedModel) -> dict[str, Any]:
    return {
        "name": model.name,
        "version": model.version,
        "languages": model.languages,
        "eos": eos_of(model.metadata),
        "parameters": model.metadata.get("parameters"),
        "signatures": sorted(model.signatures),
    }
