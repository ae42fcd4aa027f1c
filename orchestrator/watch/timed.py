"""A backend that measures the one it wraps, in wall time.

Stream time stands still during a call when a file is watched as fast as possible, so what a call
really took has to be measured here.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from onlooker.bridges.base import (
    Finished,
    FrameBytes,
    ModelBackend,
    ModelCapabilities,
    ModelItem,
    ModelProbe,
    ModelRequest,
)
from onlooker.orchestrator.clock import Clock
from onlooker.orchestrator.report import CallTiming


class TimedBackend:
    """Passes everything through and reports each call once it is over, however it ended.

    Args:
        inner: does the work; closed with this one.
        kind: ``tick`` or ``summary``.
        clock: stream time, to say when a call was sent.
        on_call: gets each timing; must not raise.
        seconds: wall time in seconds.
    """

    def __init__(
        self,
        inner: ModelBackend,
        *,
        kind: str,
        clock: Clock,
        on_call: Callable[[CallTiming], None],
        seconds: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._inner = inner
        self._kind = kind
        self._clock = clock
        self._on_call = on_call
        self._seconds = seconds

    @property
    def capabilities(self) -> ModelCapabilities:
        return self._inner.capabilities

    async def probe(self) -> ModelProbe:
        return await self._inner.probe()

    async def stream(
        self, request: ModelRequest, frames: FrameBytes
    ) -> AsyncGenerator[ModelItem, None]:
        at_ms, began = self._clock.now_ms(), self._seconds()
        first_ms: int | None = None
        ok = False
        try:
            async with aclosing(self._inner.stream(request, frames)) as items:
                async for item in items:
                    if first_ms is None and not isinstance(item, Finished):
                        first_ms = self._since(began)
                    ok = isinstance(item, Finished)
                    yield item
        finally:
            self._on_call(CallTiming(at_ms, self._kind, first_ms, self._since(began), ok))

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _since(self, began: float) -> int:
        return round((self._seconds() - began) * 1000)
