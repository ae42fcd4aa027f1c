"""How fast a run goes, what it asks, and how it came to its end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from onlooker.errors import OnlookerError
from onlooker.orchestrator.notices import DecisionMade, DecisionSource, Notice, Trouble
from onlooker.orchestrator.report.words import UNDECIDED
from onlooker.types import Ms

START: Final = Ms(0)


class Speed(StrEnum):
    REALTIME = "realtime"
    MAX = "max"


class Outcome(StrEnum):
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Ask:
    """One query of a run."""

    text: str
    at_ms: Ms = START
    """Stream time at which it is asked."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run came to its end."""

    outcome: Outcome
    error: OnlookerError | None = None


class LastCall:
    """Remembers whether the latest tick that asked the model got an answer; a notice sink."""

    def __init__(self) -> None:
        self._failed = False
        self._trouble: Trouble | None = None

    def add(self, notice: Notice) -> None:
        if isinstance(notice, Trouble):
            self._trouble = notice
        elif isinstance(notice, DecisionMade) and notice.source not in UNDECIDED:
            self._failed = notice.source is DecisionSource.FAILED

    @property
    def error(self) -> OnlookerError | None:
        """Why the model was lost, when the run ended without it."""
        if not self._failed:
            return None
        if self._trouble is None:
            return OnlookerError("the model did not answer the last tick", code="model_lost")
        return OnlookerError(
            f"the model did not answer the last tick: {self._trouble.message}",
            code=self._trouble.code,
        )
