"""The thread behind a source: never in the loop's way, never left behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest

from onlooker.bridges.base import CapturedFrame, SourceInfo
from onlooker.bridges.video.live import LiveReader
from onlooker.bridges.video.reader import FrameFormat, SourceCounts
from onlooker.bridges.video.reconnect import Reconnect
from onlooker.bridges.video.threaded import ThreadedSource
from onlooker.errors import SourceError
from tests.bridges.video.material import FakeCapture, FakeClock, FakeFactory, number_of, request

pytestmark = pytest.mark.shell


def frame(number: int) -> CapturedFrame:
    return CapturedFrame(b"%d" % number, "image/jpeg", 1, 1, number)


class ScriptedReader:
    """Runs what a test gives it in place of a capture."""

    def __init__(
        self,
        frames: Callable[[threading.Event], Iterator[CapturedFrame]],
        *,
        live: bool = False,
        on_open: Callable[[threading.Event], object] = lambda stop: None,
    ) -> None:
        self.counts = SourceCounts()
        self.closed_by: list[int] = []
        self._frames = frames
        self._live = live
        self._on_open = on_open
        self._stop = threading.Event()

    def open(self, stop: threading.Event) -> SourceInfo:
        self._stop = stop
        self._on_open(stop)
        return SourceInfo(1, 1, None, None, self._live)

    def frames(self) -> Iterator[CapturedFrame]:
        return self._frames(self._stop)

    def close(self) -> None:
        self.closed_by.append(threading.get_ident())


def no_frames(stop: threading.Event) -> Iterator[CapturedFrame]:
    return iter(())


def video_threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "onlooker-video"]


@pytest.fixture(autouse=True)
def _no_thread_stays() -> Iterator[None]:
    assert video_threads() == []
    yield
    assert video_threads() == []


async def test_c25_the_loop_turns_while_a_frame_is_decoded() -> None:
    loop_has_turned = threading.Event()

    def frames(stop: threading.Event) -> Iterator[CapturedFrame]:
        # Decoding that needs the loop to turn: on the loop itself this could never end.
        assert loop_has_turned.wait(10)
        yield frame(1)

    source = ThreadedSource(ScriptedReader(frames))
    await source.open()
    taking = asyncio.ensure_future(anext(source.frames()))
    for _ in range(100):
        await asyncio.sleep(0)
    loop_has_turned.set()
    assert await taking == frame(1)
    await source.aclose()


async def test_c17_a_recorded_source_works_ahead_by_one_frame_at_most() -> None:
    made = []

    def frames(stop: threading.Event) -> Iterator[CapturedFrame]:
        for number in range(100):
            made.append(number)
            yield frame(number)

    source = ThreadedSource(ScriptedReader(frames))
    await source.open()
    stream = source.frames()
    for number in range(100):
        assert (await anext(stream)).capture_ms == number
        assert len(made) <= number + 3  # one taken, one waiting, one in the making
    assert source.dropped_frames == 0
    await source.aclose()


async def test_c17_ten_minutes_of_video_for_a_model_that_takes_three_seconds_a_call() -> None:
    """30 frames a second arrive, one tick a second is wanted, each call lasts 3 s."""
    clock, rounds = FakeClock(), 200
    consumer_is_done = [threading.Event() for _ in range(rounds + 1)]
    loop = asyncio.get_running_loop()
    three_seconds_passed: asyncio.Queue[int] = asyncio.Queue()

    def before_grab(index: int) -> None:
        if index and index % 90 == 0:
            loop.call_soon_threadsafe(three_seconds_passed.put_nowait, index)
            consumer_is_done[index // 90 - 1].wait(10)

    capture = FakeCapture(rounds * 90 + 1, clock=clock, before_grab=before_grab)
    reader = LiveReader(
        request(),
        FrameFormat(1, 1_000_000),
        factory=FakeFactory(capture),
        refusal=lambda _: SourceError("no"),
        label="camera 0",
        reconnect=Reconnect(tries=0),
        clock=clock,
    )
    source = ThreadedSource(reader)
    await source.open()
    opened_s = 100 + 1 / 30
    stream = source.frames()
    for number in range(rounds):
        await three_seconds_passed.get()
        taken = await anext(stream)
        age_ms = (clock.now_s - opened_s) * 1000 - taken.capture_ms
        assert 0 <= age_ms <= 2_000
        consumer_is_done[number].set()
    # Slots 0 to 600 were sampled; of each three seconds one frame was taken.
    assert source.dropped_frames == 601 - rounds
    with pytest.raises(SourceError):
        [f async for f in stream]
    await source.aclose()


async def test_c20_a_stalled_camera_gives_nothing_rather_than_an_old_frame_again() -> None:
    clock, go_on = FakeClock(), threading.Event()
    capture = FakeCapture(
        200, clock=clock, before_grab=lambda index: index == 40 and go_on.wait(10)
    )
    reader = LiveReader(
        request(),
        FrameFormat(1, 1_000_000),
        factory=FakeFactory(capture),
        refusal=lambda _: SourceError("no"),
        label="camera 0",
        reconnect=Reconnect(tries=0),
        clock=clock,
    )
    source = ThreadedSource(reader)
    await source.open()
    stream = source.frames()
    before = await anext(stream)
    while number_of(before) == 0:
        before = await anext(stream)
    waiting = asyncio.ensure_future(anext(stream))
    for _ in range(1_000):
        await asyncio.sleep(0)
    assert not waiting.done()
    clock.now_s += 5
    go_on.set()
    after = await waiting
    assert after.capture_ms >= before.capture_ms + 5_000
    assert number_of(after) >= 40
    await source.aclose()


async def test_closing_joins_the_thread_and_releases_in_it() -> None:
    def frames(stop: threading.Event) -> Iterator[CapturedFrame]:
        stop.wait(10)
        yield frame(0)

    reader = ScriptedReader(frames, live=True)
    source = ThreadedSource(reader)
    await source.open()
    (thread,) = video_threads()
    await source.aclose()
    assert not thread.is_alive()
    assert reader.closed_by == [thread.ident]
    await source.aclose()
    assert [f async for f in source.frames()] == []


async def test_closing_ends_a_consumer_that_waits() -> None:
    def frames(stop: threading.Event) -> Iterator[CapturedFrame]:
        stop.wait(10)
        return iter(())

    source = ThreadedSource(ScriptedReader(frames, live=True))
    await source.open()
    consumer = asyncio.ensure_future(_drained(source))
    await asyncio.sleep(0)
    await source.aclose()
    assert await consumer == []


async def _drained(source: ThreadedSource) -> list[CapturedFrame]:
    return [f async for f in source.frames()]


async def test_closing_frees_a_thread_that_waits_for_a_slow_consumer() -> None:
    source = ThreadedSource(ScriptedReader(lambda stop: iter(frame(n) for n in range(1_000))))
    await source.open()
    assert await anext(source.frames()) == frame(0)
    await source.aclose()


async def test_cancelling_the_consumer_is_prompt_and_leaves_the_source_usable() -> None:
    go_on = threading.Event()

    def frames(stop: threading.Event) -> Iterator[CapturedFrame]:
        go_on.wait(10)
        yield frame(7)

    source = ThreadedSource(ScriptedReader(frames))
    await source.open()
    consumer = asyncio.ensure_future(anext(source.frames()))
    await asyncio.sleep(0)
    consumer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await consumer
    go_on.set()
    assert await anext(source.frames()) == frame(7)
    await source.aclose()


async def test_cancelling_open_ends_the_thread() -> None:
    reader = ScriptedReader(no_frames, on_open=lambda stop: stop.wait(10))
    source = ThreadedSource(reader)
    opening = asyncio.ensure_future(source.open())
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    await source.aclose()
    assert len(reader.closed_by) == 1


async def test_closing_while_it_opens_is_an_error_for_the_opener() -> None:
    source = ThreadedSource(ScriptedReader(no_frames, on_open=lambda stop: stop.wait(10)))
    opening = asyncio.ensure_future(source.open())
    await asyncio.sleep(0)
    await source.aclose()
    with pytest.raises(SourceError) as refused:
        await opening
    assert refused.value.code == "source_closed"


async def test_a_call_that_cannot_be_broken_off_does_not_hold_up_the_closing() -> None:
    driver_answers = threading.Event()

    def frames(stop: threading.Event) -> Iterator[CapturedFrame]:
        driver_answers.wait(10)
        return iter(())

    reader = ScriptedReader(frames, live=True)
    source = ThreadedSource(reader, close_grace_s=0.01)
    await source.open()
    await source.aclose()
    (thread,) = video_threads()
    assert reader.closed_by == []
    driver_answers.set()
    await asyncio.to_thread(thread.join, 10)
    assert reader.closed_by == [thread.ident]


async def test_why_it_did_not_open_reaches_the_opener() -> None:
    def refuse(stop: threading.Event) -> None:
        raise SourceError("not there", code="camera_not_found")

    reader = ScriptedReader(no_frames, on_open=refuse)
    source = ThreadedSource(reader)
    with pytest.raises(SourceError) as refused:
        await source.open()
    assert refused.value.code == "camera_not_found"
    assert len(reader.closed_by) == 1
    await source.aclose()


async def test_a_bug_in_a_reader_is_raised_where_frames_are_awaited() -> None:
    def frames(stop: threading.Event) -> Iterator[CapturedFrame]:
        yield frame(1)
        raise ZeroDivisionError

    source = ThreadedSource(ScriptedReader(frames))
    await source.open()
    stream = source.frames()
    assert await anext(stream) == frame(1)
    with pytest.raises(ZeroDivisionError):
        await anext(stream)
    await source.aclose()


async def test_a_source_opens_once_and_is_read_only_when_open() -> None:
    source = ThreadedSource(ScriptedReader(no_frames))
    with pytest.raises(SourceError) as refused:
        await anext(source.frames())
    assert refused.value.code == "source_not_open"
    await source.open()
    with pytest.raises(SourceError) as refused:
        await source.open()
    assert refused.value.code == "source_used"
    await source.aclose()


async def test_closing_without_opening_is_fine_and_final() -> None:
    source = ThreadedSource(ScriptedReader(no_frames))
    await source.aclose()
    with pytest.raises(SourceError):
        await source.open()


async def test_the_counts_of_the_reader_are_shown() -> None:
    reader = ScriptedReader(no_frames)
    reader.counts.broken, reader.counts.reconnects = 3, 2
    source = ThreadedSource(reader)
    assert (source.broken_frames, source.reconnects, source.dropped_frames) == (3, 2, 0)
