"""The rows of the timeline page: which marks stand where, and what each one says.

Pure: a :class:`Timeline` in, lanes out. Times are stream milliseconds; the page turns them into
positions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from onlooker.orchestrator.notices import DecisionMade, SummaryChanged
from onlooker.orchestrator.report.timeline import CallTiming, Timeline
from onlooker.orchestrator.report.words import (
    clip,
    decision_kind,
    decision_why,
    seconds,
    timing,
    tokens,
)
from onlooker.types import FrameUuid

_MAX_ROWS = 6


Details: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """One thing on a lane."""

    start_ms: int
    end_ms: int
    """Same as ``start_ms`` for a moment."""
    kind: str
    """Style of the mark."""
    name: str
    """What it is, in a word or two."""
    text: str = ""
    """What a person or the model said there."""
    details: Details = ()
    """Further names and values."""
    frame: str = ""
    """Uuid of a picture that belongs to it, if any."""
    row: int = 0


@dataclass(frozen=True, slots=True)
class Lane:
    name: str
    """Stable key, also the style of the lane."""
    title: str
    legend: tuple[tuple[str, str], ...]
    """Mark kinds of this lane with their words."""
    marks: tuple[Mark, ...]
    rows: int = 1


def build_lanes(timeline: Timeline) -> tuple[Lane, ...]:
    """Every lane that has something to show, top to bottom; decisions and chunks always."""
    lanes = (
        _decisions(timeline),
        _responses(timeline),
        _instructions(timeline),
        _chunks(timeline),
        _summaries(timeline),
        _delegations(timeline),
        _troubles(timeline),
    )
    return tuple(lane for lane in lanes if lane.marks or lane.name in {"decisions", "chunks"})


def _decisions(timeline: Timeline) -> Lane:
    kept = {thumbnail.uuid for thumbnail in timeline.pictures}
    legend = (
        ("silent", "silent"),
        ("spoke", "spoke"),
        ("delegated", "delegated"),
        ("skipped", "no call, or cut off"),
        ("failed", "call failed"),
    )
    calls = sorted((c for c in timeline.calls if c.kind == "tick"), key=lambda call: call.at_ms)
    times = [call.at_ms for call in calls]
    decisions = list(timeline.decisions)
    ends = [*(d.at_ms for d in decisions[1:]), timeline.end_ms + 1][: len(decisions)]
    marks = tuple(
        _decision(d, kept, calls[bisect_left(times, d.at_ms) : bisect_left(times, end_ms)])
        for d, end_ms in zip(decisions, ends, strict=True)
    )
    return Lane("decisions", "Decisions", legend, marks)


def _decision(decision: DecisionMade, kept: set[FrameUuid], calls: Sequence[CallTiming]) -> Mark:
    kind = decision_kind(decision)
    details = [
        ("why", decision_why(decision)),
        ("tick", f"{decision.tick} (trigger: {decision.trigger})"),
        ("chunk", str(decision.chunk)),
        ("video", f"{decision.video.value.replace('_', ' ')}, {len(decision.frames)} picture(s)"),
    ]
    if decision.question:
        details.append(("question", clip(decision.question)))
    if decision.frames_dropped:
        details.append(("frames superseded", str(decision.frames_dropped)))
    if decision.slots_missed:
        details.append(("slots missed", str(decision.slots_missed)))
    if decision.usage is not None:
        details.append(("prompt", tokens(decision)))
    details += [("call", timing(call)) for call in calls]
    shown = [uuid for uuid in decision.frames if uuid in kept]
    return Mark(
        decision.at_ms,
        decision.at_ms,
        kind,
        kind,
        clip(decision.text),
        tuple(details),
        shown[-1] if shown else "",
    )


def _responses(timeline: Timeline) -> Lane:
    end_ms = timeline.end_ms
    marks = [
        Mark(
            r.start_ms,
            end_ms if r.end_ms is None else r.end_ms,
            f"response {r.status}",
            f"response, {r.status}",
            clip(r.text),
            (("response", r.response_id), ("heard", clip(r.heard) or "nothing")),
        )
        for r in timeline.responses
    ]
    marks += [
        Mark(
            b.at_ms, b.at_ms, "barge-in", f"barge-in {b.stage}", "", (("response", b.response_id),)
        )
        for b in timeline.barge_ins
    ]
    legend = (("response", "response"), ("barge-in", "barge-in"))
    return pack(Lane("responses", "Responses", legend, tuple(marks)))


def _instructions(timeline: Timeline) -> Lane:
    """One bar from arming to the end of the instruction; asking again starts a new bar."""
    ends = {"replaced", "cancelled", "expired", "answered"}
    open_bars: dict[str, int] = {}
    marks: list[Mark] = []
    for change in timeline.instructions:
        at = open_bars.get(change.instruction_id)
        if change.status in ends:
            if at is not None:
                marks[at] = _ended(marks[at], change.at_ms, change.status)
                del open_bars[change.instruction_id]
            continue
        if at is not None:
            marks[at] = _ended(marks[at], change.at_ms, "asked again")
        open_bars[change.instruction_id] = len(marks)
        details = (("instruction", change.instruction_id), ("began", change.status))
        marks.append(Mark(change.at_ms, -1, "query", "query", clip(change.text), details))
    marks = [_ended(m, timeline.end_ms, "stood to the end") if m.end_ms < 0 else m for m in marks]
    legend = (("query", "standing query, from asking to its end"),)
    return pack(Lane("instructions", "Queries", legend, tuple(marks)))


def _ended(mark: Mark, at_ms: int, how: str) -> Mark:
    return replace(mark, end_ms=max(at_ms, mark.start_ms), details=(*mark.details, ("ended", how)))


def _chunks(timeline: Timeline) -> Lane:
    """Chunks as bars between boundaries, alternating."""
    end_ms = timeline.end_ms
    boundaries = list(timeline.boundaries)
    first = (boundaries[0].chunk - 1) if boundaries else 0
    starts = [(0, first, "the session opened", ())] + [
        (
            b.at_ms,
            int(b.chunk),
            b.reason.value.replace("_", " "),
            (
                ("carried over", f"{b.carried_ticks} ticks, {b.carried_frames} frames"),
                ("prompt head", f"{b.head_chars} characters"),
                ("summary", "a fallback took its place" if b.fallback else "as asked for"),
            ),
        )
        for b in boundaries
    ]
    stops = [start for start, *_ in starts[1:]] + [max(end_ms, starts[-1][0])]
    marks = tuple(
        Mark(
            start,
            stop,
            "chunk odd" if index % 2 else "chunk even",
            f"chunk {number}",
            "",
            (("began because", reason), *details),
        )
        for index, ((start, number, reason, details), stop) in enumerate(
            zip(starts, stops, strict=True)
        )
    )
    return Lane("chunks", "Chunks", (("chunk", "a line between two is a boundary"),), marks)


def _summaries(timeline: Timeline) -> Lane:
    """The range each summary covers; its text and how long it took in the details."""
    first: dict[str, SummaryChanged] = {}
    last: dict[str, SummaryChanged] = {}
    for change in timeline.summaries:
        first.setdefault(change.job_id, change)
        kept = last.get(change.job_id)
        # A later "replaced" or "discarded" may come without the text.
        text = change.text or (kept.text if kept else "")
        last[change.job_id] = replace(change, text=text)
    marks = tuple(
        Mark(
            change.start_ms,
            change.end_ms,
            f"summary {change.kind} {change.status}",
            "roll-up" if change.kind == "block" else "summary",
            clip(change.text),
            (
                ("status", change.status),
                ("covers", f"{seconds(change.start_ms)} to {seconds(change.end_ms)}"),
                ("asked for at", seconds(first[job_id].at_ms)),
                (f"{change.status} at", seconds(change.at_ms)),
            ),
        )
        for job_id, change in last.items()
    )
    legend = (("summary", "summary of a chunk"), ("block", "roll-up"), ("fallback", "fallback"))
    return pack(Lane("summaries", "Summaries", legend, marks))


def _delegations(timeline: Timeline) -> Lane:
    open_marks: dict[str, Mark] = {}
    for change in timeline.delegations:
        before = open_marks.get(change.ticket)
        start = change.at_ms if before is None else before.start_ms
        question = change.question or (before.text if before else "")
        details: Details = (("ticket", change.ticket), ("status", change.status))
        if change.text:
            details = (*details, ("answer", clip(change.text)))
        open_marks[change.ticket] = Mark(
            start,
            change.at_ms,
            f"delegation {change.status}",
            "delegation",
            clip(question),
            details,
        )
    legend = (("delegation", "delegated question"),)
    return pack(Lane("delegations", "Delegations", legend, tuple(open_marks.values())))


def _troubles(timeline: Timeline) -> Lane:
    marks = [
        Mark(t.at_ms, t.at_ms, "trouble", "trouble", clip(t.message), (("code", t.code),))
        for t in timeline.troubles
    ]
    marks += [
        Mark(s.at_ms, s.at_ms, "stale", f"stale {s.kind} dropped", s.ref) for s in timeline.stale
    ]
    marks.sort(key=lambda mark: mark.start_ms)
    legend = (("trouble", "trouble"), ("stale", "late answer dropped"))
    return Lane("troubles", "Troubles", legend, tuple(marks))


def pack(lane: Lane) -> Lane:
    """Give overlapping marks rows of their own, at most six; the rest share the last."""
    free_from: list[int] = []
    marks: list[Mark] = []
    for mark in sorted(lane.marks, key=lambda mark: (mark.start_ms, mark.end_ms)):
        row = next((i for i, end in enumerate(free_from) if end <= mark.start_ms), len(free_from))
        row = min(row, _MAX_ROWS - 1)
        taken_to = max(mark.end_ms, mark.start_ms + 1)
        if row == len(free_from):
            free_from.append(taken_to)
        else:
            free_from[row] = max(free_from[row], taken_to)
        marks.append(replace(mark, row=row))
    return replace(lane, marks=tuple(marks), rows=max(1, len(free_from)))
