"""What a run looked like, collected from its notices while it happens."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from onlooker.orchestrator.notices import (
    BargeInChanged,
    BoundaryCrossed,
    DecisionMade,
    DelegationChanged,
    InstructionChanged,
    MemoryGauged,
    Notice,
    ResponseDelta,
    ResponseEnded,
    ResponseStarted,
    SessionEnded,
    StaleDropped,
    SummaryChanged,
    Trouble,
)
from onlooker.orchestrator.report.thumbnails import Thumbnail, Thumbnails
from onlooker.types import FrameUuid, Ms

MAX_ENTRIES: Final = 20_000
"""Entries kept of each kind: 5.5 hours of one decision a second."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the page says about the run as a whole."""

    source: str
    """What was watched, as the user named it."""
    model: str
    stand_in: bool
    """The model was not a language model; the page says so first."""
    dialect: str
    persona: str
    speed: str
    """``realtime`` or ``max``."""
    started: str
    """Wall time of the start, for people."""
    version: str
    """Onlooker's version."""
    outcome: str = "complete"
    """``complete``, ``interrupted`` or ``failed``."""
    error: str = ""
    """Why it failed, one line."""
    settings: tuple[tuple[str, str], ...] = ()
    """Effective settings worth showing, name and value; no secrets."""
    notes: tuple[str, ...] = ()
    """What a reader should know before looking, one line each."""


@dataclass(frozen=True, slots=True)
class CallTiming:
    """One request to the model server, measured in wall time."""

    at_ms: Ms
    """Stream time at which it was sent."""
    kind: str
    """``tick`` or ``summary``."""
    first_ms: int | None
    """Wall milliseconds to the first delta; None when none came."""
    total_ms: int
    """Wall milliseconds to its end."""
    ok: bool


@dataclass(frozen=True, slots=True)
class ResponseSpan:
    """One response, as far as it got."""

    response_id: str
    start_ms: Ms
    end_ms: Ms | None
    """None while it is live."""
    status: str
    text: str
    heard: str


def _bounded() -> deque[Any]:
    return deque(maxlen=MAX_ENTRIES)


@dataclass(slots=True)
class Timeline:
    """Collects one run. :meth:`add` is a notice sink: it never blocks and never raises.

    The newest :data:`MAX_ENTRIES` entries of each kind are kept; :attr:`is_cut` says if older
    ones had to go.
    """

    thumbnails: Thumbnails = field(default_factory=Thumbnails)
    decisions: deque[DecisionMade] = field(default_factory=_bounded)
    instructions: deque[InstructionChanged] = field(default_factory=_bounded)
    summaries: deque[SummaryChanged] = field(default_factory=_bounded)
    boundaries: deque[BoundaryCrossed] = field(default_factory=_bounded)
    delegations: deque[DelegationChanged] = field(default_factory=_bounded)
    barge_ins: deque[BargeInChanged] = field(default_factory=_bounded)
    stale: deque[StaleDropped] = field(default_factory=_bounded)
    troubles: deque[Trouble] = field(default_factory=_bounded)
    gauges: deque[MemoryGauged] = field(default_factory=_bounded)
    calls: deque[CallTiming] = field(default_factory=_bounded)
    frames: deque[tuple[FrameUuid, Ms]] = field(default_factory=_bounded)
    """Every frame that arrived, with its capture time."""
    ended: SessionEnded | None = None
    tick_count: int = 0
    frame_count: int = 0
    _responses: dict[str, ResponseSpan] = field(default_factory=dict)

    @property
    def is_cut(self) -> bool:
        """True when the run was longer than what is kept."""
        return self.tick_count > MAX_ENTRIES or self.frame_count > MAX_ENTRIES

    @property
    def responses(self) -> tuple[ResponseSpan, ...]:
        return tuple(self._responses.values())

    @property
    def pictures(self) -> tuple[Thumbnail, ...]:
        return self.thumbnails.kept()

    @property
    def end_ms(self) -> Ms:
        """Stream time of the last thing that happened."""
        times: Iterable[int] = (
            *(d.at_ms for d in list(self.decisions)[-1:]),
            *(ms for _, ms in list(self.frames)[-1:]),
            *(r.end_ms or r.start_ms for r in self._responses.values()),
            *(t.at_ms for t in self.troubles),
            *(s.at_ms for s in self.summaries),
            *((self.ended.at_ms,) if self.ended else ()),
        )
        return Ms(max(times, default=0))

    def see(self, uuid: FrameUuid, capture_ms: Ms, thumbnail: Thumbnail | None) -> None:
        """A frame arrived, in capture order."""
        self.frame_count += 1
        self.frames.append((uuid, capture_ms))
        if thumbnail is not None:
            self.thumbnails.offer(thumbnail)

    def add_call(self, timing: CallTiming) -> None:
        self.calls.append(timing)

    def add(self, notice: Notice) -> None:
        """Take one notice, in order."""
        match notice:
            case DecisionMade():
                self._decide(notice)
            case ResponseStarted() | ResponseDelta() | ResponseEnded():
                self._respond(notice)
            case InstructionChanged():
                self.instructions.append(notice)
            case SummaryChanged():
                self.summaries.append(notice)
            case BoundaryCrossed():
                self.boundaries.append(notice)
            case DelegationChanged():
                self.delegations.append(notice)
            case MemoryGauged():
                self.gauges.append(notice)
            case Trouble():
                self.troubles.append(notice)
            case _:
                self._add_rare(notice)

    def _add_rare(self, notice: BargeInChanged | StaleDropped | SessionEnded) -> None:
        match notice:
            case BargeInChanged():
                self.barge_ins.append(notice)
            case StaleDropped():
                self.stale.append(notice)
            case SessionEnded():
                self.ended = notice

    def _decide(self, decision: DecisionMade) -> None:
        self.tick_count += 1
        self.decisions.append(decision)
        if decision.action != "silence":
            for uuid in decision.frames:
                self.thumbnails.pin(uuid)

    def _respond(self, notice: ResponseStarted | ResponseDelta | ResponseEnded) -> None:
        known = self._responses.get(notice.response_id)
        match notice:
            case ResponseStarted():
                self._responses[notice.response_id] = ResponseSpan(
                    notice.response_id, notice.at_ms, None, "live", "", ""
                )
                if len(self._responses) > MAX_ENTRIES:
                    del self._responses[next(iter(self._responses))]
            case ResponseDelta():
                if known is not None:
                    text = known.text + notice.text
                    self._responses[notice.response_id] = replace(known, text=text)
            case ResponseEnded():
                start = notice.at_ms if known is None else known.start_ms
                self._responses[notice.response_id] = ResponseSpan(
                    notice.response_id,
                    start,
                    notice.at_ms,
                    notice.status,
                    notice.text,
                    notice.heard,
                )
