from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.memory import (
    CancelFact,
    DelegatedFact,
    EndMark,
    ExpiredFact,
    GapFact,
    HeardFact,
    QueryFact,
    TailTick,
)
from onlooker.memory.history import History, heard_form, spoken_of
from onlooker.memory.replies import Replies, Reply
from onlooker.types import InstructionId, Ms, ResponseId, Ticket, TickIndex, VideoState
from tests.memory.words import WORDY, say

pytestmark = pytest.mark.pure

A, B, C = InstructionId("a"), InstructionId("b"), InstructionId("c")
RID = ResponseId("r")


def tick(*facts, ends=(), reply=WORDY.silence, spoken="", question="", rid=None) -> TailTick:
    return TailTick(TickIndex(1), Ms(5), None, VideoState.NO_VIDEO, (), facts, reply, rid,
                    spoken, question, 0, ends)  # fmt: skip


def test_every_kind_of_fact_is_folded():
    history = History()
    history.fold(
        tick(
            QueryFact(A, "qa", Ms(1)), QueryFact(B, "qb", Ms(1)), QueryFact(C, "qc", Ms(1)),
            CancelFact(A, "qa", Ms(2)), ExpiredFact(B, "qb", Ms(2)), GapFact(Ms(1), Ms(2)),
            DelegatedFact(Ticket("t"), "why", "so", Ms(3)), HeardFact(RID, "rest", Ms(4)),
        ),
        Replies(), WORDY,
    )  # fmt: skip
    assert [item.text for item in history.qa.items] == ["qa", "qb", "qc", "so", "rest"]
    assert list(history.standing.by_id) == [C]
    history.fold(tick(ends=(EndMark(C, Ms(1)),)), Replies(), WORDY)
    assert history.standing.by_id == {}


def test_b16_an_unanswered_query_that_was_replaced_is_kept():
    history = History()
    history.fold(tick(QueryFact(A, "first", Ms(1))), Replies(), WORDY)
    history.fold(tick(QueryFact(B, "second", Ms(2)), ends=(EndMark(A, Ms(1)),)), Replies(), WORDY)
    shown = history.qa.visible(history.standing.askings)
    assert [item.text for item in shown] == ["first"]


def test_replies_are_archived_as_they_were_heard():
    history, replies = History(), Replies()
    history.fold(tick(reply=say("all"), spoken="all"), replies, WORDY)
    replies.add(Reply(RID, "one two", "", say("one two"), heard=3), Ms(5))
    live = tick(reply=say("one two"), spoken="one two", rid=RID)
    assert heard_form(live, replies, WORDY).reply == say("one")
    history.fold(live, replies, WORDY)
    history.fold(tick(reply="x", question="why"), replies, WORDY)
    history.fold(tick(), replies, WORDY)
    assert [item.text for item in history.qa.items] == ["all", "one", ""]
    silent = tick()
    assert heard_form(silent, replies, WORDY) is silent


def test_withdrawn_and_dropped():
    history = History()
    history.fold(tick(QueryFact(A, "qa", Ms(1))), Replies(), WORDY)
    history.withdraw(QueryFact(B, "qb", Ms(2)))
    history.drop(A)
    assert [i.text for i in history.qa.visible(history.standing.askings)] == ["qa", "qb"]


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="<>"), max_size=30)


@given(TEXT, TEXT)
def test_spoken_text_is_read_from_canonical_replies(text, question):
    assert spoken_of(say(text), WORDY) == (text, "")
    assert spoken_of(WORDY.silence, WORDY) == ("", "")
    both = WORDY.delegate.format(note=text, question=question)
    assert spoken_of(both, WORDY) == (text, question)
