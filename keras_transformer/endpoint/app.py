"""The application: all routes, and for every error a reply in JSON that says what is wrong.

But for a host that is not served: Starlette refuses it as text, before there is a route.
"""

import time
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keras_transformer.endpoint.errors import RequestError
from keras_transformer.endpoint.libretranslate import libretranslate_routes
from keras_transformer.endpoint.metrics import PATH as METRICS_PATH
from keras_transformer.endpoint.metrics import Metrics
from keras_transformer.endpoint.page import page_routes
from keras_transformer.endpoint.service import Service, json_response
from keras_transformer.endpoint.tf_serving import malformed, tf_serving_routes


def make_app(service: Service, allowed_hosts: Sequence[str] = ("*",)) -> FastAPI:
    """Makes the application.

    Args:
        service: What answers.
        allowed_hosts: Hosts that requests may name, from `hosts_of`; others are refused.

    Example:
        >>> from keras_transformer.endpoint.models import ServedModels
        >>> app = make_app(Service(ServedModels([])))
    """
    # No pages about the routes: they would load their scripts from elsewhere.
    app = FastAPI(openapi_url=None, redirect_slashes=False)
    for routes in (tf_serving_routes, libretranslate_routes, page_routes):
        app.include_router(routes(service))

    @app.get("/health")
    async def health() -> Response:
        return json_response({"status": "ok"})

    @app.get(METRICS_PATH)
    @app.get("/metrics")
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")

    app.add_exception_handler(RequestError, _refused)
    app.add_exception_handler(HTTPException, _not_routed)
    app.add_exception_handler(Exception, _failed)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(allowed_hosts), www_redirect=False)
    app.add_middleware(_Measured, metrics=service.metrics)
    return app


async def _refused(request: Request, error: Any) -> Response:
    waits = error.status == HTTPStatus.SERVICE_UNAVAILABLE
    reply = json_response({"error": error.message}, error.status)
    if waits:
        reply.headers["Retry-After"] = "1"
    return reply


async def _not_routed(request: Request, error: Any) -> Response:
    if request.scope["path"].startswith("/v1/"):
        return await _refused(request, malformed(request))
    return json_response({"error": error.detail}, error.status_code)


async def _failed(request: Request, error: Exception) -> Response:
    # uvicorn's log has it all.
    return json_response({"error": "Internal error"}, HTTPStatus.INTERNAL_SERVER_ERROR)


class _Measured:
    """Counts each request under its route."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), HTTPStatus.INTERNAL_SERVER_ERROR.value

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.observe(route, status, time.perf_counter() - start)
