"""When the next tick is due: slot k at t0 + k·T, for ever.

The grid is fixed by its start. Nothing that happens in between moves it: not the work of a tick,
not a triggered tick, not a slot that was missed (C19). Time is an argument.
"""

from __future__ import annotations

from dataclasses import dataclass

from onlooker.types import Ms

__all__ = ["Cadence", "Slot"]


@dataclass(frozen=True, slots=True)
class Slot:
    """One place in the grid that a tick has taken."""

    index: int
    """k, from 0."""
    due_ms: Ms
    """t0 + k·T."""
    missed: int
    """Slots that passed untaken since the last one taken."""


class Cadence:
    """The grid of one session.

    Ask for a timer at :attr:`due_ms`; when it has come, :meth:`take` the slot. When a tick ends
    after its period was over, :meth:`skip` first: the slots it covered are missed, the next one
    is taken on time, and there is no burst.

    Args:
        period_ms: T, at least 1.
    """

    __slots__ = ("_missed", "_next", "_period_ms", "_t0")

    def __init__(self, period_ms: int) -> None:
        if period_ms < 1:
            raise ValueError("period_ms must be at least 1")
        self._period_ms = period_ms
        self._t0: Ms | None = None
        self._next = 0
        self._missed = 0

    @property
    def period_ms(self) -> int:
        return self._period_ms

    @property
    def due_ms(self) -> Ms | None:
        """When the next slot is due; None unless started."""
        return None if self._t0 is None else Ms(self._t0 + self._next * self._period_ms)

    def start(self, t0: Ms) -> None:
        """Lay the grid: slot 0 is due at ``t0``."""
        self._t0 = t0
        self._next = 0
        self._missed = 0

    def stop(self) -> None:
        """No slot is due any more."""
        self._t0 = None

    def take(self, now_ms: Ms) -> Slot:
        """Take the slot that is due; of several past ones the newest, the others are missed.

        Call it only when ``due_ms <= now_ms``.
        """
        index = self._latest(now_ms)
        if index < self._next:
            raise AssertionError("take() is called when a slot is due")
        missed = self._missed + index - self._next
        due_ms = Ms(self._origin + index * self._period_ms)
        self._next, self._missed = index + 1, 0
        return Slot(index, due_ms, missed)

    def skip(self, now_ms: Ms) -> int:
        """Give up the slots that lie before ``now_ms``; they count as missed in the next one.

        Returns:
            How many were given up now. A slot due exactly at ``now_ms`` is kept.
        """
        first = self._latest(Ms(now_ms - 1)) + 1
        skipped = max(0, first - self._next)
        self._next += skipped
        self._missed += skipped
        return skipped

    @property
    def _origin(self) -> Ms:
        if self._t0 is None:
            raise AssertionError("the cadence is started with the session")
        return self._t0

    def _latest(self, now_ms: Ms) -> int:
        """Index of the newest slot due at or before ``now_ms``."""
        return (now_ms - self._origin) // self._period_ms
