"""What the camera shows now: the newest frames since the last tick, and how old they are.

Old frames are superseded, never queued, and never re-stamped as current (C17, C20).
"""

from __future__ import annotations

from dataclasses import dataclass

from onlooker.types import FrameRef, Ms, VideoState


@dataclass(frozen=True, slots=True)
class Glance:
    """What one tick gets to see."""

    frames: tuple[FrameRef, ...]
    """Oldest first; empty when nothing new arrived."""
    video: VideoState
    dropped: int
    """Frames that arrived since the last glance and were superseded."""

    def without_frames(self) -> Glance:
        """The same when its pictures turned out unusable: there was nothing to see."""
        return Glance((), VideoState.NO_VIDEO, self.dropped + len(self.frames))


class Camera:
    """Keeps the newest ``frames_per_tick`` frames that no tick has taken yet."""

    def __init__(self, frames_per_tick: int, stale_after_ms: int) -> None:
        self._limit = frames_per_tick
        self._stale_after_ms = stale_after_ms
        self._waiting: list[FrameRef] = []
        self._dropped = 0
        self._on = True
        self._last_arrival: Ms | None = None
        self._newest: FrameRef | None = None

    @property
    def waiting(self) -> tuple[FrameRef, ...]:
        """Frames no tick has taken yet, oldest first."""
        return tuple(self._waiting)

    def switch(self, on: bool) -> None:
        """The client turned the camera on or off; off forgets what was not looked at."""
        self._on = on
        if not on:
            self._waiting.clear()

    def arrive(self, frame: FrameRef, now_ms: Ms) -> bool:
        """Take a frame; False when it was taken before, or is older than one that was (B29)."""
        if self._newest is not None and not _is_news(frame, self._newest):
            return False
        self._newest = frame
        self._on = True
        self._last_arrival = now_ms
        self._waiting.append(frame)
        if len(self._waiting) > self._limit:
            self._waiting.pop(0)
            self._dropped += 1
        return True

    def take(self, now_ms: Ms) -> Glance:
        """Hand the waiting frames to a tick."""
        glance = Glance(tuple(self._waiting), self.state(now_ms), self._dropped)
        self._waiting.clear()
        self._dropped = 0
        return glance

    def give_back(self, frames: tuple[FrameRef, ...]) -> None:
        """A tick rolled back: its frames wait again, unless newer ones took their place or the
        camera is off by now."""
        free = self._limit - len(self._waiting) if self._on else 0
        kept = frames[len(frames) - free :] if free > 0 else ()
        self._dropped += len(frames) - len(kept)
        self._waiting[:0] = kept

    def state(self, now_ms: Ms) -> VideoState:
        if not self._on:
            return VideoState.CAMERA_OFF
        stale = self._last_arrival is None or now_ms - self._last_arrival > self._stale_after_ms
        if stale and not self._waiting:
            return VideoState.NO_VIDEO
        return VideoState.FRESH


def _is_news(frame: FrameRef, newest: FrameRef) -> bool:
    """A picture sent again, or late, is history: it must not be shown as what is there now."""
    if frame.capture_ms == newest.capture_ms:
        return frame.uuid != newest.uuid
    return frame.capture_ms > newest.capture_ms
