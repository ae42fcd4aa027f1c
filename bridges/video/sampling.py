"""Which frames of a source are looked at, and how large they are. Pure."""

from __future__ import annotations

from math import sqrt

ROUNDING_MS = 0.5
"""Containers round timestamps to their own ticks; half a millisecond forgives that."""


class Sampler:
    """Chooses frames at a fixed rate: slot k takes the first frame at or after k·(1000/fps) ms.

    Slots without a frame are passed over, never caught up on, and no frame is taken twice.
    """

    def __init__(self, fps: float, *, tolerance_ms: float = ROUNDING_MS) -> None:
        self._period_ms = 1000 / fps
        self._tolerance_ms = tolerance_ms
        self._next_slot = 0

    def is_due(self, at_ms: float) -> bool:
        """Whether a frame at ``at_ms`` would fill a slot."""
        return at_ms + self._tolerance_ms >= self._next_slot * self._period_ms

    def take(self, at_ms: float) -> None:
        """Note that the frame at ``at_ms`` was used; call it only for a due frame."""
        # A multiple of the period each time: an added-up due time would drift.
        self._next_slot = int((at_ms + self._tolerance_ms) / self._period_ms) + 1


class MediaClock:
    """Media time of each frame of a file, also where the container's timestamps are useless.

    Raw streams and some AVI files report 0 for every frame, and edited files jump backwards;
    there the time goes on by one frame length instead.
    """

    def __init__(self, fps: float | None) -> None:
        self._frame_ms = 1000 / (fps or 25.0)
        self._index = -1
        self._at_ms = 0.0

    def advance(self, reported_ms: float, frames: int = 1) -> float:
        """Time of the next frame in ms, given what the container reports and how many frames
        further it lies (more than 1 after broken ones). Strictly increasing."""
        first = self._index < 0
        self._index += frames
        step_ms = frames * self._frame_ms
        expected_ms = self._index * self._frame_ms if first else self._at_ms + step_ms
        is_usable = reported_ms >= 0 if first else reported_ms > self._at_ms
        self._at_ms = reported_ms if is_usable else expected_ms
        return self._at_ms

    def end_ms(self) -> float:
        """Where the frame after the last one would lie."""
        return self._at_ms + self._frame_ms


def fit_size(width: int, height: int, max_pixels: int, max_side: int) -> tuple[int, int]:
    """Largest size of the same shape within both limits; never larger than the original."""
    scale = min(1.0, sqrt(max_pixels / (width * height)), max_side / max(width, height))
    if scale >= 1.0:
        return width, height
    wide, high = max(1, int(width * scale)), max(1, int(height * scale))
    # A strip so thin that its short side was raised to 1 may be too long now.
    return min(wide, max(1, max_pixels // high)), min(high, max(1, max_pixels // wide))
