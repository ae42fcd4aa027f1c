"""Where a session's time comes from. The core never asks; the actor does.

``WallClock`` is real time since the session opened. ``MediaClock`` is moved by hand, so that a
file runs as fast as the machine allows and still gives the same session every time.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from itertools import count
from typing import Protocol

from onlooker.types import Ms


class Clock(Protocol):
    """Stream time of one session."""

    def now_ms(self) -> Ms:
        """Milliseconds since the session opened; never goes back."""
        ...

    async def sleep_until(self, at_ms: Ms) -> None:
        """Return once ``now_ms() >= at_ms``."""
        ...


class WallClock:
    """Real time, counted from the moment it is made."""

    def __init__(self) -> None:
        self._t0 = time.monotonic()

    def now_ms(self) -> Ms:
        return Ms(int((time.monotonic() - self._t0) * 1000))

    async def sleep_until(self, at_ms: Ms) -> None:
        # A timer may fire a hair early in whole milliseconds, so look again.
        while (left_s := self._t0 + at_ms / 1000 - time.monotonic()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(left_s)


class MediaClock:
    """Time that moves only when :meth:`advance` is called."""

    def __init__(self) -> None:
        self._now = Ms(0)
        self._order = count()
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []

    def now_ms(self) -> Ms:
        return self._now

    async def sleep_until(self, at_ms: Ms) -> None:
        if at_ms <= self._now:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (at_ms, next(self._order), future))
        await future

    def advance(self, to_ms: Ms) -> None:
        """Move to ``to_ms`` (never back) and wake whoever waited for a time up to it."""
        self._now = max(self._now, to_ms)
        while self._sleepers and self._sleepers[0][0] <= self._now:
            future = heapq.heappop(self._sleepers)[2]
            if not future.done():
                future.set_result(None)
