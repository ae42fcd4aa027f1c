"""The grid under any work: on time, in order, one at a time, every slot accounted for."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.orchestrator.cadence import Cadence, Slot
from onlooker.types import Ms

pytestmark = pytest.mark.pure

WORK = st.lists(st.integers(min_value=0, max_value=5_000), min_size=1, max_size=60)
LATE = st.integers(min_value=0, max_value=30)


def run(period: int, t0: int, work: list[int], late: int, *, skips: bool) -> list[tuple[int, Slot]]:
    """Tick after tick: wait for the timer, take the slot, work. Returns (begin, slot) pairs."""
    cadence = Cadence(period)
    cadence.start(Ms(t0))
    now, taken = t0, []
    for spent in work:
        due = cadence.due_ms
        assert due is not None
        now = max(now, due) + late
        taken.append((now, cadence.take(Ms(now))))
        now += spent
        if skips:
            cadence.skip(Ms(now))
    return taken


@given(st.integers(min_value=50, max_value=2_000), st.integers(0, 9_999), WORK, LATE)
def test_c19_every_tick_begins_on_the_grid(
    period: int, t0: int, work: list[int], late: int
) -> None:
    for begin, slot in run(period, t0, work, late, skips=True):
        assert slot.due_ms == t0 + slot.index * period
        assert begin - slot.due_ms == late


@given(st.integers(1, 2_000), st.integers(0, 9_999), WORK, LATE, st.booleans())
def test_slots_are_taken_once_in_order_and_all_are_accounted_for(
    period: int, t0: int, work: list[int], late: int, skips: bool
) -> None:
    slots = [slot for _, slot in run(period, t0, work, late, skips=skips)]
    assert [slot.missed for slot in slots[1:]] == [
        after.index - before.index - 1 for before, after in pairwise(slots)
    ]
    assert slots[0].missed == slots[0].index


@given(st.integers(1, 2_000), WORK, LATE)
def test_without_skipping_at_most_one_tick_catches_up(
    period: int, work: list[int], late: int
) -> None:
    taken = run(period, 0, work, late, skips=False)
    for begin, slot in taken:
        assert 0 <= begin - slot.due_ms < period


@given(st.integers(1, 2_000), WORK, st.lists(st.integers(0, 100_000), max_size=10))
def test_looking_at_the_grid_in_between_does_not_move_it(
    period: int, work: list[int], moments: list[int]
) -> None:
    cadence = Cadence(period)
    cadence.start(Ms(0))
    for _ in moments:  # triggered ticks ask for nothing
        assert cadence.due_ms == 0
    assert run(period, 0, work, 0, skips=True)[0][1] == cadence.take(Ms(0))
