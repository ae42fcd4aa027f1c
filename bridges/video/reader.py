"""What a source is made of: a reader that blocks, run by one thread (``threaded.py``)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from onlooker.bridges.base import CapturedFrame, SourceInfo

Pause: TypeAlias = Callable[[threading.Event, float], object]
"""Wait until the event is set or the seconds are over; ``threading.Event.wait`` in real life."""
Clock: TypeAlias = Callable[[], float]
"""Seconds on a clock that never jumps."""


@dataclass(frozen=True, slots=True)
class FrameFormat:
    """How often to look, and what a picture may weigh."""

    fps: float
    """Frames a second that are handed out, at most."""
    max_pixels: int
    """Width times height of a handed-out picture, at most."""
    jpeg_quality: int = 90
    """1 to 100."""


@dataclass(slots=True)
class SourceCounts:
    """What went by unseen. Each count is written by one thread only and may be read by any."""

    dropped: int = 0
    """Sampled frames of a live source replaced by a newer one before anybody took them."""
    broken: int = 0
    """Frames or pictures that could not be decoded and were passed over."""
    reconnects: int = 0
    """Times a lost live source came back."""


class FrameReader(Protocol):
    """Opens, reads and closes one source. Every method runs on the same thread and may block."""

    @property
    def counts(self) -> SourceCounts: ...

    def open(self, stop: threading.Event) -> SourceInfo:
        """Open it and make sure of a first picture; raises ``SourceError``. Once ``stop`` is
        set, every method must come to its end soon."""
        ...

    def frames(self) -> Iterator[CapturedFrame]:
        """Sampled frames, as long as there are any and ``stop`` is not set."""
        ...

    def close(self) -> None:
        """Give everything back. May be called twice, and without a successful ``open``."""
        ...
