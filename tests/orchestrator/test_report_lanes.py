"""Which marks stand on which lane of the timeline page."""

from __future__ import annotations

import pytest

from onlooker.orchestrator import notices as n
from onlooker.orchestrator.report import Timeline
from onlooker.orchestrator.report.lanes import Lane, Mark, build_lanes, pack
from onlooker.orchestrator.report.words import (
    clip,
    decision_kind,
    decision_why,
    percentile,
    seconds,
)
from onlooker.types import BoundaryReason, ChunkIndex, Epoch, InstructionId, Ms, ResponseId, Ticket
from tests.orchestrator.sample_run import decision, sample_timeline

pytestmark = pytest.mark.shell


def lanes_of(timeline: Timeline) -> dict[str, Lane]:
    return {lane.name: lane for lane in build_lanes(timeline)}


def filled(*notices: n.Notice) -> dict[str, Lane]:
    timeline = Timeline()
    for notice in notices:
        timeline.add(notice)
    return lanes_of(timeline)


def test_an_empty_run_has_the_lanes_that_are_always_there() -> None:
    lanes = filled()
    assert list(lanes) == ["decisions", "chunks"]
    assert lanes["chunks"].marks[0].name == "chunk 0"


def test_the_sample_run_fills_every_lane() -> None:
    lanes = lanes_of(sample_timeline())
    assert {name: len(lane.marks) for name, lane in lanes.items()} == {
        "decisions": 30,
        "responses": 3,
        "instructions": 2,
        "chunks": 4,
        "summaries": 3,
        "delegations": 1,
        "troubles": 2,
    }


@pytest.mark.parametrize(
    ("action", "source", "kind"),
    [
        ("respond", n.DecisionSource.MODEL, "spoke"),
        ("delegate", n.DecisionSource.MODEL, "delegated"),
        ("silence", n.DecisionSource.MODEL, "silent"),
        ("silence", n.DecisionSource.DEDUP, "silent"),
        ("silence", n.DecisionSource.MALFORMED, "silent"),
        ("silence", n.DecisionSource.BUSY, "silent"),
        ("silence", n.DecisionSource.GATE, "skipped"),
        ("silence", n.DecisionSource.COOLDOWN, "skipped"),
        ("silence", n.DecisionSource.NO_PICTURE, "skipped"),
        ("silence", n.DecisionSource.ABORTED, "skipped"),
        ("respond", n.DecisionSource.ABORTED, "spoke"),
        ("silence", n.DecisionSource.FAILED, "failed"),
    ],
)
def test_each_decision_has_its_kind(action: str, source: n.DecisionSource, kind: str) -> None:
    assert decision_kind(decision(0, action, source)) == kind


def test_a_decision_shows_its_call_and_its_tokens() -> None:
    marks = {
        mark.start_ms: dict(mark.details) for mark in lanes_of(sample_timeline())["decisions"].marks
    }
    assert marks[5_000]["prompt"] == "2400 tokens, 92 % cached"
    assert marks[5_000]["call"] == "125 ms, first word after 45 ms"
    assert marks[20_000]["call"] == "230 ms, failed"
    assert marks[12_000]["question"] == "Which make is the car?"
    assert "call" not in marks[0]


def instruction(at_ms: int, status: str, name: str = "q1") -> n.InstructionChanged:
    return n.InstructionChanged(InstructionId(name), Ms(at_ms), status, "watch the door")


def test_an_instruction_is_a_bar_from_asking_to_its_end() -> None:
    marks = filled(
        instruction(0, "armed"),
        instruction(2_000, "rearmed"),
        instruction(5_000, "answered"),
        instruction(6_000, "expired", "unknown"),
        decision(9_000),
        instruction(7_000, "armed"),
    )["instructions"].marks
    assert [(m.start_ms, m.end_ms, m.details[-1][1]) for m in marks] == [
        (0, 2_000, "asked again"),
        (2_000, 5_000, "answered"),
        (7_000, 9_000, "stood to the end"),
    ]


def test_chunks_lie_between_boundaries_and_say_what_each_boundary_did() -> None:
    crossed = n.BoundaryCrossed(
        ChunkIndex(4), Ms(3_000), BoundaryReason.FIRST_QUERY, 2, 8, 90, fallback=True
    )
    marks = filled(crossed, decision(5_000))["chunks"].marks
    assert [(m.start_ms, m.end_ms, m.name) for m in marks] == [
        (0, 3_000, "chunk 3"),
        (3_000, 5_000, "chunk 4"),
    ]
    details = dict(marks[1].details)
    assert details["began because"] == "first query"
    assert details["summary"] == "a fallback took its place"


def test_a_summary_keeps_its_text_when_a_later_notice_comes_without() -> None:
    def summary(at_ms: int, status: str, text: str) -> n.SummaryChanged:
        return n.SummaryChanged("s1", Ms(at_ms), "block", status, Ms(0), Ms(4_000), text)

    (mark,) = filled(
        summary(4_000, "requested", ""),
        summary(5_000, "staged", "a door"),
        summary(6_000, "replaced", ""),
    )["summaries"].marks
    assert (mark.text, mark.name, mark.start_ms, mark.end_ms) == ("a door", "roll-up", 0, 4_000)
    assert dict(mark.details)["asked for at"] == "4.0 s"


def test_a_live_response_reaches_to_the_end_with_what_was_said_so_far() -> None:
    response = ResponseId("r1")
    (mark,) = filled(
        n.ResponseStarted(response, Epoch(1), Ms(1_000), "cadence"),
        n.ResponseDelta(response, Epoch(1), "A "),
        n.ResponseDelta(response, Epoch(1), "dog"),
        decision(4_000),
    )["responses"].marks
    assert (mark.text, mark.end_ms, mark.name) == ("A dog", 4_000, "response, live")


def test_a_delegation_spans_from_question_to_answer() -> None:
    ticket = Ticket("d1")
    (mark,) = filled(
        n.DelegationChanged(ticket, Ms(100), "requested", "who?", ""),
        n.DelegationChanged(ticket, Ms(900), "done", "", "Ada"),
    )["delegations"].marks
    assert (mark.start_ms, mark.end_ms, mark.text) == (100, 900, "who?")
    assert dict(mark.details)["answer"] == "Ada"


def test_overlapping_marks_get_rows_and_never_more_than_six() -> None:
    marks = (*(Mark(i, 100, "query", "query") for i in range(9)), Mark(100, 120, "query", "q"))
    packed = pack(Lane("x", "X", (), marks))
    assert packed.rows == 6
    assert [mark.row for mark in packed.marks] == [0, 1, 2, 3, 4, 5, 5, 5, 5, 0]


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0.0 s"),
        (4_549, "4.5 s"),
        (59_960, "1:00.0"),
        (724_500, "12:04.5"),
        (3_661_000, "1:01:01.0"),
    ],
)
def test_times_read_well(ms: int, text: str) -> None:
    assert seconds(ms) == text


def test_percentiles_are_by_nearest_rank() -> None:
    assert percentile([], 0.5) is None
    assert percentile([3, 1, 2], 0.5) == 2
    assert percentile(range(1, 101), 0.95) == 95
    assert percentile([7], 0.95) == 7


def test_long_texts_are_cut() -> None:
    assert clip("ab", 2) == "ab"
    assert clip("abc", 2) == "a…"


def test_every_source_of_a_decision_has_its_words() -> None:
    words = [decision_why(decision(0, source=source)) for source in n.DecisionSource]
    assert len(set(words)) == len(words)
    assert not [word for word in words if word in set(n.DecisionSource)]
