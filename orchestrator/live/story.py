"""Notices to lines a person can read. Pure."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final

from onlooker.orchestrator.codec import dumps, encode
from onlooker.orchestrator.notices import (
    BargeInChanged,
    BoundaryCrossed,
    DecisionMade,
    DelegationChanged,
    InstructionChanged,
    Notice,
    ResponseEnded,
    ResponseStarted,
    SummaryChanged,
    Trouble,
)
from onlooker.orchestrator.report.words import decision_kind, decision_why, seconds

_UNSAFE: Final = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_SHOWN_SUMMARIES: Final = {"staged", "failed", "fallback", "replaced"}
_BAD_SUMMARIES: Final = {"failed", "fallback"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the story of a run."""

    when: str
    what: str
    text: str
    style: str
    """``silent``, ``spoke``, ``delegated``, ``skipped``, ``failed``, ``query``, ``memory``,
    ``trouble``."""


def clean(text: str) -> str:
    """One line that a terminal shows as it is: no control, escape or direction characters."""
    spaced = " ".join(text.split())
    return "".join(c for c in spaced if unicodedata.category(c) not in _UNSAFE)


def notice_json(notice: Notice) -> str:
    """One notice as one line of JSON: its type, then its fields."""
    return dumps(encode(notice))


class Story:
    """Turns notices into lines; a run of like quiet ticks becomes one line at its end."""

    def __init__(self) -> None:
        self._run: list[DecisionMade] = []
        self._triggers: dict[str, str] = {}

    def add(self, notice: Notice) -> list[Line]:
        """The lines that ``notice`` completes, oldest first."""
        if isinstance(notice, DecisionMade):
            return self._decide(notice)
        line = self._describe(notice)
        return [] if line is None else [*self.finish(), line]

    def finish(self) -> list[Line]:
        """The line of the quiet ticks that were held back, if any."""
        if not self._run:
            return []
        first, last, count = self._run[0], self._run[-1], len(self._run)
        self._run = []
        kind = decision_kind(first)
        when = seconds(first.at_ms)
        if count == 1:
            return [Line(when, kind, decision_why(first), kind)]
        text = f"until {seconds(last.at_ms)}, {count} ticks: {decision_why(first)}"
        return [Line(when, kind, text, kind)]

    def _decide(self, decision: DecisionMade) -> list[Line]:
        kind = decision_kind(decision)
        if kind in {"silent", "skipped"}:
            like = self._run and self._run[-1].source is decision.source
            done = [] if like else self.finish()
            self._run.append(decision)
            return done
        if kind == "failed":
            text = decision_why(decision)
        elif kind == "delegated":
            text = f"{clean(decision.text)} [{clean(decision.question)}]".strip()
        else:
            text = clean(decision.text)
        return [*self.finish(), Line(seconds(decision.at_ms), kind, text, kind)]

    def _describe(self, notice: Notice) -> Line | None:
        match notice:
            case InstructionChanged():
                return Line(
                    seconds(notice.at_ms), f"query {notice.status}", clean(notice.text), "query"
                )
            case Trouble():
                text = f"{notice.code}: {clean(notice.message)}"
                return Line(seconds(notice.at_ms), "trouble", text, "trouble")
            case BargeInChanged():
                return Line(seconds(notice.at_ms), f"barge-in {notice.stage}", "", "query")
            case ResponseStarted() | ResponseEnded():
                return self._response(notice)
            case BoundaryCrossed() | SummaryChanged():
                return _memory(notice)
            case DelegationChanged():
                return _delegation(notice)
            case _:
                return None

    def _response(self, notice: ResponseStarted | ResponseEnded) -> Line | None:
        """Decisions say what was spoken; here only what no decision says."""
        if isinstance(notice, ResponseStarted):
            self._triggers[notice.response_id] = notice.trigger
            return None
        trigger = self._triggers.pop(notice.response_id, "")
        when = seconds(notice.at_ms)
        if notice.status == "cancelled":
            return Line(when, "interrupted", f"heard: {clean(notice.heard) or 'nothing'}", "query")
        if notice.status == "failed":
            return Line(when, "broken off", f"said: {clean(notice.text)}", "failed")
        if trigger == "delegation":
            return Line(when, "spoke", clean(notice.text), "spoke")
        return None


def _memory(notice: BoundaryCrossed | SummaryChanged) -> Line | None:
    if isinstance(notice, BoundaryCrossed):
        reason = notice.reason.value.replace("_", " ")
        text = (
            f"chunk {notice.chunk} begins ({reason}), {notice.carried_frames} frames carried over"
        )
        return Line(seconds(notice.at_ms), "boundary", text, "memory")
    if notice.status not in _SHOWN_SUMMARIES:
        return None
    name = "roll-up" if notice.kind == "block" else "summary"
    span = f"{seconds(notice.start_ms)} to {seconds(notice.end_ms)}"
    style = "trouble" if notice.status in _BAD_SUMMARIES else "memory"
    text = f"{span}: {clean(notice.text)}" if notice.text else span
    return Line(seconds(notice.at_ms), f"{name} {notice.status}", text, style)


def _delegation(notice: DelegationChanged) -> Line | None:
    if notice.status in {"running", "progress"}:
        return None
    text = clean(notice.text or notice.question)
    bad = notice.status in {"unavailable", "failed"}
    style = "trouble" if bad else "delegated"
    return Line(seconds(notice.at_ms), f"delegation {notice.status}", text, style)
