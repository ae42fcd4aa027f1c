"""Onsets and endings, on levels given by hand."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.bridges.model.embedded.views import View
from onlooker.bridges.model.embedded.watches import Ending, Onset, Task

pytestmark = pytest.mark.pure

SAID = "It is on."
levels = st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=30)


class Levels:
    def __init__(self) -> None:
        self.now: bool | None = None

    def __call__(self, view: View, held: bool) -> bool | None:
        return self.now


def run(task: Task, levels: Levels, script: list[bool | None], *, hears: bool = True) -> list[int]:
    """Seconds at which the task spoke, one level a second."""
    spoke = []
    for second, level in enumerate(script):
        levels.now = level
        view = View(second * 1000, (), 0.5)
        task.watch(view)
        if task.wants(view) is not None:
            spoke.append(second)
            if hears:
                task.hear(SAID, view.at_ms)
    return spoke


def onset(*, told_at_first: bool = False, off_ms: int = 1_500) -> tuple[Onset, Levels]:
    level = Levels()
    return Onset(level, lambda _: SAID, SAID, told_at_first=told_at_first, off_ms=off_ms), level


@given(levels)
def test_an_onset_speaks_only_while_on_and_once_for_each_stay(script: list[bool | None]) -> None:
    task, level = onset()
    spoke = run(task, level, script)
    assert all(script[second] is True for second in spoke)
    for before, after in pairwise(spoke):
        away = before + 1 + script[before + 1 : after].index(False)
        assert after - away >= 2
    assert bool(spoke) == (True in script)


@given(levels)
def test_an_onset_nobody_heard_speaks_whenever_it_is_on(script: list[bool | None]) -> None:
    task, level = onset()
    expected = [second for second, on in enumerate(script) if on]
    assert run(task, level, script, hears=False) == expected


@given(levels)
def test_a_return_needs_an_absence_first(script: list[bool | None]) -> None:
    task, level = onset(told_at_first=True)
    spoke = run(task, level, script)
    known = [on for on in script if on is not None]
    if known and known[0]:
        for second in spoke:
            assert second - script.index(False) >= 2


def test_a_momentary_event_is_told_each_time() -> None:
    task, level = onset(off_ms=0)
    assert run(task, level, [False, True, True, False, True]) == [1, 4]


def test_an_ending_needs_a_beginning_and_some_time() -> None:
    level = Levels()
    assert run(Ending(level, lambda _: SAID, SAID), level, [False] * 6) == []
    view = View(0, (), 0.5)
    task = Ending(level, lambda _: SAID, SAID, seen=True)
    level.now = False
    for second in range(3):
        task.watch(View(second * 1000, (), 0.5))
    assert task.wants(view) is None  # without a picture nothing can be said to be gone
