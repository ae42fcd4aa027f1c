"""How a source feeds a session: order, pace, endings. The session here is a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from onlooker.bridges.base import CapturedFrame, SourceInfo
from onlooker.errors import OnlookerError, SourceError
from onlooker.orchestrator import events as e
from onlooker.orchestrator.clock import Clock, MediaClock
from onlooker.orchestrator.frames import FrameStore
from onlooker.orchestrator.notices import DecisionSource, Trouble
from onlooker.orchestrator.watch.drive import Drive
from onlooker.orchestrator.watch.ending import Ask, Ending, LastCall, Outcome
from onlooker.orchestrator.watch.footage import Footage
from onlooker.types import FrameRef, Ms
from tests.orchestrator.sample_run import decision

pytestmark = [pytest.mark.shell, pytest.mark.virtual_time]


class LoopClock:
    """Stream time on the event loop's clock."""

    def __init__(self) -> None:
        self._t0 = asyncio.get_running_loop().time()

    def restart(self) -> None:
        self._t0 = asyncio.get_running_loop().time()

    def now_ms(self) -> Ms:
        return Ms(round((asyncio.get_running_loop().time() - self._t0) * 1000))

    async def sleep_until(self, at_ms: Ms) -> None:
        await asyncio.sleep(max(0, at_ms - self.now_ms()) / 1000)


class Clip:
    """Frames at given capture times; live ones also come at those times."""

    def __init__(
        self,
        times: Sequence[int],
        *,
        length_ms: int | None = None,
        live: bool = False,
        breaks: bool = False,
        late_ms: int = 0,
    ) -> None:
        self.info = SourceInfo(64, 48, 25.0, length_ms, live)
        self._times = times
        self._breaks = breaks
        self._late_ms = late_ms
        self.is_done = False

    async def open(self) -> SourceInfo:
        return self.info

    async def frames(self) -> AsyncIterator[CapturedFrame]:
        began_ms = 0
        try:
            for at_ms in self._times:
                if self.info.live:
                    await asyncio.sleep((at_ms + self._late_ms - began_ms) / 1000)
                    began_ms = at_ms + self._late_ms
                yield CapturedFrame(b"frame %d" % at_ms, "image/jpeg", 64, 48, at_ms)
            if self._breaks:
                raise SourceError("the stream is gone", code="source_lost")
        finally:
            self.is_done = True

    async def aclose(self) -> None:
        self.is_done = True


class Script:
    """A session that takes notes. Its timer comes every ``period_ms`` until it is closed."""

    def __init__(self, clock: Clock, period_ms: int | None = None) -> None:
        self._clock = clock
        self._period_ms = period_ms
        self._due = 0
        self._over = asyncio.Event()
        self.fails: Exception | None = None
        self.hangs = False
        self.ends_with_source = False
        self.log: list[tuple[int, str]] = []

    @property
    def next_timer_ms(self) -> Ms | None:
        return None if self._period_ms is None else Ms(self._due * self._period_ms)

    @property
    def is_closed(self) -> bool:
        return self._over.is_set()

    def post(self, event: e.Event) -> None:
        name = type(event).__name__
        match event:
            case e.FrameArrived(frame):
                name = f"frame {frame.capture_ms}"
            case e.QueryArrived(instruction_id, text):
                name = f"{instruction_id} {text}"
            case e.TroubleNoted(code):
                name = code
            case e.SessionClosed(reason):
                name = reason
                self._over.set()
            case e.TimerFired():
                self._due += 1
            case e.SourceEnded() if self.ends_with_source:
                self._over.set()
            case _:
                pass
        self.log.append((self._clock.now_ms(), name))

    async def settled(self) -> None:
        await asyncio.sleep(0)
        if self.fails is not None:
            self._over.set()
            raise self.fails
        if self.hangs:
            await asyncio.Event().wait()

    async def closed(self) -> None:
        await self._over.wait()
        if self.fails is not None:
            raise self.fails


async def driven(
    session: Script,
    clip: Clip,
    clock: Clock,
    asks: Sequence[Ask] = (),
    stop: asyncio.Event | None = None,
) -> Ending:
    footage = Footage(clip, clip.info, store=FrameStore(), frame_ms=250)
    await footage.advance()
    if isinstance(clock, LoopClock):
        clock.restart()
    return await Drive(session, footage, clock=clock, asks=asks).run(stop or asyncio.Event())


async def test_at_full_speed_frames_come_first_then_queries_then_timers() -> None:
    clock = MediaClock()
    session = Script(clock, period_ms=500)
    asks = [Ask("later", Ms(500)), Ask("between", Ms(600)), Ask("first")]
    ending = await driven(session, Clip([0, 250, 500, 750]), clock, asks)
    assert ending == Ending(Outcome.COMPLETE)
    assert session.log == [
        (0, "frame 0"),
        (0, "q1 first"),
        (0, "TimerFired"),
        (250, "frame 250"),
        (500, "frame 500"),
        (500, "q2 later"),
        (500, "TimerFired"),
        (600, "q3 between"),
        (750, "frame 750"),
        (1_000, "SourceEnded"),
        (1_000, "source_ended"),
    ]


async def test_at_full_speed_no_wall_time_passes() -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    clock = MediaClock()
    await driven(Script(clock, 1_000), Clip(range(0, 3_600_000, 60_000)), clock)
    assert loop.time() == began


async def test_a_file_ends_at_its_stated_length_when_that_is_sooner() -> None:
    clock = MediaClock()
    session = Script(clock)
    await driven(session, Clip([0, 250], length_ms=300), clock)
    assert session.log[-1] == (300, "source_ended")
    session = Script(clock := MediaClock())
    await driven(session, Clip([0, 250], length_ms=99_000), clock)
    assert session.log[-1] == (500, "source_ended")


async def test_a_query_for_after_the_end_is_noted_and_not_asked() -> None:
    clock = MediaClock()
    session = Script(clock)
    await driven(session, Clip([0]), clock, [Ask("too late", Ms(9_000))])
    assert (250, "query_after_end") in session.log
    assert not [name for _, name in session.log if name.startswith("q1")]


@pytest.mark.parametrize("clock_type", [MediaClock, LoopClock])
async def test_a_source_that_breaks_ends_the_run_and_the_session_decides_once_more(
    clock_type: type[MediaClock] | type[LoopClock],
) -> None:
    clock = clock_type()
    session = Script(clock)
    clip = Clip([0, 250], breaks=True)
    ending = await driven(session, clip, clock)
    assert ending.outcome is Outcome.FAILED
    assert ending.error is not None
    assert ending.error.code == "source_lost"
    names = [name for _, name in session.log]
    assert names == ["frame 0", "frame 250", "source_lost", "SourceEnded", "source_failed"]
    assert clip.is_done


async def test_in_real_time_a_file_keeps_to_its_capture_times() -> None:
    clock = LoopClock()
    session = Script(clock)
    asks = [Ask("first"), Ask("later", Ms(600))]
    ending = await driven(session, Clip([0, 250, 500, 750]), clock, asks)
    assert ending == Ending(Outcome.COMPLETE)
    assert session.log == [
        (0, "frame 0"),
        (0, "q1 first"),
        (250, "frame 250"),
        (500, "frame 500"),
        (600, "q2 later"),
        (750, "frame 750"),
        (1_000, "SourceEnded"),
        (1_000, "source_ended"),
    ]


async def test_stream_time_begins_with_the_first_live_frame() -> None:
    clock = LoopClock()
    session = Script(clock)
    # The source had been open for 5.1 s when its first frame came.
    clip = Clip([5_100, 5_400, 6_000], live=True)
    await driven(session, clip, clock, [Ask("first"), Ask("later", Ms(400))])
    assert session.log == [
        (0, "frame 0"),
        (0, "q1 first"),
        (300, "frame 300"),
        (400, "q2 later"),
        (900, "frame 900"),
        (900, "SourceEnded"),
        (900, "source_ended"),
    ]


async def test_a_query_at_the_start_waits_for_a_picture_but_not_for_ever() -> None:
    clock = LoopClock()
    session = Script(clock)
    await driven(session, Clip([700]), clock, [Ask("anyone there?")])
    assert session.log[:2] == [(700, "frame 700"), (700, "q1 anyone there?")]
    session = Script(clock)
    await driven(session, Clip([5_000]), clock, [Ask("anyone there?")])
    assert session.log[0] == (2_000, "q1 anyone there?")


@pytest.mark.parametrize("clock_type", [MediaClock, LoopClock])
async def test_what_is_there_at_the_start_is_posted_before_anything_else_can_run(
    clock_type: type[MediaClock] | type[LoopClock],
) -> None:
    clock = clock_type()
    session = Script(clock)
    clip = Clip([0])
    footage = Footage(clip, clip.info, store=FrameStore(), frame_ms=250)
    await footage.advance()
    early: list[str] = []
    asyncio.get_running_loop().call_soon(lambda: early.extend(name for _, name in session.log))
    await Drive(session, footage, clock=clock, asks=[Ask("first")]).run(asyncio.Event())
    assert early == ["frame 0", "q1 first"]


async def test_an_empty_source_ends_at_once() -> None:
    session = Script(clock := MediaClock())
    assert await driven(session, Clip([]), clock) == Ending(Outcome.COMPLETE)
    assert [name for _, name in session.log] == ["SourceEnded", "source_ended"]


@pytest.mark.parametrize("clock_type", [MediaClock, LoopClock])
async def test_stopping_closes_the_session_and_leaves_no_task(
    clock_type: type[MediaClock] | type[LoopClock],
) -> None:
    clock = clock_type()
    session = Script(clock, 1_000)
    session.hangs = True
    stop = asyncio.Event()
    clip = Clip(range(0, 100_000, 250))
    running = asyncio.create_task(driven(session, clip, clock, stop=stop))
    await asyncio.sleep(0.6)
    stop.set()
    assert await running == Ending(Outcome.INTERRUPTED)
    assert session.log[-1][1] == "interrupted"
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_session_that_ends_by_itself_ends_the_run() -> None:
    clock = LoopClock()
    session = Script(clock)
    running = asyncio.create_task(driven(session, Clip([0, 9_000]), clock))
    await asyncio.sleep(1)
    session.post(e.SessionClosed("limit"))
    assert await running == Ending(Outcome.INTERRUPTED)
    assert session.log[-1] == (1_000, "limit")


async def test_a_session_that_ends_by_itself_after_its_source_has_made_a_complete_run() -> None:
    clock = LoopClock()
    session = Script(clock)
    session.ends_with_source = True
    assert await driven(session, Clip([0]), clock) == Ending(Outcome.COMPLETE)
    assert session.log[-1] == (250, "SourceEnded")


@pytest.mark.parametrize("clock_type", [MediaClock, LoopClock])
async def test_a_session_that_breaks_is_not_hidden(
    clock_type: type[MediaClock] | type[LoopClock],
) -> None:
    clock = clock_type()
    session = Script(clock)
    session.fails = ZeroDivisionError("a bug")
    with pytest.raises(ZeroDivisionError):
        await driven(session, Clip([0, 250]), clock)


async def test_pictures_are_stored_and_shown_before_the_session_hears_of_them() -> None:
    clock = MediaClock()
    session = Script(clock)
    store = FrameStore()
    seen: list[tuple[int, bytes, bool, int]] = []

    async def see(ref: FrameRef, data: bytes) -> None:
        seen.append((ref.capture_ms, data, store.get(ref.uuid) == data, len(session.log)))

    times: list[int] = []
    clip = Clip([0, 250])
    footage = Footage(clip, clip.info, store=store, frame_ms=250, see=see)
    await footage.advance()
    await Drive(session, footage, clock=clock, asks=(), on_time=times.append).run(asyncio.Event())
    assert seen == [(0, b"frame 0", True, 0), (250, b"frame 250", True, 1)]
    assert times == [250, 500]


def trouble(code: str, message: str) -> Trouble:
    return Trouble(Ms(0), code, message, True)


def test_a_model_that_did_not_answer_the_last_tick_is_an_error_of_the_run() -> None:
    last = LastCall()
    assert last.error is None
    last.add(decision(0))
    last.add(decision(1_000, source=DecisionSource.FAILED))
    error = last.error
    assert isinstance(error, OnlookerError)
    assert error.code == "model_lost"
    last.add(trouble("bridge_timeout", "too slow"))
    last.add(decision(2_000, source=DecisionSource.GATE))
    error = last.error
    assert error is not None
    assert (error.code, error.message) == (
        "bridge_timeout",
        "the model did not answer the last tick: too slow",
    )
    last.add(decision(3_000))
    assert last.error is None
