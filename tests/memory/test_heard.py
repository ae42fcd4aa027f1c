from __future__ import annotations

import pytest

from onlooker.memory import DelegatedFact, HeardFact
from onlooker.memory.replies import MAX_LIVE
from onlooker.types import BoundaryReason, Ms, ResponseId, Ticket
from tests.memory.words import WORDY, Talk, say

pytestmark = pytest.mark.pure

RID = ResponseId("r")
SPOKEN = "one two three four"


def talking(text: str = SPOKEN, question: str = "") -> Talk:
    """A session whose newest tick is a live response."""
    talk = Talk()
    talk.ticks(2)
    reply = WORDY.delegate.format(note=text, question=question) if question else say(text)
    talk.tick(reply, rid="r", spoken=text, question=question)
    return talk


def reply_of(talk: Talk) -> str:
    return next(tick.reply for tick in talk.memory.tail if tick.response_id == RID)


def leave(talk: Talk) -> None:
    """The response's tick leaves the chunk."""
    talk.ticks(8)
    talk.summarise()
    while any(tick.response_id == RID for tick in talk.memory.tail):
        talk.tick()
        talk.summarise()


def heard_facts(talk: Talk) -> list[tuple[str, bool]]:
    shown = [*talk.memory.staged, *(f for tick in talk.memory.tail for f in tick.facts)]
    return [(f.text, f.interrupted) for f in shown if isinstance(f, HeardFact)]


def test_a_provisional_reply_is_shown_whole():
    talk = talking()
    talk.memory.hear(RID, 3)
    assert reply_of(talk) == say(SPOKEN)


def test_c1_only_heard_words_stay_after_an_interruption():
    talk = talking()
    talk.memory.hear(RID, 7)
    talk.memory.settle(RID, 7, interrupted=True)
    assert reply_of(talk) == say("one two [cut]")
    assert talk.memory.tail[-1].revision == 1


def test_c3_the_heard_part_is_kept_and_marked_also_in_the_history():
    talk = talking()
    talk.memory.settle(RID, 13, interrupted=True)
    talk.memory.freeze(RID)
    assert "one two three [cut]" in reply_of(talk)
    leave(talk)
    assert "one two three [cut]" in talk.memory.head


def test_c5_nothing_heard_is_silence_and_roles_still_alternate():
    talk = talking()
    talk.memory.settle(RID, 0, interrupted=True)
    talk.memory.freeze(RID)
    assert reply_of(talk) == WORDY.silence
    assert all(tick.reply for tick in talk.memory.tail)
    leave(talk)
    assert "one" not in talk.memory.head.replace("nobody", "").split()


def test_c5_a_delegation_survives_an_interruption_before_the_first_word():
    talk = talking(question="what breed")
    talk.memory.settle(RID, 0, interrupted=True)
    assert reply_of(talk) == WORDY.delegate.format(note="", question="what breed")


def test_a_reply_heard_to_its_end_is_untouched():
    talk = talking()
    talk.memory.settle(RID, len(SPOKEN), interrupted=False)
    assert (reply_of(talk), talk.memory.tail[-1].revision) == (say(SPOKEN), 0)


def test_the_grace_may_take_words_back_or_give_them_until_it_is_over():
    talk = talking()
    talk.memory.settle(RID, 13, interrupted=True)
    talk.memory.settle(RID, 7, interrupted=True)
    assert reply_of(talk) == say("one two [cut]")
    talk.memory.settle(RID, len(SPOKEN), interrupted=True)
    assert reply_of(talk) == say(SPOKEN)
    talk.memory.settle(RID, 3, interrupted=True)
    talk.memory.freeze(RID)
    talk.memory.settle(RID, 13, interrupted=True)
    talk.memory.freeze(RID)
    assert reply_of(talk) == say("one [cut]")


def test_s1_nothing_before_the_interrupted_reply_changes():
    talk = talking()
    talk.ticks(3)
    before = talk.memory.tail
    talk.memory.settle(RID, 3, interrupted=True)
    assert talk.memory.tail[:2] == before[:2]
    assert talk.memory.tail[3:] == before[3:]


def test_acks_are_monotone_and_clamped_and_late_ones_ignored():
    talk = talking()
    talk.memory.hear(RID, 7)
    talk.memory.hear(RID, 3)
    talk.memory.hear(ResponseId("unknown"), 3)
    talk.memory.settle(ResponseId("unknown"), 3, interrupted=True)
    talk.memory.freeze(RID)
    assert reply_of(talk) == say("one two [cut]")
    talk.memory.hear(RID, 99)
    assert reply_of(talk) == say("one two [cut]")
    again = talking()
    again.memory.settle(RID, 999, interrupted=True)
    again.memory.hear(RID, 3)
    assert reply_of(again) == say(SPOKEN)


def test_an_unsettled_reply_is_archived_as_heard_and_goes_on_as_one_fact():
    talk = talking()
    talk.memory.hear(RID, 7)
    leave(talk)
    assert "said@3.0 one two\n" in talk.memory.head + "\n"
    assert "three" not in talk.memory.head
    talk.memory.hear(RID, 13)
    assert heard_facts(talk) == []
    talk.memory.settle(RID, len(SPOKEN), interrupted=False)
    assert heard_facts(talk) == [("three four", False)]
    head = talk.memory.head
    talk.tick()
    assert talk.memory.head == head


def test_an_archived_reply_that_was_interrupted_waits_for_its_grace():
    talk = talking()
    talk.memory.hear(RID, 3)
    leave(talk)
    talk.memory.settle(RID, 13, interrupted=True)
    talk.memory.settle(RID, 7, interrupted=True)
    assert heard_facts(talk) == []
    talk.memory.freeze(RID)
    assert heard_facts(talk) == [("two", True)]


def test_words_archived_and_then_taken_back_leave_with_the_next_boundary():
    talk = talking()
    talk.memory.hear(RID, 13)
    leave(talk)
    talk.memory.settle(RID, 3, interrupted=True)
    talk.memory.freeze(RID)
    assert "three" in talk.memory.head  # frozen
    assert heard_facts(talk) == []
    talk.memory.force_boundary(BoundaryReason.PERSONA)
    talk.tick()
    assert "three" not in talk.memory.head
    assert "one [cut]" in talk.memory.head


def test_words_taken_back_and_given_again_survive_the_end_of_another_response():
    talk = talking()
    talk.memory.hear(RID, 3)
    leave(talk)
    talk.tick(say("yes"), rid="other", spoken="yes")
    talk.memory.settle(RID, 0, interrupted=True)
    talk.memory.settle(ResponseId("other"), 3, interrupted=False)
    talk.memory.settle(RID, 3, interrupted=True)
    talk.memory.freeze(RID)
    talk.memory.force_boundary(BoundaryReason.PERSONA)
    talk.tick()
    assert "one [cut]" in talk.memory.head


def test_j17_an_interrupted_read_out_adds_its_heard_part():
    talk = Talk()
    talk.tick()
    fact = DelegatedFact(Ticket("t"), "what breed", "it is a tabby", Ms(1_500), "read aloud")
    talk.memory.add_delegated(fact, RID)
    talk.tick()
    talk.memory.settle(RID, 5, interrupted=True)
    talk.memory.freeze(RID)
    assert heard_facts(talk) == [("it is", True)]


@pytest.mark.parametrize(("heard", "interrupted"), [(13, False), (0, True)])
def test_a_read_out_heard_whole_or_not_at_all_adds_nothing(heard, interrupted):
    talk = Talk()
    fact = DelegatedFact(Ticket("t"), "what breed", "it is a tabby", Ms(500), "read aloud")
    talk.memory.add_delegated(fact, RID)
    talk.tick()
    talk.memory.settle(RID, heard, interrupted=interrupted)
    talk.memory.freeze(RID)
    assert heard_facts(talk) == []


def test_a_caller_that_never_settles_does_not_make_memory_grow():
    talk = Talk()
    for n in range(MAX_LIVE + 1):
        talk.tick(say("a b"), rid="r" if n == 0 else f"r{n}", spoken="a b")
    assert reply_of(talk) == WORDY.silence  # final: nothing of it was heard
