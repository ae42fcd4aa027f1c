"""What the camera shows now, by example."""

from __future__ import annotations

import pytest

from onlooker.orchestrator.camera import Camera, Glance
from onlooker.types import FrameRef, FrameUuid, Ms, VideoState

pytestmark = pytest.mark.pure


def frame(number: int) -> FrameRef:
    return FrameRef(FrameUuid(f"{number:064x}"), Ms(number), 64, 48, 1000)


def camera(*numbers: int, limit: int = 2) -> Camera:
    one = Camera(limit, stale_after_ms=2_000)
    for number in numbers:
        one.arrive(frame(number), Ms(number))
    return one


def test_c17_the_newest_frames_win_and_the_others_are_counted() -> None:
    one = camera(1, 2, 3, 4, 5)
    assert one.waiting == (frame(4), frame(5))
    assert one.take(Ms(10)) == Glance((frame(4), frame(5)), VideoState.FRESH, 3)
    assert one.take(Ms(10)) == Glance((), VideoState.FRESH, 0)


def test_c20_a_frame_older_than_two_periods_is_no_video() -> None:
    one = camera(100)
    one.take(Ms(100))
    assert one.state(Ms(2_100)) is VideoState.FRESH
    assert one.state(Ms(2_101)) is VideoState.NO_VIDEO
    assert camera().state(Ms(0)) is VideoState.NO_VIDEO


def test_a_waiting_frame_is_shown_however_old_it_is() -> None:
    assert camera(100).state(Ms(9_000)) is VideoState.FRESH


def test_frames_of_a_rolled_back_tick_wait_again_unless_newer_ones_came() -> None:
    one = camera(1, 2)
    taken = one.take(Ms(3)).frames
    one.give_back(taken)
    assert one.waiting == taken
    one.take(Ms(3))
    one.arrive(frame(3), Ms(3))
    one.give_back(taken)
    assert one.waiting == (frame(2), frame(3))
    one.take(Ms(3))
    one.arrive(frame(4), Ms(4))
    one.arrive(frame(5), Ms(5))
    one.give_back(taken)
    assert one.take(Ms(5)) == Glance((frame(4), frame(5)), VideoState.FRESH, 2)


def test_b29_a_frame_sent_again_or_late_is_not_taken() -> None:
    one = camera(5)
    assert not one.arrive(frame(5), Ms(6))
    assert not one.arrive(frame(4), Ms(6))
    same_moment = FrameRef(FrameUuid("other"), Ms(5), 64, 48, 1000)
    assert one.arrive(same_moment, Ms(6))
    assert one.waiting == (frame(5), same_moment)


def test_off_forgets_what_waits_and_takes_nothing_back_until_a_frame_comes() -> None:
    one = camera(1, 2)
    taken = one.take(Ms(3)).frames
    one.arrive(frame(3), Ms(3))
    one.switch(False)
    one.give_back(taken)
    assert one.take(Ms(4)) == Glance((), VideoState.CAMERA_OFF, 2)
    one.switch(True)
    assert one.state(Ms(4)) is VideoState.FRESH
    one.switch(False)
    one.arrive(frame(5), Ms(5))
    assert one.state(Ms(5)) is VideoState.FRESH


def test_c22_a_glance_without_its_unusable_pictures_saw_nothing() -> None:
    glance = Glance((frame(1), frame(2)), VideoState.FRESH, 3)
    assert glance.without_frames() == Glance((), VideoState.NO_VIDEO, 5)


def test_b29_a_picture_that_was_seen_or_is_older_is_not_shown_again() -> None:
    one = Camera(frames_per_tick=2, stale_after_ms=10)
    assert one.arrive(frame(1), Ms(1))
    assert one.arrive(frame(2), Ms(2))
    one.take(Ms(2))
    assert not one.arrive(frame(2), Ms(3))
    assert not one.arrive(frame(1), Ms(3))
    assert one.take(Ms(3)) == Glance((), VideoState.FRESH, 0)
    assert one.arrive(frame(3), Ms(4))
