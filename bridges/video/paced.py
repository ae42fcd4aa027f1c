"""A recorded source shown as if it were happening now."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

from onlooker.bridges.base import CapturedFrame, SourceInfo
from onlooker.bridges.video.reader import Clock
from onlooker.bridges.video.threaded import ThreadedSource


class PacedSource:
    """Gives each frame out when its capture time has come, and behaves as a live source does:
    a slow consumer gets the newest frame, the others are dropped and counted."""

    def __init__(
        self,
        inner: ThreadedSource,
        *,
        clock: Clock = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._inner = inner
        self._clock = clock
        self._sleep = sleep
        self._start_s = 0.0
        self._dropped = 0
        self._is_closed = False

    @property
    def dropped_frames(self) -> int:
        """Frames whose successor was due before anybody took them."""
        return self._dropped

    @property
    def broken_frames(self) -> int:
        return self._inner.broken_frames

    @property
    def reconnects(self) -> int:
        return self._inner.reconnects

    async def open(self) -> SourceInfo:
        info = await self._inner.open()
        self._start_s = self._clock()
        return replace(info, live=True, duration_ms=None)

    async def frames(self) -> AsyncIterator[CapturedFrame]:
        held: CapturedFrame | None = None
        async for following in self._inner.frames():
            if held is not None and self._wait_s(following) > 0:
                if (due := await self._when_due(held)) is not None:
                    yield due
            elif held is not None:
                self._dropped += 1
            held = following
        if held is not None and (due := await self._when_due(held)) is not None:
            yield due

    async def aclose(self) -> None:
        self._is_closed = True
        await self._inner.aclose()

    async def _when_due(self, frame: CapturedFrame) -> CapturedFrame | None:
        wait_s = self._wait_s(frame)
        if wait_s > 0:
            await self._sleep(wait_s)
        return None if self._is_closed else frame

    def _wait_s(self, frame: CapturedFrame) -> float:
        return self._start_s + frame.capture_ms / 1000 - self._clock()
