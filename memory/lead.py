"""How early a summary is asked for, adapted to how long summaries take."""

from __future__ import annotations

import math

from onlooker.memory.config import MemoryConfig

MARGIN = 1.25


class Lead:
    """Pictures before full at which the summary is requested."""

    def __init__(self, config: MemoryConfig) -> None:
        self.frames = config.lead
        self.latency_ms = 0.0
        """Latency to expect: jumps up with a slow summary, comes down slowly."""

    def observe(self, latency_ms: float, frame_ms: float, config: MemoryConfig) -> None:
        """A summary took ``latency_ms``, at ``frame_ms`` per picture."""
        self.latency_ms = max(float(latency_ms), 0.75 * self.latency_ms + 0.25 * latency_ms)
        wanted = math.ceil(MARGIN * self.latency_ms / max(1.0, frame_ms)) + 1
        self.frames = min(max(wanted, config.min_lead), config.max_lead)

    def widen(self, config: MemoryConfig) -> None:
        """A summary was not there at the hard cap."""
        self.frames = min(2 * self.frames, config.max_lead)

    def clamp(self, config: MemoryConfig) -> None:
        """The limits changed."""
        self.frames = min(max(self.frames, config.min_lead), config.max_lead)
