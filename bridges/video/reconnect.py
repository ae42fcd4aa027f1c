"""How often, and how patiently, a lost live source is tried again. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reconnect:
    """Exponential backoff with a bound. Counting starts anew after every frame that arrives."""

    tries: int = 6
    """Attempts before giving up; 0 gives up at once."""
    first_s: float = 0.5
    """Seconds before the first attempt."""
    factor: float = 2.0
    longest_s: float = 8.0
    """Upper bound of one wait, in seconds."""

    def delays_s(self) -> Iterator[float]:
        """Seconds to wait before each attempt."""
        for attempt in range(self.tries):
            yield min(self.longest_s, self.first_s * self.factor**attempt)
