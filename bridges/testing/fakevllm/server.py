"""Serves a fake, or any ASGI application, on a real socket of this machine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import uvicorn

LOOPBACK: Final = "127.0.0.1"
_KEEP_ALIVE_S: Final = 5


class RunningServer:
    """A server in the event loop that runs the test. Made by :func:`serve`."""

    def __init__(self, app: Any, port: int) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((LOOPBACK, port))
        except OSError:
            self._socket.close()
            raise
        self.port: int = self._socket.getsockname()[1]
        # No lifespan, no websockets, no log: an injected failure must not look like a real one.
        self._config = uvicorn.Config(
            app, lifespan="off", ws="none", log_config=None, log_level="critical",
            access_log=False, timeout_keep_alive=_KEEP_ALIVE_S,
        )  # fmt: skip
        self._server = uvicorn.Server(self._config)

    @property
    def url(self) -> str:
        """Base URL of the API."""
        return f"http://{LOOPBACK}:{self.port}/v1"

    @property
    def open_connections(self) -> int:
        return len(self._server.server_state.connections)

    async def start(self) -> None:
        self._config.load()
        self._server.lifespan = self._config.lifespan_class(self._config)
        await self._server.startup(sockets=[self._socket])

    def drop_connections(self) -> None:
        """Break every connection off, as a network does."""
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()

    async def kill(self) -> None:
        """Stop listening and break every connection off, as a server that is killed."""
        for listener in self._server.servers:
            listener.close()
        self._socket.close()
        self.drop_connections()
        tasks = list(self._server.server_state.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def serve(app: Any, *, port: int = 0) -> AsyncIterator[RunningServer]:
    """Serve ``app`` on 127.0.0.1 while the context is open.

    Args:
        app: a :class:`FakeVLLM`, or any ASGI application that needs no lifespan.
        port: to listen on; 0 takes a free one.
    """
    server = RunningServer(app, port)
    await server.start()
    try:
        yield server
    finally:
        await server.kill()
