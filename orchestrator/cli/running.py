"""Runs a plan under the terminal's signals, and writes what is left of it."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from onlooker.errors import ConfigError, RecordingError
from onlooker.orchestrator.live import TerminalConsole, make_view
from onlooker.orchestrator.report import Thumbnails, Timeline, check_writable, write_report
from onlooker.orchestrator.report.words import decision_kind, seconds
from onlooker.orchestrator.settings import Settings
from onlooker.orchestrator.watch import (
    Outcome,
    RunParts,
    WatchPlan,
    WatchResult,
    run_watch,
)
from onlooker.orchestrator.wiring import check_settings

EXIT_INTERRUPTED: Final = 130
KINDS: Final = ("spoke", "silent", "delegated", "skipped", "failed")


@dataclass(frozen=True, slots=True)
class Files:
    """What a run leaves behind."""

    report: Path | None
    record: Path | None

    def check(self) -> None:
        """Raises ``ConfigError`` when one of them could not be written at the end."""
        if self.report is not None:
            check_writable(self.report, "report")
        if self.record is not None:
            check_writable(self.record, "record")
            if self.record.exists():
                raise RecordingError(f"{self.record} exists already; name a new file")
        if self.report is not None and self.report == self.record:
            raise ConfigError(
                "report and recording would be the same file — give them different names",
                code="same_file",
            )


def watch_to_the_end(
    settings: Settings, plan: WatchPlan, files: Files, *, as_json: bool, plain: bool
) -> int:
    """Run ``plan``; write report and recording whatever happens; return the exit code."""
    check_settings(settings)
    files.check()
    pictures = Thumbnails(settings.report.max_thumbnails) if files.report else None
    timeline = Timeline() if pictures is None else Timeline(pictures)
    stop = asyncio.Event()
    console = TerminalConsole(stop.set)
    view = make_view(as_json=as_json, plain=plain, console=console, on_gone=stop.set)
    parts = RunParts(view, stop, timeline, with_pictures=pictures is not None)
    try:
        result = asyncio.run(_under_signals(settings, plan, parts, files.record))
    except KeyboardInterrupt:
        # The second Ctrl-C: give the terminal back and go.
        view.end("stopped at once")
        raise
    words = [sum_up(timeline, result)]
    if files.report is not None:
        write_report(files.report, timeline, result.facts)
        words.append(f"report: {files.report}")
    if files.record is not None:
        words.append(f"recording: {files.record}")
    view.end("\n".join(words))
    if result.ending.error is not None:
        raise result.ending.error
    return EXIT_INTERRUPTED if result.ending.outcome is Outcome.INTERRUPTED else 0


async def _under_signals(
    settings: Settings, plan: WatchPlan, parts: RunParts, record: Path | None
) -> WatchResult:
    with stopping_on_signals(parts.stop):
        return await run_watch(settings, plan, parts, record=record)


@contextmanager
def stopping_on_signals(stop: asyncio.Event) -> Iterator[None]:
    """The first Ctrl-C (or SIGTERM) ends the run in good order, the second at once."""
    loop = asyncio.get_running_loop()
    taken = (signal.SIGINT, signal.SIGTERM)

    def on_signal() -> None:
        stop.set()
        give_back()

    def give_back() -> None:
        for number in taken:
            loop.remove_signal_handler(number)

    # Where the loop has no signals (Windows, a thread), Ctrl-C ends the run at once.
    with suppress(NotImplementedError, RuntimeError, ValueError):
        for number in taken:
            loop.add_signal_handler(number, on_signal)
    try:
        yield
    finally:
        with suppress(NotImplementedError, RuntimeError, ValueError):
            give_back()


def sum_up(timeline: Timeline, result: WatchResult) -> str:
    """The run in one line."""
    counts = Counter(decision_kind(decision) for decision in timeline.decisions)
    parts = [f"{counts[kind]} {kind}" for kind in KINDS if counts[kind]]
    boundaries = len(timeline.boundaries)
    if boundaries:
        parts.append(f"{boundaries} {'boundary' if boundaries == 1 else 'boundaries'}")
    words = {Outcome.COMPLETE: "watched", Outcome.INTERRUPTED: "interrupted after"}
    start = words.get(result.ending.outcome, "broken off after")
    ticks = f"{timeline.tick_count} {'tick' if timeline.tick_count == 1 else 'ticks'}"
    moments = [ms for _, ms in list(timeline.frames)[-1:]]
    moments += [decision.at_ms for decision in list(timeline.decisions)[-1:]]
    end = seconds(max(moments, default=0))
    return f"{start} {end}: {ticks} ({', '.join(parts) or 'no decision'})"
