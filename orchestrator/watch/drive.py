"""Feeds a session from a video source, in real time or as fast as possible.

Theory of operation. *Real time*: stream time is wall time; each frame of a file waits for its
capture time, a live frame comes when it comes, queries wait for theirs. *As fast as possible*:
stream time moves by hand from one moment to the next (a frame, a query, a timer of the core,
whichever is first), and nothing moves before the session has settled: no call in flight, no event
queued. The same file and queries therefore give the same events at the same stream times, on any
machine. At one moment frames come first, then queries, then timers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Final, Protocol

from onlooker.errors import SourceError
from onlooker.orchestrator import events as e
from onlooker.orchestrator.clock import Clock, MediaClock
from onlooker.orchestrator.watch.ending import Ask, Ending, Outcome
from onlooker.orchestrator.watch.footage import Footage
from onlooker.types import InstructionId, Ms

FIRST_FRAME_WAIT_MS: Final = 2_000
"""A query asked at the start waits this long for the first picture, so that it has one."""


class SessionPort(Protocol):
    """What a drive needs of a session."""

    @property
    def next_timer_ms(self) -> Ms | None: ...

    @property
    def is_closed(self) -> bool: ...

    def post(self, event: e.Event) -> None: ...

    async def settled(self) -> None: ...

    async def closed(self) -> None: ...


class Drive:
    """Drives one open session to its end.

    Args:
        session: the session, opened a moment ago.
        footage: with its first frame ahead; closed at the end.
        clock: the session's clock; a ``MediaClock`` means as fast as possible.
        asks: the queries, in any order.
        on_time: told how far stream time has come.
    """

    def __init__(
        self,
        session: SessionPort,
        footage: Footage,
        *,
        clock: Clock,
        asks: Sequence[Ask],
        on_time: Callable[[Ms], None] = lambda now_ms: None,
    ) -> None:
        self._session = session
        self._footage = footage
        self._clock = clock
        self._asks = sorted(asks, key=lambda ask: ask.at_ms)
        self._on_time = on_time
        self._asked = 0
        self._is_source_over = False
        self._first_frame = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> Ending:
        """Watch until the source ends, ``stop`` is set or the session ends by itself.

        Call it without waiting after the session opened: what is there at the start must be
        posted before the first tick. Raises whatever broke the session; a source that breaks is
        an :class:`Ending`.
        """
        self._post_due()
        if self._first_frame.is_set():
            self._ask_due()
        feed = asyncio.create_task(self._feed(), name="feed")
        stopping = asyncio.create_task(stop.wait(), name="stop")
        over = asyncio.create_task(self._session.closed(), name="over")
        tasks: set[asyncio.Task[object]] = {feed, stopping, over}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if over.done():
                over.result()
                # After the source has ended, the session may end by itself; before, it was ended.
                return await feed if self._is_source_over else Ending(Outcome.INTERRUPTED)
            if feed.done():
                ending = feed.result()
                reason = "source_ended" if ending.error is None else "source_failed"
            else:
                ending, reason = Ending(Outcome.INTERRUPTED), "interrupted"
            self._session.post(e.SessionClosed(reason))
            await over
            return ending
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # -- feeding ------------------------------------------------------------------------------

    async def _feed(self) -> Ending:
        error: SourceError | None = None
        try:
            async with aclosing(self._footage):
                if isinstance(self._clock, MediaClock):
                    await self._as_fast_as_possible(self._clock)
                else:
                    await self._in_real_time()
        except SourceError as caught:
            error = caught
            self._session.post(e.TroubleNoted(caught.code, caught.message))
        self._note_unasked()
        self._is_source_over = True
        self._session.post(e.SourceEnded())
        await self._session.settled()
        return Ending(Outcome.FAILED if error else Outcome.COMPLETE, error)

    async def _as_fast_as_possible(self, clock: MediaClock) -> None:
        footage = self._footage
        await self._session.settled()
        while not self._session.is_closed:
            if footage.ahead is None:
                await footage.advance()
            frame_ms = footage.end_ms if footage.ahead is None else footage.ahead.capture_ms
            moments = (frame_ms, self._session.next_timer_ms, self._next_ask_ms())
            clock.advance(min(ms for ms in moments if ms is not None))
            self._on_time(clock.now_ms())
            if footage.ahead is None and footage.end_ms <= clock.now_ms():
                return
            self._post_due()
            self._ask_due()
            timer_ms = self._session.next_timer_ms
            if timer_ms is not None and timer_ms <= clock.now_ms():
                self._session.post(e.TimerFired())
            await self._session.settled()

    async def _in_real_time(self) -> None:
        footage = self._footage
        asking = asyncio.create_task(self._ask_in_time(), name="asks")
        try:
            while True:
                if footage.ahead is None:
                    await footage.advance()
                if footage.ahead is None:
                    break
                if not footage.is_live:
                    await self._clock.sleep_until(footage.ahead.capture_ms)
                self._post_ahead()
                self._on_time(self._clock.now_ms())
            if not footage.is_live:
                await self._clock.sleep_until(footage.end_ms)
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    def _post_due(self) -> None:
        ahead = self._footage.ahead
        if ahead is not None and ahead.capture_ms <= self._clock.now_ms():
            self._post_ahead()

    def _post_ahead(self) -> None:
        ref, self._footage.ahead = self._footage.ahead, None
        if ref is not None:
            self._first_frame.set()
            self._session.post(e.FrameArrived(ref))

    async def _ask_in_time(self) -> None:
        first = asyncio.create_task(self._first_frame.wait())
        patience = asyncio.create_task(self._clock.sleep_until(Ms(FIRST_FRAME_WAIT_MS)))
        try:
            await asyncio.wait({first, patience}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            first.cancel()
            patience.cancel()
        while (ask_ms := self._next_ask_ms()) is not None:
            await self._clock.sleep_until(ask_ms)
            self._ask_due()

    def _next_ask_ms(self) -> Ms | None:
        return self._asks[self._asked].at_ms if self._asked < len(self._asks) else None

    def _ask_due(self) -> None:
        while (ask_ms := self._next_ask_ms()) is not None and ask_ms <= self._clock.now_ms():
            text = self._asks[self._asked].text
            self._asked += 1
            self._session.post(e.QueryArrived(InstructionId(f"q{self._asked}"), text))

    def _note_unasked(self) -> None:
        for ask in self._asks[self._asked :]:
            words = f"a query for {ask.at_ms / 1000:g} s was not asked: the video ended before"
            self._session.post(e.TroubleNoted("query_after_end", words))
        self._asked = len(self._asks)
