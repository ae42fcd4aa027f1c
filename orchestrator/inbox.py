"""The queue in front of a session: control is never dropped, pictures are newest-wins."""

from __future__ import annotations

from collections import deque

from onlooker.orchestrator.events import Event, FrameArrived
from onlooker.types import FrameUuid


class Inbox:
    """Events waiting for the core, oldest first.

    When more than ``max_frames`` pictures wait, the oldest waiting one goes (C17): the core
    would supersede it anyway. Everything else keeps its order and is never dropped.
    """

    def __init__(self, max_frames: int) -> None:
        self._max_frames = max_frames
        self._events: deque[Event] = deque()
        self._frames = 0
        self.dropped_frames = 0

    def __len__(self) -> int:
        return len(self._events)

    def put(self, event: Event) -> FrameArrived | None:
        """Queue ``event``; returns the picture that had to go for it, if any."""
        self._events.append(event)
        if not isinstance(event, FrameArrived):
            return None
        self._frames += 1
        return self._drop_oldest_frame() if self._frames > self._max_frames else None

    def pop(self) -> Event:
        event = self._events.popleft()
        if isinstance(event, FrameArrived):
            self._frames -= 1
        return event

    def waiting_frames(self) -> set[FrameUuid]:
        """Ids of queued pictures: their bytes must not be released yet."""
        if not self._frames:
            return set()
        return {e.frame.uuid for e in self._events if isinstance(e, FrameArrived)}

    def _drop_oldest_frame(self) -> FrameArrived:
        oldest = next(e for e in self._events if isinstance(e, FrameArrived))
        self._events.remove(oldest)
        self._frames -= 1
        self.dropped_frames += 1
        return oldest
