"""What a session tells its client: the closed union carried by the ``Emit`` command.

Notices are facts about the session, in its own words; the wire maps them to Realtime events, the
CLI prints them, a report draws them. None is required for correctness.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from onlooker.types import (
    BoundaryReason,
    ChunkIndex,
    Epoch,
    FrameUuid,
    InstructionId,
    Ms,
    ResponseId,
    Ticket,
    TickIndex,
    Usage,
    VideoState,
)


class DecisionSource(StrEnum):
    """Who decided a tick's action."""

    MODEL = "model"
    GATE = "gate"
    """Nothing was asked yet, or every instruction has ended: no call."""
    COOLDOWN = "cooldown"
    DEDUP = "dedup"
    """The model repeated its last fully heard line."""
    BUSY = "busy"
    """A response is live; the new one was dropped or queued."""
    MALFORMED = "malformed"
    """The output had no marker: silence, and a counter."""
    NO_PICTURE = "no_picture"
    """The dialect cannot send a tick without a picture."""
    FAILED = "failed"
    """The model call failed; the tick was rolled back."""
    ABORTED = "aborted"
    """A barge-in or the end of the session ended the call; the tick was rolled back, or what it
    had said by then stands."""


@dataclass(frozen=True, slots=True)
class DecisionMade:
    """One per tick, also for skipped and failed ones."""

    tick: TickIndex
    at_ms: Ms
    """When the tick began."""
    action: str
    """``silence``, ``respond`` or ``delegate``."""
    source: DecisionSource
    text: str
    """Spoken text or note; empty for silence."""
    question: str
    """Delegated question; else empty."""
    trigger: str
    """``cadence``, ``query``, ``speech_end``, ``delegation``, ``instruction`` …"""
    chunk: ChunkIndex
    video: VideoState
    frames: tuple[FrameUuid, ...]
    label_ms: Ms | None
    """Capture time shown to the model."""
    first_token_ms: int | None = None
    """Stream time from the call to its first delta."""
    latency_ms: int | None = None
    """Stream time from the call to its end."""
    usage: Usage | None = None
    frames_dropped: int = 0
    """Frames that arrived for this tick and were superseded by newer ones."""
    slots_missed: int = 0
    """Cadence slots skipped since the tick before."""


@dataclass(frozen=True, slots=True)
class ResponseStarted:
    response_id: ResponseId
    epoch: Epoch
    at_ms: Ms
    trigger: str


@dataclass(frozen=True, slots=True)
class ResponseDelta:
    response_id: ResponseId
    epoch: Epoch
    text: str


@dataclass(frozen=True, slots=True)
class ResponseEnded:
    response_id: ResponseId
    epoch: Epoch
    at_ms: Ms
    status: str
    """``completed``, ``cancelled`` (interrupted) or ``failed``."""
    text: str
    """All that was generated."""
    heard: str
    """What memory keeps, as known now."""


@dataclass(frozen=True, slots=True)
class InstructionChanged:
    instruction_id: InstructionId
    at_ms: Ms
    status: str
    """``armed``, ``rearmed``, ``replaced``, ``cancelled``, ``expired``, ``answered``."""
    text: str


@dataclass(frozen=True, slots=True)
class SummaryChanged:
    job_id: str
    at_ms: Ms
    kind: str
    """``chunk`` or ``block`` (a roll-up)."""
    status: str
    """``requested``, ``staged``, ``failed``, ``fallback``, ``replaced``, ``discarded``."""
    start_ms: Ms
    end_ms: Ms
    text: str


@dataclass(frozen=True, slots=True)
class BoundaryCrossed:
    """The prompt head changed."""

    chunk: ChunkIndex
    """The chunk that begins."""
    at_ms: Ms
    reason: BoundaryReason
    carried_ticks: int
    """Ticks carried over into the new chunk."""
    carried_frames: int
    head_chars: int
    fallback: bool
    """A fallback took the summary's place."""


@dataclass(frozen=True, slots=True)
class DelegationChanged:
    ticket: Ticket
    at_ms: Ms
    status: str
    """``requested``, ``unavailable``, ``running``, ``progress``, ``done``, ``failed``,
    ``cancelled``."""
    question: str
    text: str


@dataclass(frozen=True, slots=True)
class BargeInChanged:
    at_ms: Ms
    stage: str
    """``suspected``, ``confirmed`` or ``dismissed``."""
    response_id: ResponseId
    epoch: Epoch


@dataclass(frozen=True, slots=True)
class StaleDropped:
    """An answer came after its fence had passed."""

    kind: str
    """``model``, ``output``, ``summary``, ``delegation``, ``transcript``, ``ack``."""
    ref: str
    at_ms: Ms


@dataclass(frozen=True, slots=True)
class MemoryGauged:
    """How full memory is, after a committed tick."""

    at_ms: Ms
    chunk: ChunkIndex
    chunk_ticks: int
    chunk_frames: int
    max_frames: int
    mids: int
    blocks: int
    qa_entries: int
    prompt_tokens: int
    """Measured where the server reports usage, else estimated."""
    budget_tokens: int
    cached_tokens: int | None
    gated: bool


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something went wrong that a person can act on; never spoken, never remembered."""

    at_ms: Ms
    code: str
    message: str
    retryable: bool


@dataclass(frozen=True, slots=True)
class SessionEnded:
    at_ms: Ms
    reason: str


Notice: TypeAlias = (
    DecisionMade
    | ResponseStarted
    | ResponseDelta
    | ResponseEnded
    | InstructionChanged
    | SummaryChanged
    | BoundaryCrossed
    | DelegationChanged
    | BargeInChanged
    | StaleDropped
    | MemoryGauged
    | Trouble
    | SessionEnded
)
