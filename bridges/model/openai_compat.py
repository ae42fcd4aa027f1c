"""A chat-completions server over HTTP: ``vllm serve`` and whatever speaks like it.

Theory of operation. One backend serves one session over one keep-alive connection. A call builds
its body, streams the answer, and ends in exactly one of two ways: ``Finished`` after a reply that
is whole, or a ``BridgeError`` with a code by which the core chooses a recovery. Nothing is tried
twice here and nothing of what users say or show is logged. Closing the iterator, or cancelling the
task that reads it, closes the connection, which ends the request at the server (J6).
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Final

import httpx

from onlooker.bridges.base import (
    FrameBytes,
    ModelBackend,
    ModelCapabilities,
    ModelItem,
    ModelProbe,
    ModelRequest,
)
from onlooker.bridges.boundary import Deadline
from onlooker.bridges.model.body import BodyBuilder
from onlooker.bridges.model.chunks import CompletionReader
from onlooker.bridges.model.connection import Connection, parse_base_url
from onlooker.bridges.model.probe import probe_server
from onlooker.bridges.model.refusals import read_refusal
from onlooker.errors import BridgeError, ConfigError
from onlooker.types import ServerLimits

BRIDGE: Final = "model"
_DRAIN_S: Final = 0.25
"""Longest wait, after ``[DONE]``, for the end of the body that lets the connection live on."""
_SESSION_TOKEN: Final = "x-session-token"
_MAX_TOKEN_CHARS: Final = 1_024


class OpenAICompat:
    """A :class:`~onlooker.bridges.base.ModelBackend` over HTTP. Close it after use.

    Args:
        base_url: such as ``http://127.0.0.1:8000/v1``.
        model: name of the served model; None takes the server's only one.
        api_key: sent as a bearer token.
        limits: what the server can hold, where it does not tell it itself.
        transport: stands in for the network (an in-process application, tests).
        capabilities: what the server can do; found out by :meth:`probe` when not given.
        routing_id: stable name of the session for routers, the same for all its backends; made
            up when not given. Not a secret.
        routing_header: header that carries it.
        connect_timeout_s: longest wait for a connection.
        probe_timeout_s: longest wait in :meth:`probe`.
        idle_timeout_s: longest silence between two pieces of an answer.

    Raises:
        ConfigError: the URL is not one, or the API key or routing id cannot be sent.
    """

    def __init__(
        self,
        base_url: str,
        *,
        model: str | None = None,
        api_key: str | None = None,
        limits: ServerLimits | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        capabilities: ModelCapabilities | None = None,
        routing_id: str | None = None,
        routing_header: str = "X-Session-ID",
        connect_timeout_s: float = 5.0,
        probe_timeout_s: float = 10.0,
        idle_timeout_s: float = 30.0,
    ) -> None:
        self._model = model
        self._limits = limits if limits is not None else ServerLimits()
        self._knows_capabilities = capabilities is not None
        self._capabilities = capabilities or ModelCapabilities()
        self._routing_id = routing_id or secrets.token_hex(8)
        self._probe_timeout_s = probe_timeout_s
        self._idle_timeout_s = idle_timeout_s
        self._session_token: str | None = None
        headers = {"Accept-Encoding": "identity", routing_header: self._routing_id}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        _check_headers(headers)
        self._connection = Connection(
            parse_base_url(base_url),
            bridge=BRIDGE,
            headers=headers,
            transport=transport,
            connect_timeout_s=connect_timeout_s,
        )
        self._bodies = BodyBuilder(bridge=BRIDGE, user=self._routing_id)

    @property
    def capabilities(self) -> ModelCapabilities:
        """Known after :meth:`probe`; before it, the least."""
        return self._capabilities

    async def probe(self) -> ModelProbe:
        """Ask for the model and its limits; raises ``BridgeError`` when it cannot serve."""
        deadline = Deadline(self._probe_timeout_s, bridge=BRIDGE)
        found = await probe_server(self._connection, deadline, bridge=BRIDGE, model=self._model)
        self._model = found.model
        if not self._knows_capabilities:
            self._capabilities = replace(
                self._capabilities, structured_outputs=found.is_vllm, references=found.is_vllm
            )
        limits = ServerLimits(
            max_model_len=found.max_model_len or self._limits.max_model_len,
            max_images=self._limits.max_images,
        )
        return ModelProbe(found.model, limits, found.server)

    async def stream(
        self, request: ModelRequest, frames: FrameBytes
    ) -> AsyncGenerator[ModelItem, None]:
        """Yield deltas, then exactly one ``Finished``; raise ``BridgeError`` otherwise."""
        deadline = Deadline(request.timeout_s, bridge=BRIDGE)
        body = self._bodies.build(request, frames, model=self._model)
        if request.fresh_connection:
            await self._connection.renew()
        sending = self._connection.send(
            "POST",
            "/chat/completions",
            deadline,
            content=body.data,
            headers=self._headers(request.call_id),
        )
        async with sending as response:
            await self._check(response, deadline)
            reader = CompletionReader(bridge=BRIDGE, where=self._connection.where)
            pieces = self._connection.read(response, deadline, idle_s=self._idle_timeout_s)
            async with aclosing(pieces):
                async for piece in pieces:
                    for delta in reader.feed(piece):
                        yield delta
                    if reader.is_done:
                        break
                finished = reader.finish()
                await self._drain(pieces)
            # Given out last: who reads no further must not close a connection that is still good.
            yield finished

    async def aclose(self) -> None:
        await self._connection.aclose()
        self._bodies.forget()

    # -- private ------------------------------------------------------------------------------

    def _headers(self, call_id: str) -> dict[str, str]:
        # Unique over sessions: the server uses it as the id of the request.
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            "X-Request-Id": f"{self._routing_id}-{call_id}",
        }
        if self._session_token is not None:
            headers[_SESSION_TOKEN] = self._session_token
        return headers

    async def _check(self, response: httpx.Response, deadline: Deadline) -> None:
        """Raises for anything but the beginning of a stream."""
        content_type = response.headers.get("content-type", "text/event-stream")
        if response.status_code == 200 and content_type.startswith("text/event-stream"):
            token = response.headers.get(_SESSION_TOKEN)
            if token is not None and len(token) <= _MAX_TOKEN_CHARS:
                self._session_token = token
            return
        body = await self._connection.read_whole(response, deadline)
        raise read_refusal(
            response.status_code, content_type, body, bridge=BRIDGE, where=self._connection.where
        )

    async def _drain(self, pieces: AsyncIterator[bytes]) -> None:
        """Read what follows ``[DONE]``, so that the connection can be used again."""
        rest = Deadline(_DRAIN_S, bridge=BRIDGE)
        try:
            while True:
                await rest.wait(anext(pieces))
        except StopAsyncIteration:
            return
        except BridgeError:
            # The reply is whole; the connection is closed on the way out instead of kept.
            return


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            # Most often an API key with the line end of the file it was read from.
            raise ConfigError(f"the value for the header {name} is not one line of ASCII text")


def build(
    *,
    base_url: str,
    model: str | None = None,
    api_key: str | None = None,
    limits: ServerLimits | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
    routing_id: str | None = None,
    connect_timeout_s: float = 5.0,
    probe_timeout_s: float = 10.0,
    idle_timeout_s: float = 30.0,
) -> ModelBackend:
    """The factory behind the name ``openai_compat``; see :class:`OpenAICompat`."""
    return OpenAICompat(
        base_url,
        model=model,
        api_key=api_key,
        limits=limits,
        transport=transport,
        routing_id=routing_id,
        connect_timeout_s=connect_timeout_s,
        probe_timeout_s=probe_timeout_s,
        idle_timeout_s=idle_timeout_s,
    )
