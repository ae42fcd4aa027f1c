"""Frames of a source, stored and stamped for one session."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import cast

from onlooker.bridges.base import CapturedFrame, SourceInfo, VideoSource
from onlooker.orchestrator.frames import FrameStore
from onlooker.types import FrameRef, Ms


class Footage:
    """The frames of an open source, one ahead: stored, and stamped in stream time.

    Args:
        source: open; the caller closes it after :meth:`aclose`.
        info: what ``source.open()`` returned.
        store: the session's pictures.
        frame_ms: time from one frame to the next, for the end of a file.
        see: called with each frame before the session hears of it.
    """

    def __init__(
        self,
        source: VideoSource,
        info: SourceInfo,
        *,
        store: FrameStore,
        frame_ms: int,
        see: Callable[[FrameRef, bytes], Awaitable[None]] | None = None,
    ) -> None:
        self._frames = cast("AsyncGenerator[CapturedFrame, None]", source.frames())
        self._info = info
        self._store = store
        self._frame_ms = frame_ms
        self._see = see
        self._offset_ms: int | None = None
        self._last_ms = Ms(0)
        self.ahead: FrameRef | None = None
        """The frame that comes next; None when there is no more."""

    @property
    def is_live(self) -> bool:
        return self._info.live

    @property
    def end_ms(self) -> Ms:
        """When a file is over: one frame after its last, or at its stated end if that is sooner."""
        end_ms = self._last_ms + self._frame_ms
        length_ms = self._info.duration_ms
        if length_ms is not None and self._last_ms < length_ms < end_ms:
            return Ms(length_ms)
        return Ms(end_ms)

    async def advance(self) -> None:
        """Get the next frame into :attr:`ahead`.

        Call it once before the session opens: stream time begins with the first live frame, and
        the first tick already has a picture.

        Raises:
            SourceError: the source broke.
        """
        self.ahead = None
        frame = await anext(self._frames, None)
        if frame is None:
            return
        if self._offset_ms is None:
            # The capture clock of a live source began when it was opened, ours begins now.
            self._offset_ms = frame.capture_ms if self._info.live else 0
        self._last_ms = Ms(max(0, frame.capture_ms - self._offset_ms))
        ref = self._store.put(
            frame.data,
            capture_ms=self._last_ms,
            width=frame.width,
            height=frame.height,
            media_type=frame.media_type,
        )
        if self._see is not None:
            await self._see(ref, frame.data)
        self.ahead = ref

    async def aclose(self) -> None:
        await self._frames.aclose()
