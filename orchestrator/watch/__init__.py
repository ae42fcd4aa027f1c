"""One run of ``onlooker watch``: a video source, some queries, one session."""

from __future__ import annotations

from onlooker.orchestrator.watch.drive import Drive
from onlooker.orchestrator.watch.ending import Ask, Ending, Outcome, Speed
from onlooker.orchestrator.watch.footage import Footage
from onlooker.orchestrator.watch.run import RunParts, WatchPlan, WatchResult, check_asks, run_watch
from onlooker.orchestrator.watch.timed import TimedBackend

__all__ = [
    "Ask",
    "Drive",
    "Ending",
    "Footage",
    "Outcome",
    "RunParts",
    "Speed",
    "TimedBackend",
    "WatchPlan",
    "WatchResult",
    "check_asks",
    "run_watch",
]
