"""Control is never dropped, pictures are newest-wins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.orchestrator.events import FrameArrived, SpeechEnded, TimerFired
from onlooker.orchestrator.inbox import Inbox
from onlooker.types import FrameRef, FrameUuid, Ms, UtteranceId

pytestmark = pytest.mark.pure


def picture(number: int) -> FrameArrived:
    return FrameArrived(FrameRef(FrameUuid(f"f{number}"), Ms(number), 4, 3, 10))


def control(number: int) -> SpeechEnded:
    return SpeechEnded(UtteranceId("u"), number)


def test_the_oldest_waiting_picture_goes_for_a_newer_one() -> None:
    inbox = Inbox(max_frames=2)
    assert inbox.put(picture(1)) is None
    assert inbox.put(TimerFired()) is None
    assert inbox.put(picture(2)) is None
    assert inbox.put(picture(3)) == picture(1)
    assert inbox.waiting_frames() == {"f2", "f3"}
    assert [inbox.pop() for _ in range(len(inbox))] == [TimerFired(), picture(2), picture(3)]
    assert inbox.waiting_frames() == set()
    assert inbox.dropped_frames == 1


@given(st.lists(st.one_of(st.none(), st.integers(0, 3))), st.integers(1, 3))
def test_control_keeps_its_order_and_pictures_are_bounded(
    steps: list[int | None], limit: int
) -> None:
    inbox = Inbox(limit)
    sent, got, dropped = [], [], 0
    for number, step in enumerate(steps):
        if step is None and len(inbox):
            got.append(inbox.pop())
        elif step == 0:
            sent.append(control(number))
            inbox.put(sent[-1])
        else:
            dropped += inbox.put(picture(number)) is not None
        assert len(inbox.waiting_frames()) <= limit
    got += [inbox.pop() for _ in range(len(inbox))]
    assert [event for event in got if isinstance(event, SpeechEnded)] == sent
    times = [event.frame.capture_ms for event in got if isinstance(event, FrameArrived)]
    assert times == sorted(times)
    assert inbox.dropped_frames == dropped
