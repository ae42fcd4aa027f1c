"""The collector of a run, and its bounded pictures."""

from __future__ import annotations

from itertools import pairwise

import pytest

from onlooker.orchestrator import notices as n
from onlooker.orchestrator.report import Timeline
from onlooker.orchestrator.report import timeline as module
from onlooker.orchestrator.report.thumbnails import Thumbnail, Thumbnails, shrink
from onlooker.types import Epoch, FrameUuid, Ms, ResponseId
from tests.orchestrator.sample_run import decision, picture, responses, sample_timeline, uuid_of

pytestmark = pytest.mark.shell


def test_an_empty_timeline_ends_at_zero() -> None:
    assert Timeline().end_ms == 0
    assert not Timeline().is_cut


def test_the_end_is_the_last_thing_that_happened() -> None:
    timeline = Timeline()
    timeline.add(decision(2_000))
    assert timeline.end_ms == 2_000
    for notice in responses(3_000, "hello there"):
        timeline.add(notice)
    assert timeline.end_ms == 3_700
    timeline.add(n.SessionEnded(Ms(9_000), "client"))
    assert timeline.end_ms == 9_000


def test_a_response_that_ends_without_having_begun_is_kept() -> None:
    timeline = Timeline()
    timeline.add(n.ResponseDelta(ResponseId("r1"), Epoch(1), "lost"))
    timeline.add(n.ResponseEnded(ResponseId("r1"), Epoch(1), Ms(5), "failed", "all", "a"))
    (response,) = timeline.responses
    assert (response.start_ms, response.end_ms, response.text) == (5, 5, "all")


def test_what_is_kept_is_bounded_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ENTRIES", 5)
    timeline = Timeline()
    for second in range(8):
        timeline.add(decision(1_000 * second))
        timeline.add(n.ResponseStarted(ResponseId(f"r{second}"), Epoch(second), Ms(0), "cadence"))
        timeline.add_call(module.CallTiming(Ms(second), "tick", None, 1, True))
    assert timeline.is_cut
    assert [d.at_ms for d in timeline.decisions] == [3_000, 4_000, 5_000, 6_000, 7_000]
    assert [r.response_id for r in timeline.responses] == ["r3", "r4", "r5", "r6", "r7"]
    assert len(timeline.calls) == 5


def test_pictures_shrink_to_the_box_and_never_grow() -> None:
    data = picture(3, 320, 136)
    small = shrink(data, uuid_of(data), Ms(7), 96)
    assert small is not None
    assert (small.width, small.height, small.capture_ms) == (96, 41, 7)
    assert len(small.jpeg) < len(data)
    same = shrink(picture(1, 20, 40), FrameUuid("u"), Ms(0), 96)
    assert same is not None
    assert (same.width, same.height) == (20, 40)
    assert same.data_url.startswith("data:image/jpeg;base64,/9j/")


@pytest.mark.parametrize("data", [b"", b"not a picture", b"\xff\xd8\xff\xe0 cut"])
def test_bytes_that_are_no_picture_leave_no_thumbnail(data: bytes) -> None:
    assert shrink(data, FrameUuid("u"), Ms(0), 96) is None
    timeline = Timeline()
    timeline.see(FrameUuid("u"), Ms(0), None)
    assert timeline.pictures == ()
    assert timeline.frame_count == 1


def thumbnail(number: int) -> Thumbnail:
    return Thumbnail(FrameUuid(str(number)), Ms(number), 8, 8, b"jpeg")


def test_the_sample_stays_even_and_bounded_over_a_long_run() -> None:
    thumbnails = Thumbnails(limit=10)
    for number in range(200):
        thumbnails.offer(thumbnail(number))
    times = [t.capture_ms for t in thumbnails.kept()]
    assert 5 <= len(times) <= 10
    assert times[0] == 0
    assert len({b - a for a, b in pairwise(times)}) == 1


def test_frames_of_ticks_that_spoke_are_kept_whatever_the_sample_drops() -> None:
    thumbnails = Thumbnails(limit=2)
    for number in range(9):
        thumbnails.offer(thumbnail(number))
        thumbnails.pin(FrameUuid("7"))
    assert "7" in {t.uuid for t in thumbnails.kept()}
    thumbnails.pin(FrameUuid("never seen"))
    assert len(thumbnails.kept()) <= 4


def test_a_spoken_decision_pins_its_pictures() -> None:
    timeline = sample_timeline()
    shown = {t.uuid for t in timeline.pictures}
    spoken = [d for d in timeline.decisions if d.action == "respond"]
    assert all(uuid in shown for d in spoken for uuid in d.frames)
