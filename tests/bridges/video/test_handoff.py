"""The slot between a capture thread and the loop."""

from __future__ import annotations

import asyncio
import threading

import pytest

from onlooker.bridges.base import CapturedFrame
from onlooker.bridges.video.handoff import Handoff, call_in_loop

pytestmark = pytest.mark.shell


def frame(number: int) -> CapturedFrame:
    return CapturedFrame(b"%d" % number, "image/jpeg", 1, 1, number)


async def test_c17_the_newest_frame_replaces_an_untaken_one() -> None:
    handoff = Handoff(asyncio.get_running_loop())
    assert [handoff.offer(frame(n)) for n in range(3)] == [False, True, True]
    assert await handoff.take() == frame(2)
    assert not handoff.offer(frame(3))


async def test_a_recorded_frame_waits_until_the_slot_is_empty() -> None:
    handoff = Handoff(asyncio.get_running_loop())
    put: list[bool] = []
    thread = threading.Thread(target=lambda: put.extend(handoff.put(frame(n)) for n in range(50)))
    thread.start()
    assert [(await handoff.take()) for _ in range(50)] == [frame(n) for n in range(50)]
    await asyncio.to_thread(thread.join)
    assert put == [True] * 50


async def test_stop_wakes_both_sides() -> None:
    handoff = Handoff(asyncio.get_running_loop())
    assert handoff.put(frame(0))
    waiting = asyncio.ensure_future(asyncio.to_thread(handoff.put, frame(1)))
    handoff.stop()
    assert await waiting is False
    assert await handoff.take() is None


async def test_stop_wakes_a_waiting_taker() -> None:
    handoff = Handoff(asyncio.get_running_loop())
    taker = asyncio.ensure_future(handoff.take())
    await asyncio.sleep(0)
    handoff.stop()
    assert await taker is None


async def test_the_end_and_a_failure_come_after_the_last_frame() -> None:
    handoff = Handoff(asyncio.get_running_loop())
    handoff.offer(frame(1))
    handoff.finish(ValueError("gone"))
    assert await handoff.take() == frame(1)
    for _ in range(2):
        with pytest.raises(ValueError, match="gone"):
            await handoff.take()


def test_a_loop_that_is_gone_has_nobody_waiting() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    call_in_loop(loop, asyncio.Event())


def test_any_other_trouble_of_a_loop_is_not_hidden() -> None:
    class Sick(asyncio.SelectorEventLoop):
        def call_soon_threadsafe(self, *args: object, **kwargs: object) -> asyncio.Handle:
            raise RuntimeError("sick")

    loop = Sick()
    with pytest.raises(RuntimeError, match="sick"):
        call_in_loop(loop, asyncio.Event())
    loop.close()
