"""A video source on an event loop, its reader in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import suppress

from onlooker.bridges.base import CapturedFrame, SourceInfo
from onlooker.bridges.video.handoff import Handoff, call_in_loop
from onlooker.bridges.video.reader import FrameReader
from onlooker.errors import SourceError


class ThreadedSource:
    """Runs one blocking reader; decoding and encoding never touch the event loop (C25).

    Use it as ``open``, ``frames`` (by one task), ``aclose``. At most one frame waits to be taken
    and one is in the making, whatever the consumer does (C17).
    """

    def __init__(self, reader: FrameReader, *, close_grace_s: float = 2.0) -> None:
        """``close_grace_s`` bounds ``aclose`` where a driver or network call cannot be broken
        off; the thread then gives its capture back by itself when that call ends."""
        self._reader = reader
        self._close_grace_s = close_grace_s
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._handoff: Handoff | None = None
        self._info: SourceInfo | None = None
        self._opened = asyncio.Event()
        self._ended = asyncio.Event()

    @property
    def dropped_frames(self) -> int:
        """Sampled frames of a live source that nobody took in time."""
        return self._reader.counts.dropped

    @property
    def broken_frames(self) -> int:
        """Frames that could not be decoded and were passed over."""
        return self._reader.counts.broken

    @property
    def reconnects(self) -> int:
        """Times a lost live source came back."""
        return self._reader.counts.reconnects

    async def open(self) -> SourceInfo:
        if self._handoff is not None or self._stop.is_set():
            raise SourceError("a source opens once; make a new one", code="source_used")
        loop = asyncio.get_running_loop()
        handoff = self._handoff = Handoff(loop)
        self._thread = threading.Thread(
            target=self._run, args=(loop, handoff), name="onlooker-video", daemon=True
        )
        self._thread.start()
        try:
            await self._opened.wait()
        except asyncio.CancelledError:
            self._end_reading()
            raise
        if self._info is None:
            await handoff.take()  # raises why it did not open
            raise SourceError("the source was closed while it opened", code="source_closed")
        return self._info

    async def frames(self) -> AsyncIterator[CapturedFrame]:
        if self._handoff is None:
            raise SourceError("open the source before reading it", code="source_not_open")
        while (frame := await self._handoff.take()) is not None:
            yield frame

    async def aclose(self) -> None:
        self._end_reading()
        thread = self._thread
        if thread is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(self._close_grace_s):
                await self._ended.wait()
                # A few instructions are left to the thread; no event can follow the last one.
                while thread.is_alive():  # noqa: ASYNC110
                    await asyncio.sleep(0)

    def _end_reading(self) -> None:
        self._stop.set()
        if self._handoff is not None:
            self._handoff.stop()

    def _run(self, loop: asyncio.AbstractEventLoop, handoff: Handoff) -> None:
        """The thread: open, read to the end, close, and say how it went."""
        failure: BaseException | None = None
        try:
            self._read(loop, handoff)
        except BaseException as error:  # raised again where the frames are awaited
            failure = error
        handoff.finish(failure)
        call_in_loop(loop, self._opened)
        call_in_loop(loop, self._ended)

    def _read(self, loop: asyncio.AbstractEventLoop, handoff: Handoff) -> None:
        try:
            info = self._reader.open(self._stop)
            if self._stop.is_set():
                return
            self._info = info
            call_in_loop(loop, self._opened)
            for frame in self._reader.frames():
                if self._stop.is_set():
                    return
                if not info.live:
                    handoff.put(frame)
                elif handoff.offer(frame):
                    self._reader.counts.dropped += 1
        finally:
            self._reader.close()
