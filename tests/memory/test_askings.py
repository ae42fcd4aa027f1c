from __future__ import annotations

import pytest

from onlooker.memory import CancelFact, QueryFact
from onlooker.types import (
    BoundaryReason,
    InstructionId,
    Lifetime,
    LifetimeKind,
    Ms,
    ResponseId,
)
from tests.memory.words import WORDLESS, WORDY, Talk, make, say

pytestmark = pytest.mark.pure

ANSWERED = Lifetime(LifetimeKind.ANSWERED)


def facts(talk: Talk) -> list[str]:
    shown = [f for tick in talk.memory.tail for f in tick.facts]
    return [f"{type(f).__name__} {getattr(f, 'text', '')}" for f in (*shown, *talk.memory.staged)]


def stands(talk: Talk) -> list[str]:
    return [one.text for one in talk.memory.standing]


def joyful(ask: str | None = "watch") -> Talk:
    return Talk(make(text=WORDLESS), ask=ask)


def test_b14_a_question_beside_a_task_replaces_nothing():
    talk = Talk(ask="tell me when it boils")
    assert talk.ask("i1", "what is this", ANSWERED) == (("i1", "armed"),)
    assert stands(talk) == ["tell me when it boils", "what is this"]


def test_one_too_many_is_told_in_the_tail():
    talk = Talk()
    talk.ask("i1", "b")
    talk.ask("i2", "c")
    assert talk.ask("i3", "d") == (("i0", "replaced"), ("i3", "armed"))
    assert facts(talk)[-2:] == ["CancelFact watch", "QueryFact d"]


def test_without_words_a_replaced_one_just_ends():
    talk = joyful()
    talk.tick()
    assert talk.ask("i1", "new") == (("i0", "replaced"), ("i1", "armed"))
    assert facts(talk) == ["QueryFact watch", "QueryFact new"]
    talk.ticks(8)
    talk.summarise()
    talk.ticks(3)
    assert "* new" in talk.memory.head
    assert "* watch" not in talk.memory.head
    assert "watch" in talk.memory.head  # B16: unanswered, and not forgotten


def test_b13_asking_the_same_again_is_a_fresh_query_and_can_be_cancelled_by_either_id():
    talk = Talk(ask="what now")
    talk.tick()
    assert talk.ask("i9", "What now") == (("i0", "rearmed"),)
    assert talk.memory.staged == (QueryFact(InstructionId("i0"), "What now", Ms(1_000)),)
    gone = talk.memory.cancel(InstructionId("i9"), talk.now)
    assert gone is not None
    assert gone.instruction_id == "i0"
    assert talk.memory.is_gated
    assert talk.memory.cancel(InstructionId("i0"), talk.now) is None


def test_b13_an_empty_text_arms_nothing():
    talk = Talk(ask=None)
    assert talk.ask("i", " \n") == ()
    assert talk.memory.is_gated
    assert talk.memory.staged == ()


def test_a_cancellation_is_a_fact():
    talk = Talk()
    talk.tick()
    talk.memory.cancel(InstructionId("i0"), talk.now)
    assert talk.memory.staged == (CancelFact(InstructionId("i0"), "watch", Ms(1_000)),)
    assert talk.tick() is None


def test_without_words_a_cancellation_is_a_boundary_that_removes_the_query():
    talk = joyful()
    talk.ticks(3)
    talk.memory.cancel(InstructionId("i0"), talk.now)
    talk.ask("i1", "other")
    boundary = talk.tick()
    assert boundary is not None
    assert (boundary.reason, boundary.carried_ticks) == (BoundaryReason.CANCELLED, 3)
    assert facts(talk) == ["QueryFact other"]
    assert "asked@0.0 watch" in talk.memory.head
    assert talk.tick() is None


def test_without_words_a_query_nobody_saw_leaves_quietly():
    talk = joyful()
    talk.memory.cancel(InstructionId("i0"), talk.now)
    talk.ask("i1", "other")
    assert talk.tick() is None
    assert facts(talk) == ["QueryFact other"]


def test_a_query_cancelled_while_its_tick_is_open_does_not_come_back():
    talk = joyful()
    talk.begin()
    talk.memory.cancel(InstructionId("i0"), talk.now)
    talk.ask("i0", "same id, other words")
    talk.memory.rollback_tick()
    assert facts(talk) == ["QueryFact same id, other words"]
    boundary = talk.tick()
    assert boundary is not None
    assert facts(talk) == ["QueryFact same id, other words"]
    assert "watch" in talk.memory.head


def test_a_query_of_the_head_can_be_cancelled_without_words():
    talk = joyful()
    talk.ticks(8)
    talk.summarise()
    talk.ticks(3)
    assert "* watch" in talk.memory.head
    talk.memory.cancel(InstructionId("i0"), talk.now)
    talk.ask("i1", "other")
    talk.tick()
    assert "* watch" not in talk.memory.head


def test_times_end():
    talk = Talk()
    talk.ask("i1", "for a while", Lifetime(LifetimeKind.TIME, Ms(2_000)))
    talk.ticks(2)
    assert talk.memory.next_expiry_ms == 2_000
    assert [one.text for one in talk.memory.expire(Ms(2_000))] == ["for a while"]
    assert talk.memory.expire(Ms(2_000)) == ()
    assert talk.memory.next_expiry_ms is None
    assert facts(talk)[-1] == "ExpiredFact for a while"


def test_without_words_the_end_of_a_time_is_a_boundary():
    talk = joyful(None)
    talk.ask("i1", "for a while", Lifetime(LifetimeKind.TIME, Ms(2_000)))
    talk.ticks(2)
    talk.memory.expire(Ms(2_000))
    boundary = talk.tick()
    assert boundary is not None
    assert boundary.reason is BoundaryReason.CANCELLED


def answer(talk: Talk, **more) -> tuple[str, ...]:
    talk.tick(say("yes"), rid="r", spoken="yes", **more)
    talk.memory.hear(ResponseId("r"), 3)
    return tuple(one.text for one in talk.memory.answered(ResponseId("r"), talk.now))


def test_an_answer_ends_what_lives_until_answered_and_nothing_else():
    talk = Talk()
    talk.ask("i1", "what is it", ANSWERED)
    assert answer(talk) == ("what is it",)
    assert stands(talk) == ["watch"]
    talk.memory.settle(ResponseId("r"), 3, interrupted=False)
    talk.ticks(8)
    talk.summarise()
    talk.ticks(3)
    assert "* what is it" not in talk.memory.head


def test_an_answer_does_not_end_what_was_asked_after_it():
    talk = Talk()
    talk.tick(say("yes"), rid="r", spoken="yes")
    talk.ask("i1", "in the tail", ANSWERED)
    talk.tick()
    talk.ask("i2", "staged", ANSWERED)
    talk.begin()
    assert talk.memory.answered(ResponseId("r"), talk.now) == ()


def test_a_query_of_the_same_millisecond_is_not_answered_by_the_tick_before():
    talk = Talk()
    talk.begin()
    talk.ask("i1", "just now", ANSWERED)
    talk.memory.commit_tick(say("yes"), ResponseId("r"), "yes")
    assert talk.memory.answered(ResponseId("r"), talk.now) == ()


def test_a_note_is_not_the_answer_but_the_read_out_is():
    talk = Talk(ask=None)
    talk.ask("i1", "what breed", ANSWERED)
    talk.tick(WORDY.delegate.format(note="a moment", question="breed"), rid="r")
    assert talk.memory.answered(ResponseId("r"), talk.now) == ()
    assert talk.memory.answered(ResponseId("unknown"), talk.now) == ()


def test_an_answer_whose_tick_has_left_ends_with_the_next_tick():
    talk = Talk()
    talk.ask("i1", "what is it", ANSWERED)
    talk.tick(say("yes"), rid="r", spoken="yes")
    talk.ticks(8)
    talk.summarise()
    talk.ticks(3)
    assert "* what is it" in talk.memory.head
    assert [o.text for o in talk.memory.answered(ResponseId("r"), talk.now)] == ["what is it"]
    talk.ticks(8)
    talk.summarise()
    talk.ticks(3)
    assert "* what is it" not in talk.memory.head
