from __future__ import annotations

import pytest

from onlooker.memory import DelegatedFact, HeardFact, QueryFact, TailTick
from onlooker.memory.qa import QaHistory, QaItem, QaReply
from onlooker.types import InstructionId, Ms, ResponseId, Ticket, TickIndex, VideoState

pytestmark = pytest.mark.pure


def query(n: int, *, cut_off: bool = False) -> QueryFact:
    return QueryFact(InstructionId(f"i{n}"), f"q{n}", Ms(n), cut_off)


def tick(n: int, rid: str = "r") -> TailTick:
    return TailTick(TickIndex(n), Ms(n), None, VideoState.NO_VIDEO, (), (),
                    response_id=ResponseId(rid))  # fmt: skip


def texts(items: list[QaItem]) -> list[str]:
    return [item.text for item in items]


def length(item: QaItem) -> int:
    return len(item.text)


def test_items_are_in_order_of_time_and_queries_are_numbered():
    qa = QaHistory()
    qa.add_query(query(1))
    qa.add_reply(tick(5), "five", "")
    qa.add_query(query(3))
    qa.add_delegated(DelegatedFact(Ticket("t"), "why", "four", Ms(4)))
    qa.add_heard(HeardFact(ResponseId("r"), "six", Ms(6)))
    assert texts(qa.items) == ["q1", "q3", "four", "five", "six"]
    assert [item.n for item in qa.items if hasattr(item, "n")] == [1, 2]


def test_a_query_asked_again_after_a_cut_off_answer_is_one_entry():
    qa = QaHistory()
    qa.add_query(query(1))
    qa.add_query(query(1, cut_off=True))
    assert texts(qa.items) == ["q1"]


def test_standing_askings_are_shown_elsewhere():
    qa = QaHistory()
    qa.add_query(query(1))
    qa.add_query(query(2))
    assert texts(qa.visible({(InstructionId("i1"), Ms(1))})) == ["q2"]


def test_a_reply_can_be_corrected_and_vanishes_when_nothing_was_heard():
    qa = QaHistory()
    qa.add_query(query(1))
    qa.add_reply(tick(2), "one two", "")
    qa.add_reply(tick(2, "other"), "keep", "")
    qa.add_heard(HeardFact(ResponseId("r"), "three", Ms(3)))
    qa.correct(ResponseId("r"), "one")
    assert texts(qa.visible(())) == ["q1", "one", "keep", "three"]
    qa.correct(ResponseId("r"), "")
    assert texts(qa.visible(())) == ["q1", "keep", "three"]
    qa.purge(ResponseId("r"))
    assert len(qa.items) == 3


def test_what_another_reply_may_still_be_heard_of_is_kept():
    qa = QaHistory()
    qa.add_reply(tick(2), "", "")
    qa.purge(ResponseId("other"))
    qa.correct(ResponseId("r"), "heard after all")
    assert texts(qa.visible(())) == ["heard after all"]


def test_a_delegation_stays_when_its_note_was_not_heard():
    qa = QaHistory()
    qa.add_reply(tick(2), "", "what breed")
    qa.purge(ResponseId("r"))
    assert qa.visible(()) == [QaReply(ResponseId("r"), "", Ms(2), "what breed")]


def test_j3_b6_both_bounds_forget_the_oldest_first():
    qa = QaHistory()
    for n in range(10):
        qa.add_query(query(n))
    qa.trim((), entries=6, chars=1_000, length=length)
    assert texts(qa.items) == [f"q{n}" for n in range(4, 10)]
    qa.trim((), entries=6, chars=9, length=length)
    assert texts(qa.items) == ["q7", "q8", "q9"]
    qa.trim((), entries=6, chars=0, length=length)
    assert qa.items == []


def test_trimming_spares_what_stands():
    qa = QaHistory()
    for n in range(4):
        qa.add_query(query(n))
    qa.trim({(InstructionId("i0"), Ms(0))}, entries=1, chars=1_000, length=length)
    assert texts(qa.items) == ["q0", "q3"]
