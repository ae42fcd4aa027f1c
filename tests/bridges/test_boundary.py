"""Deadlines on virtual time, and the retry budget."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.bridges.boundary import (
    Code,
    Deadline,
    LimitRejected,
    RetryBudget,
    with_retries,
)
from onlooker.errors import BridgeError, BridgeRejected, BridgeTimeout, BridgeUnavailable

pytestmark = [pytest.mark.shell, pytest.mark.virtual_time]


async def late(delay_s: float) -> str:
    await asyncio.sleep(delay_s)
    return "done"


async def test_work_within_the_deadline_gives_its_result() -> None:
    deadline = Deadline(2, bridge="model")
    assert await deadline.wait(late(1)) == "done"


async def test_the_deadline_is_of_the_whole_call() -> None:
    deadline = Deadline(2, bridge="model")
    await deadline.wait(late(1.5))
    with pytest.raises(BridgeTimeout) as caught:
        await deadline.wait(late(1))
    assert caught.value.code == "timeout"
    assert "2 s" in caught.value.message
    assert asyncio.get_running_loop().time() == 2


async def test_idle_time_counts_anew_for_each_piece() -> None:
    deadline = Deadline(10, bridge="model")
    for _ in range(3):
        await deadline.wait(late(1.5), idle_s=2)
    with pytest.raises(BridgeTimeout) as caught:
        await deadline.wait(late(3), idle_s=2)
    assert caught.value.code == "stream_idle"


async def test_of_deadline_and_idle_time_the_earlier_counts() -> None:
    deadline = Deadline(1, bridge="model")
    with pytest.raises(BridgeTimeout) as caught:
        await deadline.wait(late(5), idle_s=2)
    assert caught.value.code == "timeout"


async def test_a_deadline_that_has_passed_ends_work_at_once() -> None:
    deadline = Deadline(0, bridge="model")
    with pytest.raises(BridgeTimeout):
        await deadline.wait(late(1))
    assert asyncio.get_running_loop().time() == 0


async def test_cancellation_is_not_taken_for_a_timeout() -> None:
    task = asyncio.create_task(Deadline(5, bridge="model").wait(late(9)))
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_every_code_is_one_stable_word() -> None:
    assert all(code.value == code.name.lower() for code in Code)


def test_a_refused_limit_has_its_numbers() -> None:
    error = LimitRejected("m", bridge="b", code=Code.TOO_MANY_IMAGES, limit=3, asked=4, status=400)
    assert isinstance(error, BridgeRejected)
    assert (error.limit, error.asked, error.status, error.code) == (3, 4, 400, "too_many_images")


# -- retries ----------------------------------------------------------------------------------


class Flaky:
    """Fails as told, then works."""

    def __init__(self, *errors: BridgeError) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def down() -> BridgeError:
    return BridgeUnavailable("down", bridge="b")


async def test_a_retryable_failure_is_tried_again_after_a_pause() -> None:
    call = Flaky(down(), down())
    assert await with_retries(call, budget=RetryBudget(), attempts=3, pause_s=1) == "done"
    assert call.calls == 3
    assert asyncio.get_running_loop().time() == 3


async def test_a_refusal_is_not_tried_again() -> None:
    call = Flaky(BridgeRejected("no", bridge="b"))
    with pytest.raises(BridgeRejected):
        await with_retries(call, budget=RetryBudget())
    assert call.calls == 1


async def test_the_last_failure_comes_out() -> None:
    call = Flaky(down(), down(), down())
    with pytest.raises(BridgeUnavailable):
        await with_retries(call, budget=RetryBudget(), attempts=2)
    assert call.calls == 2


async def test_an_empty_budget_allows_no_retry_until_successes_refill_it() -> None:
    budget = RetryBudget(1, earned_per_success=0.5)
    await with_retries(Flaky(down()), budget=budget)
    broke = Flaky(down())
    with pytest.raises(BridgeUnavailable):
        await with_retries(broke, budget=budget)
    assert broke.calls == 1
    for _ in range(2):
        await with_retries(Flaky(), budget=budget)
    assert await with_retries(Flaky(down()), budget=budget) == "done"


@given(st.lists(st.booleans(), max_size=200))
def test_retries_never_pass_the_budget_plus_what_was_earned(spends: list[bool]) -> None:
    budget = RetryBudget(2, earned_per_success=0.25)
    spent = successes = 0
    for wants_retry in spends:
        if wants_retry:
            spent += budget.spend()
        else:
            successes += 1
            budget.on_success()
    assert spent <= 2 + successes * 0.25
