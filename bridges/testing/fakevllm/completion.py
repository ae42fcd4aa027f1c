"""The life of one completion: admitted, answered, refused, broken off or left."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from typing import Final

from onlooker.bridges.testing.fakevllm import wire
from onlooker.bridges.testing.fakevllm.config import SPECIAL_TOKENS, FakeConfig
from onlooker.bridges.testing.fakevllm.engine import Admitted, Engine
from onlooker.bridges.testing.fakevllm.exchange import Exchange
from onlooker.bridges.testing.fakevllm.faults import (
    BUSY_MESSAGE,
    ENGINE_DEAD_MESSAGE,
    STREAMED,
    Fault,
    FaultKind,
    FaultPlan,
    refusal,
)
from onlooker.bridges.testing.fakevllm.refused import Refused, internal_error
from onlooker.bridges.testing.fakevllm.replies import (
    Generation,
    ReplyFunction,
    constrained,
    generate,
    stop_at,
)
from onlooker.bridges.testing.fakevllm.request import FakeRequest, ParsedRequest, parse_request

_ENDLESS_PIECE: Final = b"data: " + b"x" * 65_536


class InjectedCut(Exception):
    """Raised to make a server break a connection off."""


class Completions:
    """Answers requests for completions, and counts how they ended."""

    def __init__(
        self,
        config: FakeConfig,
        engine: Engine,
        reply: ReplyFunction,
        sleep: Callable[[float], Awaitable[object]],
    ) -> None:
        self.reply = reply
        self.faults = FaultPlan()
        self.requests: deque[FakeRequest] = deque(maxlen=config.max_logged)
        self.refused: deque[str] = deque(maxlen=config.max_logged)
        self.count = 0
        self.running = 0
        self.aborts = 0
        self.finished: Counter[str] = Counter()
        self.is_dead = False
        self.idle = asyncio.Event()
        self.idle.set()
        self._config = config
        self._engine = engine
        self._sleep = sleep
        self._numbers = itertools.count(1)

    async def run(self, exchange: Exchange) -> None:
        """Answer one request; when its client leaves, drop it."""
        self.count += 1
        self.running += 1
        self.idle.clear()
        try:
            body = await exchange.body(self._config.max_body_bytes)
            await self._until_left(exchange, self._complete(exchange, body))
        except Refused as refused:
            await self._refuse(exchange, refused, stream=False)
        except OSError:
            # What a send or a read meets when the client has gone.
            self.aborts += 1
        finally:
            self.running -= 1
            if not self.running:
                self.idle.set()

    async def _until_left(self, exchange: Exchange, answer: Awaitable[None]) -> None:
        work = asyncio.ensure_future(answer)
        left = asyncio.create_task(exchange.until_left())
        try:
            await asyncio.wait((work, left), return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and not exchange.is_complete:
                self.aborts += 1
                return
            await work
        finally:
            for task in (work, left):
                task.cancel()
            await asyncio.gather(work, left, return_exceptions=True)

    async def _complete(self, exchange: Exchange, body: bytes) -> None:
        fault: Fault | None = None
        wants_stream = False
        try:
            if self.is_dead:
                raise internal_error(ENGINE_DEAD_MESSAGE, in_stream=False)
            parsed = parse_request(body, exchange.headers, exchange.client, self._config)
            wants_stream = parsed.request.stream
            self.requests.append(parsed.request)
            fault = self.faults.take()
            if fault is not None and await self._misbehave(fault.kind, parsed.request, exchange):
                return
            self._check_load()
            admitted = self._engine.admit(parsed)
            generation = self._generate(parsed, admitted)
        except Refused as refused:
            await self._refuse(exchange, refused, stream=wants_stream)
            if fault is not None and fault.kind is FaultKind.SERVER_ERROR:
                raise InjectedCut("the connection closes after an unhandled error") from None
            return
        await self._answer(exchange, parsed.request, admitted, generation, fault)

    def _check_load(self) -> None:
        most = self._config.max_running
        if most is not None and self.running > most:
            raise Refused(503, BUSY_MESSAGE, kind="ServiceUnavailableError")

    async def _misbehave(self, kind: FaultKind, request: FakeRequest, exchange: Exchange) -> bool:
        """Whether the fault was the whole answer."""
        if (error := refusal(kind, request, self._config)) is not None:
            raise error
        match kind:
            case FaultKind.HANG_AT_START:
                await asyncio.Event().wait()
            case FaultKind.UNAUTHORIZED:
                await exchange.respond(401, wire.to_json({"error": "Unauthorized"}))
            case FaultKind.HTML:
                await exchange.respond(200, wire.WEB_PAGE, "text/html; charset=utf-8")
            case FaultKind.HTML_BAD_GATEWAY:
                await exchange.respond(502, wire.BAD_GATEWAY, "text/html")
            case FaultKind.NOT_A_STREAM:
                await exchange.respond(200, wire.to_json({"object": "chat.completion"}))
            case FaultKind.CACHE_MISS:
                self._engine.pictures.evict()
                message = "Cache miss for image at index 0 but data is not provided."
                raise Refused(400, message)
            case _:
                return False
        return True

    def _generate(self, parsed: ParsedRequest, admitted: Admitted) -> Generation:
        request = parsed.request
        text = constrained(self.reply(request), request)
        if text is None:
            raise internal_error(
                "the fake has no reply that the request's grammar allows", in_stream=False
            )
        generation = generate(
            text,
            special=self._config.special_tokens,
            skips_special=request.skips_special_tokens,
            max_tokens=min(request.max_tokens or admitted.room_tokens, admitted.room_tokens),
        )
        return stop_at(generation, SPECIAL_TOKENS, request.fields.get("stop_token_ids") or ())

    async def _refuse(self, exchange: Exchange, refused: Refused, *, stream: bool) -> None:
        self.refused.append(refused.message)
        if not (stream and refused.in_stream):
            await exchange.respond(refused.status, wire.to_json(refused.body()))
            return
        writer = wire.Writer(self._id(None), self._config.model)
        await exchange.start(200, wire.STREAM_TYPE)
        for piece in (writer.role(), wire.event(refused.body()), wire.DONE):
            await exchange.send(piece)
        await exchange.end()

    async def _answer(
        self,
        exchange: Exchange,
        request: FakeRequest,
        admitted: Admitted,
        generation: Generation,
        fault: Fault | None,
    ) -> None:
        writer = wire.Writer(self._id(request.request_id), self._config.model)
        if not request.stream:
            await self._sleep(self._config.first_token_s)
            usage = admitted.usage(len(generation.sampled))
            text = "".join(generation.pieces)
            body = writer.whole(text, generation.finish_reason, generation.stop_reason, usage)
            self._engine.on_generated(admitted, "".join(generation.sampled))
            await exchange.respond(200, body)
        else:
            breaks = fault if fault is not None and fault.kind in STREAMED else None
            most = breaks.after_tokens if breaks is not None else len(generation.pieces)
            await self._stream(exchange, writer, request, admitted, generation.pieces[:most])
            if breaks is not None:
                await self._break(breaks.kind, exchange)
                return
            await self._end(exchange, writer, request, admitted, generation)
        self.finished[generation.finish_reason] += 1

    async def _stream(
        self,
        exchange: Exchange,
        writer: wire.Writer,
        request: FakeRequest,
        admitted: Admitted,
        pieces: tuple[str, ...],
    ) -> None:
        continuous = bool(request.options.get("continuous_usage_stats"))
        await exchange.start(200, wire.STREAM_TYPE)
        await exchange.send(writer.role())
        await self._sleep(self._config.first_token_s)
        for number, piece in enumerate(pieces):
            if number:
                await self._sleep(self._config.token_s)
            usage = admitted.usage(number + 1, with_details=False) if continuous else None
            await exchange.send(writer.delta(piece, usage))

    async def _end(
        self,
        exchange: Exchange,
        writer: wire.Writer,
        request: FakeRequest,
        admitted: Admitted,
        generation: Generation,
    ) -> None:
        # Before the end is sent: whoever reads it may ask again at once.
        self._engine.on_generated(admitted, "".join(generation.sampled))
        await exchange.send(writer.end(generation.finish_reason, generation.stop_reason))
        if request.options.get("include_usage"):
            await exchange.send(writer.usage(admitted.usage(len(generation.sampled))))
        await exchange.send(wire.DONE)
        await exchange.end()

    async def _break(self, kind: FaultKind, exchange: Exchange) -> None:
        """Go wrong in the middle of a stream."""
        match kind:
            case FaultKind.HANG:
                await asyncio.Event().wait()
            case FaultKind.CUT:
                raise InjectedCut("the connection breaks")
            case FaultKind.NOT_JSON:
                await exchange.send(b"data: this is no JSON\n\n")
            case FaultKind.ENDLESS_LINE:
                while True:
                    await exchange.send(_ENDLESS_PIECE)
                    # A server drops what is sent to a client that left, without ever waiting.
                    await asyncio.sleep(0)
            case FaultKind.ENGINE_DEAD:
                self.is_dead = True
                error = internal_error(ENGINE_DEAD_MESSAGE)
                await exchange.send(wire.event(error.body()))
                await exchange.send(wire.DONE)
            case _:
                await exchange.send(wire.DONE)
        await exchange.end()

    def _id(self, request_id: str | None) -> str:
        return f"chatcmpl-{request_id or f'{next(self._numbers):032x}'}"
