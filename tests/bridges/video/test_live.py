"""Cameras and streams on scripted captures: sampling by arrival, loss, return, giving up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from onlooker.bridges.base import CapturedFrame
from onlooker.bridges.video.live import LiveReader
from onlooker.bridges.video.reader import FrameFormat
from onlooker.bridges.video.reconnect import Reconnect
from onlooker.errors import SourceError
from tests.bridges.video.material import FakeCapture, FakeClock, FakeFactory, number_of, request

pytestmark = pytest.mark.shell


class Rig:
    """A live reader whose clock and pauses are scripted."""

    def __init__(
        self, factory: FakeFactory, clock: FakeClock, *, fps: float = 2, tries: int = 4
    ) -> None:
        self.clock = clock
        self.stop = threading.Event()
        self.pauses_s: list[float] = []
        self.reader = LiveReader(
            request(),
            FrameFormat(fps, 1_000_000),
            factory=factory,
            refusal=lambda _: SourceError("not there", code="camera_not_found"),
            label="camera 0",
            reconnect=Reconnect(tries=tries),
            pause=self.pause,
            clock=clock,
        )

    def pause(self, stop: threading.Event, seconds: float) -> None:
        self.pauses_s.append(seconds)
        self.clock.now_s += seconds

    def stop_at(self, index: int) -> Callable[[int], None]:
        def stop(next_index: int) -> None:
            if next_index == index:
                self.stop.set()

        return stop

    def opened(self) -> Iterator[CapturedFrame]:
        self.reader.open(self.stop)
        return self.reader.frames()


def test_live_frames_are_sampled_by_arrival() -> None:
    clock = FakeClock()
    capture = FakeCapture(61, clock=clock)
    rig = Rig(FakeFactory(capture), clock, tries=0)
    info = rig.reader.open(rig.stop)
    assert (info.live, info.duration_ms, info.fps) == (True, None, 30.0)
    frames = rig.reader.frames()
    taken = [next(frames) for _ in range(5)]
    assert [number_of(f) for f in taken] == [0, 14, 29, 44, 59]
    assert [f.capture_ms for f in taken] == pytest.approx([0, 467, 967, 1467, 1967], abs=1)
    with pytest.raises(SourceError) as lost:
        next(frames)
    assert lost.value.code == "source_lost"


def test_j14_c20_every_frame_keeps_the_time_at_which_it_was_grabbed() -> None:
    clock = FakeClock()
    captures = [FakeCapture(10, clock=clock), FakeCapture(10, clock=clock, first=100)]
    rig = Rig(FakeFactory(captures[0], None, captures[1]), clock)
    opened_ms = clock.now_s * 1000 + 1000 / 30
    taken: list[CapturedFrame] = []
    frames = rig.opened()
    while len(taken) < 15:
        taken.append(next(frames))
        clock.now_s += 0.7  # the consumer is slow: the next frame is simply later
    numbers = [number_of(f) for f in taken]
    assert len(set(numbers)) == len(numbers)
    grabbed_at_ms = captures[0].grabbed_at_ms | captures[1].grabbed_at_ms
    for number, frame in zip(numbers, taken, strict=True):
        stamp_ms = grabbed_at_ms[number] - opened_ms
        assert stamp_ms - 1 <= frame.capture_ms <= stamp_ms
    assert {number >= 100 for number in numbers} == {False, True}


def test_a_lost_source_comes_back_with_growing_pauses() -> None:
    clock = FakeClock()
    empty = FakeCapture(0)
    captures = (FakeCapture(5, clock=clock), None, empty, FakeCapture(90, clock=clock))
    factory = FakeFactory(*captures)
    rig = Rig(factory, clock)
    frames = rig.opened()
    before, after = next(frames), next(frames)
    assert rig.pauses_s == [0.5, 1, 2]
    assert rig.reader.counts.reconnects == 1
    assert len(factory.requests) == 4
    assert after.capture_ms - before.capture_ms >= 3_500
    assert len(empty.released_by) == 1


def test_patience_is_new_after_every_frame() -> None:
    clock = FakeClock()
    rig = Rig(FakeFactory(*(FakeCapture(2, clock=clock) for _ in range(4))), clock, tries=1)
    with pytest.raises(SourceError):
        list(rig.opened())
    assert rig.pauses_s == [0.5] * 4
    assert rig.reader.counts.reconnects == 3


def test_giving_up_names_the_source_and_what_to_do() -> None:
    clock = FakeClock()
    capture = FakeCapture(2, clock=clock)
    rig = Rig(FakeFactory(capture), clock, tries=3)
    with pytest.raises(SourceError, match=r"camera 0 was lost .* after 3 tries; check") as lost:
        list(rig.opened())
    assert lost.value.code == "source_lost"
    assert rig.pauses_s == [0.5, 1, 2]
    assert len(capture.released_by) == 1


def test_a_factory_that_knows_why_it_fails_is_asked_again_too() -> None:
    clock = FakeClock()
    inner = FakeFactory(FakeCapture(2, clock=clock), FakeCapture(90, clock=clock))
    calls = []

    def factory(asked: object) -> FakeCapture | None:
        calls.append(asked)
        if len(calls) == 2:
            raise SourceError("no display", code="screen_unavailable")
        return inner(request())

    rig = Rig(factory, clock)  # type: ignore[arg-type]
    frames = rig.opened()
    next(frames), next(frames)
    assert len(calls) == 3


def test_stopping_during_a_pause_ends_quietly() -> None:
    clock = FakeClock()
    rig = Rig(FakeFactory(FakeCapture(2, clock=clock)), clock)
    rig.reader._pause = lambda stop, seconds: stop.set()
    assert len(list(rig.opened())) == 1


def test_stopping_while_a_frame_is_awaited_ends_quietly() -> None:
    clock = FakeClock()
    rig = Rig(FakeFactory(), clock)
    capture = FakeCapture(2, clock=clock, before_grab=rig.stop_at(2))
    rig.reader._factory = FakeFactory(capture)
    assert len(list(rig.opened())) == 1
    assert rig.pauses_s == []


def test_c22_a_frame_that_cannot_be_decoded_is_passed_over_and_counted() -> None:
    clock = FakeClock()
    rig = Rig(FakeFactory(FakeCapture(40, clock=clock, blank=[0, 1])), clock)
    assert number_of(next(rig.opened())) == 2
    assert rig.reader.counts.broken == 2


def test_a_source_that_is_not_there_or_shows_nothing_is_refused() -> None:
    with pytest.raises(SourceError) as refused:
        Rig(FakeFactory(None), FakeClock()).opened()
    assert refused.value.code == "camera_not_found"
    with pytest.raises(SourceError) as refused:
        Rig(FakeFactory(FakeCapture(0)), FakeClock()).opened()
    assert refused.value.code == "no_frames"
