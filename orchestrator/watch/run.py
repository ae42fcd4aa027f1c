"""One run from settings to its ending."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

import onlooker
from onlooker.bridges.base import ModelBackend, SourceInfo, VideoSource
from onlooker.bridges.video.address import parse_spec
from onlooker.errors import ConfigError, OnlookerError, SourceError
from onlooker.orchestrator import events as e
from onlooker.orchestrator.clock import Clock, MediaClock, WallClock
from onlooker.orchestrator.config import CoreConfig
from onlooker.orchestrator.core import SessionCore
from onlooker.orchestrator.frames import FrameStore
from onlooker.orchestrator.live import View
from onlooker.orchestrator.recorder import Recorder
from onlooker.orchestrator.report import RunFacts, Timeline, shrink
from onlooker.orchestrator.session import Session
from onlooker.orchestrator.settings import Settings, effective
from onlooker.orchestrator.watch.drive import Drive
from onlooker.orchestrator.watch.ending import Ask, Ending, LastCall, Outcome, Speed
from onlooker.orchestrator.watch.footage import Footage
from onlooker.orchestrator.watch.recording import header
from onlooker.orchestrator.watch.timed import TimedBackend
from onlooker.orchestrator.wiring import (
    Model,
    core_config,
    open_model,
    video_source,
)
from onlooker.types import FrameRef

_FACTS: Final = {"cadence", "video", "memory"}


@dataclass(frozen=True, slots=True)
class WatchPlan:
    """What to watch and what to ask."""

    source: str
    asks: tuple[Ask, ...]
    speed: Speed = Speed.REALTIME
    loop: bool = False
    """Begin a recording again at its end."""


@dataclass(frozen=True, slots=True)
class WatchResult:
    """What is left of a run."""

    ending: Ending
    facts: RunFacts
    """For the report, the outcome included."""


def check_asks(asks: Sequence[Ask], max_chars: int) -> None:
    """Refuse queries no session would take.

    Raises:
        ConfigError: ``query_empty`` or ``query_too_long``.
    """
    for ask in asks:
        if not ask.text.strip():
            raise ConfigError("a query is empty — give --ask some words", code="query_empty")
        if len(ask.text) > max_chars:
            raise ConfigError(
                f"a query has {len(ask.text):,} characters, {max_chars:,} is the most — "
                "shorten it, or raise decision.max_query_chars",
                code="query_too_long",
            )


@dataclass(frozen=True, slots=True)
class RunParts:
    """Who takes part in a run from outside."""

    view: View
    """Shows the run; begun here, ended by the caller."""
    stop: asyncio.Event
    """Set it to end early; everything up to then is complete."""
    timeline: Timeline
    """Collects the run."""
    with_pictures: bool = False
    """Thumbnails are wanted for a report."""


async def run_watch(
    settings: Settings, plan: WatchPlan, parts: RunParts, *, record: Path | None = None
) -> WatchResult:
    """Watch ``plan.source`` to its end, or until ``parts.stop`` is set.

    Args:
        settings: everything that is not part of the plan; passed ``wiring.check_settings``.
        plan: what to watch and ask; checked with :func:`check_asks`.
        parts: who shows, collects and stops the run.
        record: file of the recording, if one is wanted.

    Raises:
        OnlookerError: the run could not begin. Once it has, every error is an ending.
    """
    async with AsyncExitStack() as stack:
        source = video_source(settings, plan.source, loop=plan.loop)
        stack.push_async_callback(source.aclose)
        info = await source.open()
        _check_speed(plan, info)
        model = await open_model(settings)
        stack.push_async_callback(model.aclose)
        config = await asyncio.to_thread(core_config, settings, model)
        run = _Run(settings, plan, parts, model)
        if record is not None:
            stack.enter_context(await asyncio.to_thread(run.record_to, record, config))
        facts = await asyncio.to_thread(_facts, settings, plan, model)
        parts.view.begin(facts, None if plan.loop else info.duration_ms)
        try:
            ending = await run.drive(SessionCore(config), source, info)
        except Exception as error:
            ending = Ending(Outcome.FAILED, _as_ours(error))
    return WatchResult(ending, _with_ending(facts, ending))


class _Run:
    """The parts of one run that need each other."""

    def __init__(self, settings: Settings, plan: WatchPlan, parts: RunParts, model: Model) -> None:
        self._settings = settings
        self._plan = plan
        self._parts = parts
        self._model = model
        self._last_call = LastCall()
        self._recorder: Recorder | None = None
        self._post: Callable[[e.Event], None] = lambda event: None

    def record_to(self, path: Path, config: CoreConfig) -> Recorder:
        """Record every step; the caller closes the recorder."""
        self._recorder = Recorder(path, header(config), lambda trouble: self._post(trouble))
        return self._recorder

    async def drive(self, core: SessionCore, source: VideoSource, info: SourceInfo) -> Ending:
        store = FrameStore()
        frame_ms = round(1000 / self._settings.video.fps)
        footage = Footage(source, info, store=store, frame_ms=frame_ms, see=self._see)
        await footage.advance()
        # Stream time begins here, when there is something to see.
        clock: Clock = MediaClock() if self._plan.speed is Speed.MAX else WallClock()
        session = Session(
            core,
            clock=clock,
            model=self._timed(self._model.ticks, "tick", clock),
            summariser=self._timed(self._model.summaries, "summary", clock),
            store=store,
            sinks=(self._last_call.add, self._parts.timeline.add, self._parts.view.add),
            recorder=self._recorder,
        )
        async with session:
            self._post = session.post
            drive = Drive(
                session,
                footage,
                clock=clock,
                asks=self._plan.asks,
                on_time=self._parts.view.at,
            )
            ending = await drive.run(self._parts.stop)
        if ending.outcome is Outcome.COMPLETE and self._last_call.error is not None:
            return Ending(Outcome.FAILED, self._last_call.error)
        return ending

    def _timed(self, backend: ModelBackend, kind: str, clock: Clock) -> ModelBackend:
        on_call = self._parts.timeline.add_call
        return TimedBackend(backend, kind=kind, clock=clock, on_call=on_call)

    async def _see(self, ref: FrameRef, data: bytes) -> None:
        small = None
        if self._parts.with_pictures:
            side_px = self._settings.report.thumbnail_width_px
            small = await asyncio.to_thread(shrink, data, ref.uuid, ref.capture_ms, side_px)
        self._parts.timeline.see(ref.uuid, ref.capture_ms, small)


def _as_ours(error: Exception) -> OnlookerError:
    """A run that has begun always gets its report, even when a bug of ours ends it."""
    if isinstance(error, OnlookerError):
        return error
    ours = OnlookerError(f"{type(error).__name__} in a session — this is a bug, please report it")
    ours.__cause__ = error
    return ours


def _check_speed(plan: WatchPlan, info: SourceInfo) -> None:
    if plan.speed is Speed.MAX and (info.live or plan.loop):
        raise SourceError(
            "only a recording with an end can be watched as fast as possible — "
            "leave out --speed max" + (" or --loop" if plan.loop else ""),
            code="speed_needs_recording",
        )


def _facts(settings: Settings, plan: WatchPlan, model: Model) -> RunFacts:
    shown = [
        (".".join(path), str(value))
        for path, value in effective(settings)
        if path[0] in _FACTS and value is not None
    ]
    return RunFacts(
        source=parse_spec(plan.source).label,
        model=model.probe.model,
        stand_in=model.ticks.capabilities.stand_in,
        dialect=model.dialect.name,
        persona=settings.decision.persona,
        speed=plan.speed.value,
        started=datetime.now().astimezone().isoformat(sep=" ", timespec="seconds"),
        version=onlooker.__version__,
        settings=tuple(shown),
        notes=_notes(settings, plan),
    )


def _notes(settings: Settings, plan: WatchPlan) -> tuple[str, ...]:
    if plan.asks or not settings.decision.force_silence_until_query:
        return ()
    return ("nothing is asked, so the model is never called — give --ask TEXT",)


def _with_ending(facts: RunFacts, ending: Ending) -> RunFacts:
    error = "" if ending.error is None else f"{ending.error.code}: {ending.error.message}."
    return replace(facts, outcome=ending.outcome.value, error=error)
