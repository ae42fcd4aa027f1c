"""The application: routes, and what tests want to know afterwards."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from onlooker.bridges.model.inprocess import InProcessTransport, Message, Receive, Send
from onlooker.bridges.testing.fakevllm import wire
from onlooker.bridges.testing.fakevllm.completion import Completions
from onlooker.bridges.testing.fakevllm.config import FakeConfig
from onlooker.bridges.testing.fakevllm.engine import Engine
from onlooker.bridges.testing.fakevllm.exchange import Exchange
from onlooker.bridges.testing.fakevllm.faults import FaultPlan
from onlooker.bridges.testing.fakevllm.messages import parse_messages, parse_object
from onlooker.bridges.testing.fakevllm.refused import Refused
from onlooker.bridges.testing.fakevllm.replies import ReplyFunction, default_reply
from onlooker.bridges.testing.fakevllm.request import FakeRequest
from onlooker.bridges.testing.fakevllm.tokens import token_ids


class FakeVLLM:
    """A stand-in for ``vllm serve`` to test against: an ASGI application.

    It checks requests, keeps both caches, counts, and misbehaves on demand, in the shapes and
    words of the real server. The text comes from a reply function. Reach it in process through
    :meth:`transport`, or over a socket with :func:`onlooker.testing.serve`.

    Args:
        config: what the server is like.
        reply: text of the reply to a request.
        sleep: how it waits; tests may pass their own.
    """

    def __init__(
        self,
        config: FakeConfig | None = None,
        *,
        reply: ReplyFunction = default_reply,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.config = config if config is not None else FakeConfig()
        self.engine = Engine(self.config)
        self.connections: set[tuple[str, int]] = set()
        """Addresses that requests came from: one for each connection."""
        self._completions = Completions(self.config, self.engine, reply, sleep)

    def transport(self) -> InProcessTransport:
        """A transport for httpx that reaches this server without a socket."""
        return InProcessTransport(self)

    # -- what happened ------------------------------------------------------------------------

    @property
    def faults(self) -> FaultPlan:
        """What shall go wrong."""
        return self._completions.faults

    @property
    def requests(self) -> Sequence[FakeRequest]:
        """The newest accepted requests, in order, without picture data."""
        return self._completions.requests

    @property
    def refused(self) -> Sequence[str]:
        """Messages of the newest error bodies."""
        return self._completions.refused

    @property
    def chat_requests(self) -> int:
        """Requests for a completion, refused ones included."""
        return self._completions.count

    @property
    def running(self) -> int:
        return self._completions.running

    @property
    def aborts(self) -> int:
        """Requests whose client left before the end."""
        return self._completions.aborts

    @property
    def finished(self) -> Mapping[str, int]:
        """Completed requests by finish reason."""
        return self._completions.finished

    @property
    def is_dead(self) -> bool:
        """The engine died: every further request fails."""
        return self._completions.is_dead

    def restart(self) -> None:
        """As a server that was started again: alive, with empty caches. The log stays."""
        self._completions.is_dead = False
        self.engine.pictures.evict()
        self.engine.prefixes.clear()

    def say(self, reply: ReplyFunction) -> None:
        """Reply with another function from now on."""
        self._completions.reply = reply

    async def until_idle(self) -> None:
        """Wait until no request is running."""
        await self._completions.idle.wait()

    # -- the application ----------------------------------------------------------------------

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise AssertionError("serve the fake without lifespan and without websockets")
        host, port = scope["client"] or ("", 0)
        client = (str(host), int(port))
        self.connections.add(client)
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        exchange = Exchange(receive, send, headers, client)
        route = _ROUTES.get((scope["method"], scope["path"]))
        if route is None:
            is_known = any(path == scope["path"] for _, path in _ROUTES)
            status, detail = (405, "Method Not Allowed") if is_known else (404, "Not Found")
            await exchange.respond(status, wire.to_json({"detail": detail}))
        elif not self._may(scope["path"], headers):
            await exchange.respond(401, wire.to_json({"error": "Unauthorized"}))
        else:
            await route(self, exchange)

    def _may(self, path: str, headers: Mapping[str, str]) -> bool:
        key = self.config.api_key
        if key is None or not path.startswith("/v1"):
            return True
        return headers.get("authorization") == f"Bearer {key}"

    async def _chat(self, exchange: Exchange) -> None:
        await self._completions.run(exchange)

    async def _health(self, exchange: Exchange) -> None:
        await exchange.respond(503 if self.is_dead else 200, b"")

    async def _version(self, exchange: Exchange) -> None:
        await exchange.respond(200, wire.to_json({"version": self.config.version}))

    async def _load(self, exchange: Exchange) -> None:
        await exchange.respond(200, wire.to_json({"server_load": self.running}))

    async def _models(self, exchange: Exchange) -> None:
        card = {
            "id": self.config.model,
            "object": "model",
            "created": 0,
            "owned_by": "vllm",
            "root": self.config.model,
            "parent": None,
            "max_model_len": self.config.max_model_len,
            "permission": [],
        }
        await exchange.respond(200, wire.to_json({"object": "list", "data": [card]}))

    async def _metrics(self, exchange: Exchange) -> None:
        engine = self.engine
        values = {
            "num_requests_running": self.running,
            "num_requests_waiting": 0,
            "kv_cache_usage_perc": engine.prefixes.fill,
            "prefix_cache_queries_total": engine.counts["prefix_queries"],
            "prefix_cache_hits_total": engine.counts["prefix_hits"],
            "mm_cache_queries_total": engine.pictures.queries,
            "mm_cache_hits_total": engine.pictures.hits,
            "prompt_tokens_cached_total": engine.counts["prefix_hits"],
        }
        page = wire.metrics_page(self.config.model, values, Counter(self.finished))
        await exchange.respond(200, page, "text/plain; version=0.0.4; charset=utf-8")

    async def _tokenize(self, exchange: Exchange) -> None:
        try:
            data = parse_object(await exchange.body(self.config.max_body_bytes))
            if "prompt" in data:
                data = {"messages": [{"role": "user", "content": str(data["prompt"])}]}
            urls: list[str | None] = []
            messages = parse_messages(data.get("messages"), urls)
            ids = token_ids(self.engine.count_tokens(messages, urls))
        except Refused as refused:
            await exchange.respond(refused.status, wire.to_json(refused.body()))
            return
        count = {"count": len(ids), "max_model_len": self.config.max_model_len}
        await exchange.respond(200, wire.to_json({**count, "tokens": ids, "token_strs": None}))


_Route = Callable[[FakeVLLM, Exchange], Awaitable[None]]
_ROUTES: Final[dict[tuple[str, str], _Route]] = {
    ("POST", "/v1/chat/completions"): FakeVLLM._chat,
    ("GET", "/v1/models"): FakeVLLM._models,
    ("GET", "/version"): FakeVLLM._version,
    ("GET", "/health"): FakeVLLM._health,
    ("GET", "/load"): FakeVLLM._load,
    ("GET", "/metrics"): FakeVLLM._metrics,
    ("POST", "/tokenize"): FakeVLLM._tokenize,
}
