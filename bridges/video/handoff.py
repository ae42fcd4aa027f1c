"""One slot between a capture thread and an event loop.

Theory of operation: the thread fills the slot, the loop empties it. A lock guards the two
assignments and is never held for longer, so the loop never waits for the thread's work; the loop
sleeps on an ``asyncio.Event`` that the thread sets through ``call_soon_threadsafe``. The thread
either replaces an untaken frame (live) or waits until it was taken (recorded).
"""

from __future__ import annotations

import asyncio
import threading

from onlooker.bridges.base import CapturedFrame


class Handoff:
    """``offer``, ``put`` and ``finish`` belong to the thread; ``take`` and ``stop`` to the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._changed = threading.Condition()
        self._wake = asyncio.Event()
        self._slot: CapturedFrame | None = None
        self._is_stopped = False
        self._is_finished = False
        self._failure: BaseException | None = None

    def offer(self, frame: CapturedFrame) -> bool:
        """Leave the newest frame; True when it replaced one that nobody took."""
        with self._changed:
            has_replaced = self._slot is not None
            self._slot = frame
        self._wake_loop()
        return has_replaced

    def put(self, frame: CapturedFrame) -> bool:
        """Leave a frame once the slot is empty; False when the consumer is gone."""
        with self._changed:
            self._changed.wait_for(lambda: self._slot is None or self._is_stopped)
            if self._is_stopped:
                return False
            self._slot = frame
        self._wake_loop()
        return True

    def finish(self, failure: BaseException | None) -> None:
        """No frame follows; ``failure`` is raised after the last one was taken."""
        with self._changed:
            self._is_finished, self._failure = True, failure
        self._wake_loop()

    async def take(self) -> CapturedFrame | None:
        """The next frame; None at the end and after ``stop``; raises the reader's failure."""
        while True:
            self._wake.clear()
            with self._changed:
                if self._is_stopped:
                    return None
                if self._slot is not None:
                    frame, self._slot = self._slot, None
                    self._changed.notify()
                    return frame
                if self._is_finished:
                    if self._failure is not None:
                        raise self._failure
                    return None
            await self._wake.wait()

    def stop(self) -> None:
        """The consumer wants nothing more: wakes both sides."""
        with self._changed:
            self._is_stopped, self._slot = True, None
            self._changed.notify()
        self._wake.set()

    def _wake_loop(self) -> None:
        call_in_loop(self._loop, self._wake)


def call_in_loop(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    """Set an event of the loop from another thread; a loop that is gone has nobody waiting."""
    try:
        loop.call_soon_threadsafe(event.set)
    except RuntimeError:
        if not loop.is_closed():
            raise
