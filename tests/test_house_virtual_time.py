"""The virtual clock of the tests: it jumps, it keeps order, and it finds deadlocks."""

from __future__ import annotations

import asyncio
import socket

import pytest

from tests.support.virtual_time import VirtualDeadlock, run_virtual

pytestmark = pytest.mark.shell


@pytest.mark.virtual_time
async def test_a_day_passes_at_once() -> None:
    loop = asyncio.get_running_loop()
    assert loop.time() == 0
    await asyncio.sleep(86_400)
    assert loop.time() == pytest.approx(86_400)


@pytest.mark.virtual_time
async def test_timers_fire_in_order_of_their_time() -> None:
    order: list[str] = []

    async def after(delay_s: float, name: str) -> None:
        await asyncio.sleep(delay_s)
        order.append(name)

    async with asyncio.TaskGroup() as group:
        for delay_s, name in ((3, "c"), (1, "a"), (2, "b")):
            group.create_task(after(delay_s, name))
    assert order == ["a", "b", "c"]
    assert asyncio.get_running_loop().time() == pytest.approx(3)


@pytest.mark.virtual_time
async def test_a_timeout_is_virtual() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(3_600):
            await asyncio.Event().wait()
    assert asyncio.get_running_loop().time() == pytest.approx(3_600)


def test_waiting_for_nothing_is_a_deadlock_that_names_the_task() -> None:
    async def waits_for_ever() -> None:
        await asyncio.Event().wait()

    with pytest.raises(VirtualDeadlock, match="waits_for_ever"):
        run_virtual(waits_for_ever())


@pytest.mark.virtual_time
async def test_the_clock_stands_still_while_a_thread_works() -> None:
    loop = asyncio.get_running_loop()
    alarm = asyncio.create_task(asyncio.sleep(5))
    assert await asyncio.to_thread(sum, range(100_000)) == 4_999_950_000
    assert loop.time() == 0
    await alarm
    assert loop.time() == pytest.approx(5)


def test_real_sockets_are_refused() -> None:
    ours, theirs = socket.socketpair()

    async def listens() -> None:
        asyncio.get_running_loop().add_reader(ours, ours.recv, 1)

    with ours, theirs, pytest.raises(AssertionError, match="do not mix"):
        run_virtual(listens())


async def test_without_the_marker_the_clock_is_real() -> None:
    loop = asyncio.get_running_loop()
    assert loop.time() > 0
