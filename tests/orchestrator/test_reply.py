"""One response from its first word to its settlement, by example."""

from __future__ import annotations

import pytest

from onlooker.orchestrator import events as e
from onlooker.orchestrator.reply import Reply
from onlooker.types import Epoch, ResponseId

pytestmark = pytest.mark.pure

R = ResponseId("r")
EPOCH = Epoch(3)


def reply(*, has_voice: bool) -> Reply:
    one = Reply.new(R, "query", has_voice=has_voice)
    one.epoch = EPOCH
    return one


def test_text_is_handed_out_once() -> None:
    one = reply(has_voice=False)
    one.add("One ")
    one.add("two.")
    assert one.take_text() == "One two."
    assert one.take_text() == ""
    assert one.take_clauses() == []
    one.add(" Three.")
    assert one.take_text() == " Three."


def test_without_a_voice_it_is_over_when_all_of_it_was_written() -> None:
    one = reply(has_voice=False)
    one.add("One two.")
    one.complete()
    assert not one.is_over
    assert one.report(e.TextWritten(R, EPOCH, 5))
    assert one.heard == 3
    assert one.report(e.TextWritten(R, EPOCH, 8))
    assert one.is_over
    assert not one.report(e.TextWritten(R, Epoch(2), 8))


def test_clauses_are_numbered_and_the_last_says_so() -> None:
    one = reply(has_voice=True)
    one.add("One two three. Four")
    one.add(" five")
    assert one.take_clauses() == [(0, "One two three. ", False)]
    one.complete()
    assert one.take_clauses() == [(1, "Four five", True)]


def test_a_text_that_ended_with_its_last_clause_is_closed_by_an_empty_one() -> None:
    one = reply(has_voice=True)
    one.add("One two.\n")
    one.complete()
    assert one.take_clauses() == [(0, "One two.\n", True)]
    two = reply(has_voice=True)
    two.add("One two. Three four.\n ")
    first = two.take_clauses()
    two.add("Five.")
    two.complete()
    assert [last for *_, last in first + two.take_clauses()] == [False, False, True]


def test_a_response_without_words_closes_with_an_empty_clause() -> None:
    one = reply(has_voice=True)
    one.complete()
    assert one.take_clauses() == [(0, "", True)]


def test_c9_reports_of_another_epoch_and_sound_after_the_end_are_not_taken() -> None:
    one = reply(has_voice=True)
    one.add("One two.")
    one.complete()
    assert not one.report(e.ClauseSpoken(R, Epoch(2), 0, 200))
    assert one.report(e.ClauseSpoken(R, EPOCH, 0, 200, (100, 200)))
    assert not one.report(e.OutputSent(R, Epoch(2), 200))
    assert one.report(e.OutputSent(R, EPOCH, 200))
    assert one.report(e.PlaybackAck(R, 100))
    assert one.heard == 3
    assert one.report(e.PlaybackTruncated(R, 50))
    assert one.heard == 0
    one.is_ended = True
    assert not one.report(e.ClauseSpoken(R, EPOCH, 0, 200))
