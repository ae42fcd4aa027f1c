"""The measuring backend: passes everything through, times it, whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest

from onlooker.bridges.base import (
    Finished,
    FrameBytes,
    ModelCapabilities,
    ModelItem,
    ModelProbe,
    ModelRequest,
    TextDelta,
)
from onlooker.errors import BridgeTimeout
from onlooker.orchestrator.clock import MediaClock
from onlooker.orchestrator.report import CallTiming
from onlooker.orchestrator.watch.timed import TimedBackend
from onlooker.types import FrameUuid, Ms, SamplingParams, ServerLimits

pytestmark = pytest.mark.shell

REQUEST = ModelRequest("c1", (b"[]",), SamplingParams(), 1.0)


class Stopwatch:
    """Wall time that a script moves."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class Inner:
    """A backend that plays one list of items; a number is a pause in milliseconds."""

    capabilities = ModelCapabilities(stand_in=True)

    def __init__(self, watch: Stopwatch, *script: ModelItem | int | Exception) -> None:
        self._watch = watch
        self._script = script
        self.is_closed = False
        self.is_stream_closed = False

    async def probe(self) -> ModelProbe:
        return ModelProbe("m", ServerLimits())

    async def stream(
        self, request: ModelRequest, frames: FrameBytes
    ) -> AsyncGenerator[ModelItem, None]:
        assert frames(FrameUuid("u")) == b"u"
        try:
            for step in self._script:
                if isinstance(step, int):
                    self._watch.now_s += step / 1000
                elif isinstance(step, Exception):
                    raise step
                else:
                    yield step
        finally:
            self.is_stream_closed = True

    async def aclose(self) -> None:
        self.is_closed = True


def timed(inner: Inner, watch: Stopwatch, on_call: Callable[[CallTiming], None]) -> TimedBackend:
    clock = MediaClock()
    clock.advance(Ms(3_000))
    return TimedBackend(inner, kind="tick", clock=clock, on_call=on_call, seconds=watch)


def frame_bytes(uuid: FrameUuid) -> bytes:
    return uuid.encode()


async def test_a_call_is_timed_to_its_first_word_and_to_its_end() -> None:
    watch, calls = Stopwatch(), list[CallTiming]()
    inner = Inner(watch, 40, TextDelta("a"), 10, TextDelta("b"), 5, Finished("stop", None))
    items = [item async for item in timed(inner, watch, calls.append).stream(REQUEST, frame_bytes)]
    assert items == [TextDelta("a"), TextDelta("b"), Finished("stop", None)]
    assert calls == [CallTiming(Ms(3_000), "tick", 40, 55, True)]


async def test_a_call_that_fails_is_timed_as_failed() -> None:
    watch, calls = Stopwatch(), list[CallTiming]()
    inner = Inner(watch, 40, BridgeTimeout("too slow", bridge="model"))
    with pytest.raises(BridgeTimeout):
        async for _ in timed(inner, watch, calls.append).stream(REQUEST, frame_bytes):
            pass
    assert calls == [CallTiming(Ms(3_000), "tick", None, 40, False)]


async def test_closing_early_closes_the_inner_stream_at_once() -> None:
    watch, calls = Stopwatch(), list[CallTiming]()
    inner = Inner(watch, TextDelta("a"), 10, TextDelta("b"))
    stream = timed(inner, watch, calls.append).stream(REQUEST, frame_bytes)
    assert await anext(stream) == TextDelta("a")
    await stream.aclose()
    assert inner.is_stream_closed
    assert calls == [CallTiming(Ms(3_000), "tick", 0, 0, False)]


async def test_everything_else_passes_through() -> None:
    watch = Stopwatch()
    inner = Inner(watch)
    backend = timed(inner, watch, lambda call: None)
    assert backend.capabilities.stand_in
    assert (await backend.probe()).model == "m"
    await backend.aclose()
    assert inner.is_closed
    assert asyncio.all_tasks() == {asyncio.current_task()}
