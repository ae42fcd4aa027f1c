from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.memory.replies import MAX_LIVE, Replies, Reply, canonical_heard
from onlooker.types import Ms, ResponseId
from tests.memory.words import WORDY, say

pytestmark = pytest.mark.pure

RID = ResponseId("r")
SPOKEN = "one two three"


def reply(heard: int = 0, *, settled: bool = True, question: str = "") -> Reply:
    form = WORDY.delegate if question else WORDY.respond
    full = form.format(text=SPOKEN, note=SPOKEN, question=question)
    return Reply(RID, SPOKEN, question, full, heard, settled)


def test_the_canonical_text_of_what_was_heard():
    assert canonical_heard(reply(13), WORDY) == say(SPOKEN)
    assert canonical_heard(reply(7), WORDY) == say("one two [cut]")
    assert canonical_heard(reply(8), WORDY) == say("one two [cut]")
    assert canonical_heard(reply(7, settled=False), WORDY) == say("one two")


def test_c5_nothing_heard_is_silence():
    assert canonical_heard(reply(0), WORDY) == WORDY.silence


def test_a_delegation_keeps_its_question_whatever_is_heard():
    forms = [canonical_heard(reply(n, question="why"), WORDY) for n in (0, 3, 13)]
    assert forms == [
        WORDY.delegate.format(note=note, question="why") for note in ("", "one [cut]", SPOKEN)
    ]


def test_archived_part_and_rest():
    one = reply(3, settled=False)
    assert Replies().archive(one, " [cut]") == "one"
    one.heard = 7
    assert (one.archived_text(" [cut]"), one.rest()) == ("one", "two")
    one.heard, one.is_settled = 2, True
    assert (one.archived_text(" [cut]"), one.rest()) == ("on [cut]", "")


@given(st.integers(-5, 30), st.integers(-5, 30))
def test_archived_and_rest_are_what_was_heard(archived, heard):
    one = reply(settled=False)
    one.archived, one.heard = one.clamp(archived), one.clamp(heard)
    parts = (one.archived_text("") + one.rest()).replace(" ", "")
    assert parts == SPOKEN[: one.heard].replace(" ", "")


def test_live_responses_are_bounded():
    replies = Replies()
    for n in range(MAX_LIVE):
        assert replies.add(Reply(ResponseId(f"r{n}"), "x"), Ms(n)) == []
    pushed = replies.add(Reply(ResponseId("new"), "x"), Ms(99))
    assert [one.response_id for one in pushed] == ["r0"]
    for n in range(100):
        replies.add(Reply(ResponseId(f"s{n}"), "x"), Ms(n))
    assert len(replies.times) <= 4 * MAX_LIVE
    assert replies.get(None) is None
    replies.forget(ResponseId("unknown"))


def test_a_rendered_head_shows_no_more_than_was_heard():
    replies, one, other = Replies(), reply(13), Reply(ResponseId("s"), "x")
    replies.add(one, Ms(0))
    replies.add(other, Ms(0))
    replies.archive(one, "")
    one.heard = 3
    replies.on_head_rendered()
    assert (one.archived, other.archived) == (3, None)
