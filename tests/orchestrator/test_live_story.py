"""Notices as lines a person can read."""

from __future__ import annotations

import json

import pytest

from onlooker.orchestrator import notices as n
from onlooker.orchestrator.live import Line, Story, clean, notice_json
from onlooker.types import (
    BoundaryReason,
    ChunkIndex,
    Epoch,
    FrameUuid,
    InstructionId,
    Ms,
    ResponseId,
    Ticket,
    Usage,
)
from tests.orchestrator.sample_run import decision, gauge, responses

pytestmark = pytest.mark.shell


def told(*notices: n.Notice) -> list[tuple[str, str, str]]:
    story = Story()
    lines = [line for notice in notices for line in story.add(notice)]
    return [(line.when, line.what, line.text) for line in [*lines, *story.finish()]]


def test_spoken_decisions_come_at_once_and_quiet_ones_when_their_run_ends() -> None:
    story = Story()
    assert story.add(decision(0)) == []
    assert story.add(decision(1_000)) == []
    assert story.add(decision(2_000, "respond", text="A dog.")) == [
        Line("0.0 s", "silent", "until 1.0 s, 2 ticks: decided by the model", "silent"),
        Line("2.0 s", "spoke", "A dog.", "spoke"),
    ]
    assert story.finish() == []


def test_a_run_ends_where_the_reason_changes() -> None:
    lines = told(
        decision(0, source=n.DecisionSource.GATE),
        decision(1_000, source=n.DecisionSource.GATE),
        decision(2_000, source=n.DecisionSource.DEDUP),
    )
    assert [(when, what) for when, what, _ in lines] == [("0.0 s", "skipped"), ("2.0 s", "silent")]
    assert lines[1][2] == "the model repeated what was just heard"


def test_delegated_and_failed_decisions_have_their_words() -> None:
    lines = told(
        decision(0, "delegate", text="Let me see.", question="who is it?"),
        decision(1_000, source=n.DecisionSource.FAILED),
    )
    assert lines[0][1:] == ("delegated", "Let me see. [who is it?]")
    assert lines[1][1:] == ("failed", "the model call failed, the tick was rolled back")


def test_what_no_decision_says_is_said_by_the_response() -> None:
    assert told(*responses(1_000, "A dog.")) == []
    assert told(*responses(1_000, "A dog has come in.", "cancelled")) == [
        ("1.7 s", "interrupted", "heard: A dog has co")
    ]
    assert told(*responses(1_000, "A dog has come in.", "failed")) == [
        ("1.7 s", "broken off", "said: A dog has come in.")
    ]
    response, epoch = ResponseId("r1"), Epoch(1)
    assert told(
        n.ResponseStarted(response, epoch, Ms(0), "delegation"),
        n.ResponseEnded(response, epoch, Ms(900), "completed", "It is Ada.", "It is Ada."),
    ) == [("0.9 s", "spoke", "It is Ada.")]


@pytest.mark.parametrize(
    ("notice", "line"),
    [
        (
            n.InstructionChanged(InstructionId("q"), Ms(100), "armed", "watch"),
            ("0.1 s", "query armed", "watch"),
        ),
        (
            n.Trouble(Ms(0), "bridge_timeout", "too slow", True),
            ("0.0 s", "trouble", "bridge_timeout: too slow"),
        ),
        (
            n.BoundaryCrossed(ChunkIndex(2), Ms(0), BoundaryReason.FIRST_QUERY, 1, 4, 9, False),
            ("0.0 s", "boundary", "chunk 2 begins (first query), 4 frames carried over"),
        ),
        (
            n.SummaryChanged("s", Ms(9_000), "block", "staged", Ms(0), Ms(8_000), "a street"),
            ("9.0 s", "roll-up staged", "0.0 s to 8.0 s: a street"),
        ),
        (
            n.SummaryChanged("s", Ms(9_000), "chunk", "failed", Ms(0), Ms(8_000), ""),
            ("9.0 s", "summary failed", "0.0 s to 8.0 s"),
        ),
        (
            n.DelegationChanged(Ticket("d"), Ms(0), "unavailable", "who?", ""),
            ("0.0 s", "delegation unavailable", "who?"),
        ),
        (
            n.BargeInChanged(Ms(0), "confirmed", ResponseId("r"), Epoch(1)),
            ("0.0 s", "barge-in confirmed", ""),
        ),
    ],
)
def test_each_kind_of_notice_has_its_line(notice: n.Notice, line: tuple[str, str, str]) -> None:
    assert told(notice) == [line]


@pytest.mark.parametrize(
    "notice",
    [
        gauge(0, 1),
        n.SessionEnded(Ms(0), "client"),
        n.StaleDropped("model", "c", Ms(0)),
        n.SummaryChanged("s", Ms(0), "chunk", "requested", Ms(0), Ms(1), ""),
        n.DelegationChanged(Ticket("d"), Ms(0), "progress", "", "half"),
    ],
)
def test_some_notices_are_for_machines_only(notice: n.Notice) -> None:
    assert told(notice) == []


def test_texts_cannot_steer_a_terminal() -> None:
    text = "a\x1b[31mred\x07\n\tb\u202ec \x9b2J\u200bd"
    assert clean(text) == "a[31mred bc 2Jd"
    (line,) = told(n.Trouble(Ms(0), "x", "\x1b]0;title\x07", False))
    assert line[2] == "x: ]0;title"


def test_a_notice_is_one_line_of_json_with_a_type() -> None:
    usage = Usage(10, 2, None)
    text = notice_json(decision(1_000, frames=(FrameUuid("ab"),), usage=usage, text="zwei\nZeilen"))
    assert "\n" not in text
    data = json.loads(text)
    assert data["type"] == "DecisionMade"
    assert data["source"] == "model"
    assert data["frames"] == ["ab"]
    assert data["usage"] == {"prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": None}
    assert data["text"] == "zwei\nZeilen"
    assert json.loads(notice_json(n.SessionEnded(Ms(4), "client"))) == {
        "type": "SessionEnded",
        "at_ms": 4,
        "reason": "client",
    }
