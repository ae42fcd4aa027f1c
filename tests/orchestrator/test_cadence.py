"""The grid of ticks."""

from __future__ import annotations

import pytest

from onlooker.orchestrator.cadence import Cadence, Slot
from onlooker.types import Ms

pytestmark = pytest.mark.pure


def started(period_ms: int = 1_000, t0: int = 0) -> Cadence:
    cadence = Cadence(period_ms)
    cadence.start(Ms(t0))
    return cadence


def due(cadence: Cadence) -> Ms:
    at = cadence.due_ms
    assert at is not None
    return at


def test_c19_a_thousand_ticks_of_work_do_not_drift() -> None:
    cadence, now = started(t0=37), Ms(37)
    starts = []
    for _ in range(1_000):
        now = max(now, due(cadence))
        starts.append(cadence.take(now))
        now = Ms(now + 400)
        cadence.skip(now)
    assert starts == [Slot(k, Ms(37 + 1_000 * k), 0) for k in range(1_000)]
    assert due(cadence) == 37 + 1_000 * 1_000


def test_c19_after_an_overrun_the_next_slot_is_taken_without_a_burst() -> None:
    cadence = started()
    assert cadence.take(Ms(0)) == Slot(0, Ms(0), 0)
    assert cadence.skip(Ms(3_400)) == 3
    assert due(cadence) == 4_000
    assert cadence.take(Ms(4_002)) == Slot(4, Ms(4_000), 3)
    assert due(cadence) == 5_000


def test_c19_a_timer_that_comes_late_takes_one_slot_and_reports_the_others() -> None:
    cadence = started()
    assert cadence.take(Ms(5_999)) == Slot(5, Ms(5_000), 5)
    assert due(cadence) == 6_000


def test_j14_missed_slots_keep_their_numbers_and_their_time() -> None:
    cadence = started()
    cadence.skip(Ms(90_500))
    slot = cadence.take(Ms(91_000))
    assert slot.due_ms == slot.index * 1_000 == 91_000
    assert slot.missed == 91


def test_a_slot_due_right_now_is_not_skipped() -> None:
    cadence = started()
    cadence.take(Ms(0))
    assert cadence.skip(Ms(1_000)) == 0
    assert cadence.take(Ms(1_000)).index == 1


def test_skipping_twice_counts_each_slot_once() -> None:
    cadence = started()
    assert cadence.skip(Ms(1_500)) == 2
    assert cadence.skip(Ms(1_500)) == 0
    assert cadence.skip(Ms(0)) == 0
    assert cadence.take(Ms(2_000)).missed == 2


def test_without_a_start_nothing_is_due() -> None:
    cadence = Cadence(250)
    assert cadence.due_ms is None
    assert cadence.period_ms == 250
    cadence.start(Ms(5))
    assert cadence.due_ms == 5
    cadence.stop()
    assert cadence.due_ms is None


def test_a_new_start_lays_a_new_grid() -> None:
    cadence = started()
    cadence.skip(Ms(2_500))
    cadence.start(Ms(10_000))
    assert cadence.take(Ms(10_000)) == Slot(0, Ms(10_000), 0)


def test_taking_a_slot_before_it_is_due_is_a_bug_of_the_caller() -> None:
    cadence = started()
    cadence.take(Ms(0))
    with pytest.raises(AssertionError):
        cadence.take(Ms(999))
    with pytest.raises(AssertionError):
        Cadence(1_000).take(Ms(0))


def test_a_period_is_at_least_a_millisecond() -> None:
    assert Cadence(1).period_ms == 1
    with pytest.raises(ValueError, match="at least 1"):
        Cadence(0)
