"""What every background brain promises."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from onlooker.bridges.base import (
    Delegate,
    DelegateCapabilities,
    DelegationJob,
    DelegationProgress,
    DelegationResult,
)
from onlooker.errors import BridgeError, BridgeUnavailable
from onlooker.testing import ScriptedDelegate, Solved, UnexpectedCall

pytestmark = pytest.mark.contract

DOWN = BridgeUnavailable("down", bridge="delegate")
JOB = DelegationJob("t1", "Let me see.", "How old is this bridge?", "and how old is it?", ())

IMPLEMENTATIONS: dict[str, Callable[[], Delegate]] = {
    "scripted": lambda: ScriptedDelegate([Solved("1890", ("looking",)), "1891"]),
}


@pytest.fixture(params=IMPLEMENTATIONS)
def delegate(request: pytest.FixtureRequest) -> Delegate:
    return IMPLEMENTATIONS[request.param]()


async def solved(delegate: Delegate) -> list[DelegationProgress | DelegationResult]:
    return [item async for item in delegate.solve(JOB)]


async def test_it_keeps_the_protocol(delegate: Delegate) -> None:
    assert isinstance(delegate, Delegate)
    assert isinstance(delegate.capabilities, DelegateCapabilities)


async def test_a_job_is_progress_and_then_one_result(delegate: Delegate) -> None:
    for _ in range(2):
        *progress, result = await solved(delegate)
        assert isinstance(result, DelegationResult)
        assert all(isinstance(item, DelegationProgress) for item in progress)


async def test_closing_twice_is_fine_and_nothing_is_solved_after(delegate: Delegate) -> None:
    await delegate.aclose()
    await delegate.aclose()
    with pytest.raises(BridgeError) as caught:
        await solved(delegate)
    assert caught.value.code == "closed"


# -- the fake ---------------------------------------------------------------------------------


@pytest.mark.virtual_time
async def test_the_fake_answers_its_script_in_order_and_no_more() -> None:
    fake = ScriptedDelegate([Solved("late", ("a", "b"), delay_s=2), DOWN, Solved(error=DOWN)])
    assert await solved(fake) == [
        DelegationProgress("a"),
        DelegationProgress("b"),
        DelegationResult("late"),
    ]
    assert asyncio.get_running_loop().time() == 6
    for _ in range(2):
        with pytest.raises(BridgeUnavailable):
            await solved(fake)
    with pytest.raises(UnexpectedCall):
        await solved(fake)
    assert fake.jobs == [JOB] * 3
    assert (fake.running, fake.aborts) == (0, 0)


@pytest.mark.virtual_time
async def test_the_fake_hangs_until_it_is_cancelled() -> None:
    fake = ScriptedDelegate([Solved(hangs=True)])
    call = asyncio.create_task(solved(fake))
    await asyncio.sleep(100)
    assert fake.running == 1
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (fake.running, fake.aborts) == (0, 1)
