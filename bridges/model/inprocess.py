"""A transport for httpx that runs an ASGI application in this process, streaming for real.

httpx's own ASGI transport collects the whole answer first. This one hands over each piece as the
application sends it, holds the application back when nobody reads, and tells it when the client
has gone. The embedded eye and tests reach their applications through it.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

import httpx

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]

MAX_UNREAD_PIECES: Final = 64
"""Pieces an application may be ahead of the reader, about what socket buffers would hold."""


class InProcessTransport(httpx.AsyncBaseTransport):
    """Sends requests to ``app``. Close it after use: that ends what still runs.

    Like a server, it answers 500 when the application raises before it answered, and breaks the
    answer off when it raises later; the exception itself is kept as :attr:`last_failure`.
    """

    def __init__(self, app: AsgiApp) -> None:
        self.last_failure: Exception | None = None
        self._app = app
        self._exchanges: set[_Exchange] = set()
        self._ports = itertools.count(1)

    @property
    def running(self) -> int:
        """Requests the application has not finished with."""
        return len(self._exchanges)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if not isinstance(request.stream, httpx.AsyncByteStream):
            raise AssertionError("an asynchronous client sends asynchronous bodies")
        body = b"".join([piece async for piece in request.stream])
        exchange = _Exchange(body)
        self._exchanges.add(exchange)
        exchange.task = asyncio.create_task(
            self._run(exchange, _scope(request, next(self._ports))), name="in-process request"
        )
        try:
            status, headers = await exchange.answer()
        except BaseException:
            exchange.leave()
            raise
        return httpx.Response(status, headers=headers, stream=_Answer(exchange))

    async def _run(self, exchange: _Exchange, scope: Message) -> None:
        failure: Exception | None = None
        try:
            await self._app(scope, exchange.receive, exchange.send)
        except Exception as error:
            # An application that sends to a client that has left is not at fault.
            if not exchange.has_left:
                self.last_failure = failure = error
        finally:
            self._exchanges.discard(exchange)
            exchange.end(failure)

    async def aclose(self) -> None:
        """End every request; readers get an error."""
        tasks = [exchange.task for exchange in self._exchanges if exchange.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Exchange:
    """One request and its answer, between the client's task and the application's."""

    def __init__(self, body: bytes) -> None:
        self.task: asyncio.Task[None] | None = None
        self.has_left = False
        self._body: bytes | None = body
        self._sent: deque[Message] = deque()
        self._has_started = False
        self._is_complete = False
        self._has_ended = False
        self._failure: Exception | None = None
        # Set and cleared as a wake-up of whichever side waits; conditions are checked after it.
        self._changed = asyncio.Event()

    # -- the application's side ---------------------------------------------------------------

    async def receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._until(lambda: self.has_left or self._is_complete)
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await self._until(lambda: self.has_left or len(self._sent) < MAX_UNREAD_PIECES)
        if self.has_left:
            raise OSError("the client has closed the connection")
        if self._is_complete:
            raise RuntimeError("the answer was complete already")
        if (message["type"] == "http.response.start") is self._has_started:
            raise RuntimeError(f"{message['type']} is out of place")
        self._has_started = True
        self._is_complete = message["type"] == "http.response.body" and not message.get(
            "more_body", False
        )
        self._sent.append(message)
        self._wake()

    def end(self, failure: Exception | None) -> None:
        """The application returned or raised."""
        self._has_ended = True
        self._failure = failure
        self._wake()

    # -- the client's side --------------------------------------------------------------------

    async def answer(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        """Status and headers."""
        await self._until(lambda: bool(self._sent) or self._has_ended)
        if not self._sent:
            return self._server_error()
        start = self._sent.popleft()
        return start["status"], [(bytes(k), bytes(v)) for k, v in start.get("headers", ())]

    def _server_error(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        if self._failure is None and not self._is_complete:
            raise httpx.ReadError("the application ended, or was ended, without an answer")
        body: Message = {"type": "http.response.body", "body": b"Internal Server Error"}
        self._is_complete = True
        self._sent.append(body)
        return 500, [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]

    async def pieces(self) -> AsyncIterator[bytes]:
        while True:
            await self._until(lambda: bool(self._sent) or self._is_complete or self._has_ended)
            if not self._sent:
                break
            message = self._sent.popleft()
            self._wake()
            if piece := message.get("body", b""):
                yield piece
        if not self._is_complete:
            raise httpx.RemoteProtocolError(
                "peer closed connection without sending complete message body "
                "(incomplete chunked read)"
            ) from self._failure

    def leave(self) -> None:
        """The client wants no more."""
        if not self._is_complete:
            self.has_left = True
        self._sent.clear()
        self._wake()

    # -- waiting ------------------------------------------------------------------------------

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            await self._changed.wait()


class _Answer(httpx.AsyncByteStream):
    def __init__(self, exchange: _Exchange) -> None:
        self._exchange = exchange

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._exchange.pieces()

    async def aclose(self) -> None:
        self._exchange.leave()


def _scope(request: httpx.Request, port: int) -> Message:
    """The request as ASGI describes it; each request seems to come from a port of its own."""
    url = request.url
    raw_path = url.raw_path.split(b"?")[0]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": url.scheme,
        "path": url.path,
        "raw_path": raw_path,
        "root_path": "",
        "query_string": url.query,
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "client": ("127.0.0.1", port),
        "server": (url.host, url.port or (443 if url.scheme == "https" else 80)),
        "state": {},
    }
