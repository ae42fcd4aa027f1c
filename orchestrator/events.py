"""What can happen to a session: the closed union of inputs of :class:`SessionCore`.

The shell feeds one event at a time with the stream time it happened at. An event that answers
something carries the fence of what it answers (call id, epoch, job, ticket, utterance), and the
core drops it, visibly, when that fence has passed. Every event is recordable: frozen, made of
plain values, without picture or sound bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from onlooker.types import (
    CallId,
    Epoch,
    FrameRef,
    InstructionId,
    Lifetime,
    ResponseId,
    Ticket,
    Usage,
    UtteranceId,
)

STANDING: Final = Lifetime()
"""Until the user cancels it."""


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """First event of a session; ``now_ms`` of it is t0 of the cadence."""


@dataclass(frozen=True, slots=True)
class FrameArrived:
    """A validated, stored picture. The newest wins at the next tick."""

    frame: FrameRef


@dataclass(frozen=True, slots=True)
class CameraSwitched:
    """The client turned the camera off or on (off is a text of its own, not *no video*)."""

    on: bool


@dataclass(frozen=True, slots=True)
class SourceEnded:
    """The video source has no more frames; the session decides one last time, then may close."""


@dataclass(frozen=True, slots=True)
class QueryArrived:
    """A user's request. It arms evaluation and triggers a tick; it does not force a reply."""

    instruction_id: InstructionId
    text: str
    lifetime: Lifetime = STANDING
    urgent: bool = False
    """Replies to it may pre-empt a live response."""
    forced: bool = False
    """A reply is wanted now: dedup is cleared and silence is not held against it."""
    utterance_id: UtteranceId | None = None
    """Set when it was spoken."""


@dataclass(frozen=True, slots=True)
class InstructionCancelled:
    instruction_id: InstructionId


@dataclass(frozen=True, slots=True)
class PersonaChanged:
    persona: str
    """Name of a persona known to the policy; the shell has checked it."""
    system: str
    """Its full system prompt in the session's dialect."""


@dataclass(frozen=True, slots=True)
class TimerFired:
    """The time :attr:`SessionCore.next_timer_ms` named has come (or is past)."""


@dataclass(frozen=True, slots=True)
class ModelDelta:
    call_id: CallId
    text: str


@dataclass(frozen=True, slots=True)
class ModelDone:
    call_id: CallId
    finish_reason: str
    """``stop``, ``length`` …; a stream that ended without one arrives as :class:`ModelFailed`."""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class ModelFailed:
    call_id: CallId
    code: str
    """Stable code of the bridge error (``errors.py``) or of the boundary's refinement of it:
    ``context_exceeded``, ``too_many_images``, ``bad_image``, ``cache_miss``,
    ``server_error``, ``model_not_found``, ``unauthorized`` …"""
    message: str
    """One line without user content, fit for the client."""
    retryable: bool
    limit: int | None = None
    """The limit a refusal named (tokens or pictures), where it named one."""


@dataclass(frozen=True, slots=True)
class SummaryDone:
    job_id: str
    text: str
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class SummaryFailed:
    job_id: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ClauseSpoken:
    """The synthesiser made sound for one clause."""

    response_id: ResponseId
    epoch: Epoch
    clause: int
    """Index of the clause in its response."""
    duration_ms: int
    word_ends_ms: tuple[int, ...] | None = None
    """End of each word from the clause's start, where the engine knows them."""


@dataclass(frozen=True, slots=True)
class ClauseFailed:
    """Synthesis failed: this response ends, the session does not."""

    response_id: ResponseId
    epoch: Epoch
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class OutputSent:
    """Sound left for the client: ``sent_ms`` of this response's audio so far."""

    response_id: ResponseId
    epoch: Epoch
    sent_ms: int


@dataclass(frozen=True, slots=True)
class TextWritten:
    """Text left for the client; without audio this is what *heard* means."""

    response_id: ResponseId
    epoch: Epoch
    chars: int
    """Characters of the response's text written so far."""


@dataclass(frozen=True, slots=True)
class PlaybackAck:
    response_id: ResponseId
    played_ms: int


@dataclass(frozen=True, slots=True)
class PlaybackTruncated:
    """The client's final word on what was played (``conversation.item.truncate``)."""

    response_id: ResponseId
    audio_end_ms: int


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """Somebody speaks: a *suspected* barge-in while a response is live."""

    utterance_id: UtteranceId
    source: str = "external_vad"


@dataclass(frozen=True, slots=True)
class SpeechEnded:
    """The utterance is over; ``duration_ms`` decides if it was long enough to confirm."""

    utterance_id: UtteranceId
    duration_ms: int


@dataclass(frozen=True, slots=True)
class TranscriptArrived:
    """Final transcript of an utterance. Empty text dismisses a suspected barge-in."""

    utterance_id: UtteranceId
    text: str


@dataclass(frozen=True, slots=True)
class ResponseCancelled:
    """The client's explicit word: stop the live response (also before it was created)."""

    response_id: ResponseId | None = None


@dataclass(frozen=True, slots=True)
class DelegationStarted:
    ticket: Ticket


@dataclass(frozen=True, slots=True)
class DelegationProgressed:
    ticket: Ticket
    text: str


@dataclass(frozen=True, slots=True)
class DelegationDone:
    ticket: Ticket
    text: str


@dataclass(frozen=True, slots=True)
class DelegationFailed:
    ticket: Ticket
    code: str
    message: str
    """One sentence for the user and the model."""


@dataclass(frozen=True, slots=True)
class DelegationCancelled:
    """The user no longer wants this job."""

    ticket: Ticket


@dataclass(frozen=True, slots=True)
class TroubleNoted:
    """The shell met a problem the client should hear of (source lost, frame refused …)."""

    code: str
    message: str
    retryable: bool = False


@dataclass(frozen=True, slots=True)
class SessionClosed:
    reason: str = "client"


Event: TypeAlias = (
    SessionOpened
    | FrameArrived
    | CameraSwitched
    | SourceEnded
    | QueryArrived
    | InstructionCancelled
    | PersonaChanged
    | TimerFired
    | ModelDelta
    | ModelDone
    | ModelFailed
    | SummaryDone
    | SummaryFailed
    | ClauseSpoken
    | ClauseFailed
    | OutputSent
    | TextWritten
    | PlaybackAck
    | PlaybackTruncated
    | SpeechStarted
    | SpeechEnded
    | TranscriptArrived
    | ResponseCancelled
    | DelegationStarted
    | DelegationProgressed
    | DelegationDone
    | DelegationFailed
    | DelegationCancelled
    | TroubleNoted
    | SessionClosed
)
