"""Stream time: real, and moved by hand."""

from __future__ import annotations

import asyncio
import time

import pytest

from onlooker.orchestrator.clock import MediaClock, WallClock
from onlooker.types import Ms

pytestmark = [pytest.mark.shell, pytest.mark.virtual_time]


async def test_wall_time_counts_from_the_moment_the_clock_was_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(time, "monotonic", lambda: 5_000 + loop.time())
    await asyncio.sleep(3)
    clock = WallClock()
    assert clock.now_ms() == 0
    await clock.sleep_until(Ms(250))
    assert clock.now_ms() == 250
    await clock.sleep_until(Ms(100))
    assert clock.now_ms() == 250


async def test_media_time_moves_only_by_hand_and_never_back() -> None:
    clock = MediaClock()
    await asyncio.sleep(60)
    assert clock.now_ms() == 0
    clock.advance(Ms(500))
    clock.advance(Ms(200))
    assert clock.now_ms() == 500
    await clock.sleep_until(Ms(500))


async def test_media_time_wakes_whoever_waited_in_order() -> None:
    clock = MediaClock()
    woken: list[int] = []

    async def wait(at_ms: int) -> None:
        await clock.sleep_until(Ms(at_ms))
        woken.append(at_ms)

    async with asyncio.TaskGroup() as group:
        for at_ms in (300, 100, 200, 900):
            group.create_task(wait(at_ms))
        given_up = group.create_task(wait(150))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.sleep(0)
        clock.advance(Ms(250))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert woken == [100, 200]
        clock.advance(Ms(1_000))
    assert woken == [100, 200, 300, 900]
