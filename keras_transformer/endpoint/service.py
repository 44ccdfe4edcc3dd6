"""What all routes share: reading a request, computing a signature for it, answering in JSON."""

import asyncio
import json
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from starlette.requests import ClientDisconnect

from keras_transformer.endpoint.batching import Batcher
from keras_transformer.endpoint.errors import RequestError
from keras_transformer.endpoint.limits import Limits, read_body
from keras_transformer.endpoint.metrics import Metrics
from keras_transformer.endpoint.models import ServedModels
from keras_transformer.endpoint.signature import Columns, Signature


class Service:
    """Models, and what computes their signatures for requests.

    Args:
        models: What is served.
        limits: How much a request may ask for.

    Example:
        >>> Service(ServedModels([])).limits.rows
        64
    """

    def __init__(self, models: ServedModels, limits: Limits = Limits()) -> None:
        self.models = models
        self.limits = limits
        self.metrics = Metrics()
        self._batcher = Batcher(limits, self.metrics.batch_rows.observe)
        self.metrics.waiting_rows.set_function(lambda: self._batcher.waiting_rows)

    async def read(self, request: Request) -> bytes:
        """Reads the body of a request, within the limits.

        Raises:
            RequestError: If it is beyond them, or its client has gone.
        """
        try:
            return await read_body(request.stream(), self.limits)
        except ClientDisconnect:
            raise _gone() from None

    async def compute(self, signature: Signature, columns: Columns, request: Request) -> Columns:
        """Computes a signature, for as long as somebody waits for it.

        Args:
            signature: The signature.
            columns: Its inputs.
            request: Whose it is, read to its end.

        Raises:
            RequestError: If there is too much to do, no answer in time, or nobody who waits.
        """
        outputs = asyncio.ensure_future(self._batcher.run(signature, columns))
        # Once the body is read, what comes next is that the client has gone.
        gone = asyncio.ensure_future(request.receive())
        try:
            await asyncio.wait(
                {outputs, gone},
                timeout=self.limits.seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if outputs.done():
                return outputs.result()
            if gone.done():
                raise _gone()
            raise RequestError(
                f"Timed out after {self.limits.seconds:g} seconds", HTTPStatus.GATEWAY_TIMEOUT
            )
        finally:
            outputs.cancel()
            gone.cancel()


def _gone() -> RequestError:
    """Returns what the metrics count of a client that has gone; nobody else hears of it."""
    return RequestError("The client has gone", 499)


def json_response(content: Any, status: int = HTTPStatus.OK) -> Response:
    """Makes a reply of JSON in UTF-8.

    Example:
        >>> json_response({"translatedText": "f\\u00fcr"}).body.decode()
        '{"translatedText": "für"}'
    """
    # Half of a surrogate pair, as an error may repeat it from a request, is no character.
    body = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, status, media_type="application/json")
