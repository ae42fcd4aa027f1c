from __future__ import annotations

import pytest

from onlooker.memory.entries import Span
from onlooker.memory.tiers import Tiers
from onlooker.types import Ms

pytestmark = pytest.mark.pure


def tiers(kinds: str = "", every: int = 2, window: int = 3, trim: int = 2) -> Tiers:
    """One letter a span: c(hunk), b(lock), g(ap); each ten milliseconds and one picture."""
    some = Tiers(every, window, trim)
    for kind in kinds:
        name = {"c": "chunk", "b": "block", "g": "gap"}[kind]
        end = Ms(some.end_ms + 10)
        some.add(Span(name, some.end_ms, end, kind, 1))
    return some


def kinds(some: Tiers) -> str:
    return "".join(span.kind[0] for span in some.spans)


def is_contiguous(some: Tiers) -> bool:
    ends = [0, *(span.end_ms for span in some.spans)]
    return all(span.start_ms == end for span, end in zip(some.spans, ends, strict=False))


def test_gaps_that_adjoin_are_one():
    some = tiers("c")
    some.add_gap(Ms(20), 1)
    some.add_gap(Ms(30), 2)
    assert kinds(some) == "cg"
    assert some.spans[-1].frames == 3
    empty = tiers()
    empty.add_gap(Ms(0), 0)
    assert empty.spans == []
    assert empty.end_ms == 0


def test_late_summaries_wait_for_the_boundary():
    some = tiers()
    some.add(Span("chunk", Ms(0), Ms(10), "fallback", 1, True, 7))
    assert some.by_job(8) is None
    place = some.by_job(7)
    assert place == 0
    some.stage_late(0, "real")
    assert some.spans[0].text == "fallback"
    some.adopt_late()
    assert (some.spans[0].text, some.spans[0].fallback, some.spans[0].job) == ("real", False, None)


def test_given_up_the_fallback_stays():
    some = tiers()
    some.add(Span("chunk", Ms(0), Ms(10), "fallback", 1, True, 7))
    some.give_up(0)
    some.adopt_late()
    assert (some.spans[0].fallback, some.spans[0].job) == (True, None)


def test_a_roll_up_is_due_when_enough_summaries_are_really_there():
    assert tiers("c").rollup_due() is None
    due = tiers("bgcgcc").rollup_due()
    assert due is not None
    assert [span.kind for span in due] == ["chunk", "gap", "chunk"]
    waiting = tiers("c")
    waiting.add(Span("chunk", Ms(10), Ms(20), "fallback", 1, True, 7))
    assert waiting.rollup_due() is None
    waiting.stage_late(1, "real")
    assert waiting.rollup_due() is None
    waiting.adopt_late()
    assert waiting.rollup_due() is not None


def test_one_roll_up_at_a_time_and_it_covers_its_range():
    some = tiers("ccc")
    due = some.rollup_due()
    assert due is not None
    some.start_rollup(5, due)
    assert some.rollup_due() is None
    assert some.rollup_spans() == due
    some.finish_rollup(due, Span("block", Ms(0), Ms(20), "both", 2))
    assert (kinds(some), some.rollup_job) == ("bc", None)
    assert is_contiguous(some)


def test_b5_summaries_never_pile_up():
    assert tiers("ccc").rollup_overdue() is None
    assert len(tiers("cccc").rollup_overdue() or []) == 2


def test_a_roll_up_that_never_began_has_no_spans():
    with pytest.raises(AssertionError, match="no roll-up"):
        tiers("cc").rollup_spans()


def test_the_window_is_trimmed_several_at_once_and_says_so():
    some = tiers("bbb")
    assert some.trim_window() == []
    some = tiers("bbbbc")
    assert len(some.trim_window()) == 2
    assert kinds(some) == "gbbc"
    assert some.spans[0].frames == 2
    assert is_contiguous(some)


def test_forgetting_swallows_the_gaps_around():
    some = tiers("gbgb")
    some.forget_oldest()
    assert kinds(some) == "gb"
    assert some.spans[0].frames == 3
    some.forget_oldest()
    assert kinds(some) == "g"
    assert some.forget_oldest() == []
    assert is_contiguous(some)
