"""The application behind an address, until a signal ends it: what it has begun, it answers."""

import asyncio
import contextlib
import math
import socket
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from keras_transformer.config.checks import require

# Idle connections are closed after so long, as are those on which a request begins and does not
# get on: uvicorn itself would wait for it forever.
_KEEP_ALIVE_SECONDS = 15


def bind(host: str, port: int) -> socket.socket:
    """Takes an address, at which clients wait until they are answered.

    Args:
        host: A name or an address of this machine.
        port: The port; 0 for a free one.

    Raises:
        OSError: If the address cannot be had.
        ValueError: If there is no such port.

    Example:
        >>> with bind("127.0.0.1", 0) as address:
        ...     address.getsockname()[0]
        '127.0.0.1'
    """
    require(0 <= port < 2**16, "port", "from 0 to 65535", port)
    with contextlib.ExitStack() as closing:
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            bound = closing.enter_context(socket.socket(family))
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen()  # Two that only bind a port get it both.
        except OSError as error:
            raise OSError(
                f"`port` must be one that is free, and `host` of this machine: {error.strerror}. "
                f"Received: {host}:{port}"
            ) from error
        closing.pop_all()
    return bound


def make_server(app: FastAPI, grace_seconds: float) -> uvicorn.Server:
    """Makes a server whose `run` answers until SIGINT or SIGTERM comes, and then raises it again.

    Args:
        app: The application.
        grace_seconds: How long requests that were taken may go on after the signal.

    Example:
        >>> make_server(FastAPI(), grace_seconds=30).should_exit
        False
    """
    config = uvicorn.Config(
        app,
        http=_Impatient,
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,  # Logging stays as it is: warnings and errors, on standard error.
        log_level="warning",
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=math.ceil(grace_seconds),
    )
    return uvicorn.Server(config)


class _Impatient(H11Protocol):
    """Waits for the head of a request for a limited time."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._limit = self.loop.call_later(_KEEP_ALIVE_SECONDS, transport.close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        has_head = self.cycle is not None and not self.cycle.response_complete
        if self._limit is None and not has_head:
            self._limit = self.loop.call_later(_KEEP_ALIVE_SECONDS, self.transport.close)
        elif self._limit is not None and has_head:
            self._limit.cancel()
            self._limit = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._limit is not None:
            self._limit.cancel()
        super().connection_lost(exc)
