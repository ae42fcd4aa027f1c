"""What the core asks the shell to do: the closed union of outputs of :class:`SessionCore`.

The shell executes commands in order, once each, in one ``match``. Whatever comes of a command
returns as an event stamped with the ids given here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from onlooker.orchestrator.notices import Notice
from onlooker.types import (
    CallId,
    Epoch,
    FrameRef,
    FrameUuid,
    Ms,
    ResponseId,
    SamplingParams,
    Segments,
    Ticket,
)


@dataclass(frozen=True, slots=True)
class CallModel:
    """Post one tick call. Answers: ``ModelDelta``*, then ``ModelDone`` or ``ModelFailed``."""

    call_id: CallId
    messages: Segments
    """The JSON array of messages, in segments (``types.Segment``)."""
    sampling: SamplingParams
    deadline_ms: Ms
    """Stream time after which the call must have failed."""
    fresh_connection: bool = False
    """Do not reuse the kept-alive connection (after a 500)."""


@dataclass(frozen=True, slots=True)
class AbortModel:
    """Cancel a call; no event of it will be looked at any more."""

    call_id: CallId


@dataclass(frozen=True, slots=True)
class Summarise:
    """Post one summary call on its own connection. Answers: ``SummaryDone | SummaryFailed``."""

    job_id: str
    messages: Segments
    sampling: SamplingParams
    deadline_ms: Ms


@dataclass(frozen=True, slots=True)
class AbortSummary:
    job_id: str


@dataclass(frozen=True, slots=True)
class Speak:
    """Synthesise one clause and queue it for the client; drop it if ``epoch`` is stale.

    Answers: ``ClauseSpoken`` and ``OutputSent``, or ``ClauseFailed``. A session without a
    voice receives none of these commands.
    """

    response_id: ResponseId
    epoch: Epoch
    clause: int
    text: str
    """Empty only where it merely says that no clause follows; then there is nothing to report."""
    last: bool
    """No clause of this response follows."""


@dataclass(frozen=True, slots=True)
class PauseOutput:
    """Suspected barge-in: stop sending at once, keep what is queued."""

    response_id: ResponseId
    epoch: Epoch


@dataclass(frozen=True, slots=True)
class ResumeOutput:
    """Dismissed barge-in: go on from what was played."""

    response_id: ResponseId
    epoch: Epoch
    from_ms: int


@dataclass(frozen=True, slots=True)
class FlushOutput:
    """Drop every unsent byte stamped below ``epoch`` and tell the client to clear its own."""

    epoch: Epoch
    response_id: ResponseId


@dataclass(frozen=True, slots=True)
class StartDelegation:
    """Hand a question to the background brain."""

    ticket: Ticket
    note: str
    question: str
    user_text: str
    """The instruction it came from, in the user's words; may be empty."""
    frames: tuple[FrameRef, ...]
    """Recent frames, oldest first, from a ring independent of the chunk."""


@dataclass(frozen=True, slots=True)
class CancelDelegation:
    ticket: Ticket


@dataclass(frozen=True, slots=True)
class ReleaseFrames:
    """Nothing refers to these pictures any more; their bytes may go."""

    uuids: tuple[FrameUuid, ...]


@dataclass(frozen=True, slots=True)
class Emit:
    """Tell the client."""

    notice: Notice


@dataclass(frozen=True, slots=True)
class Close:
    """The session is over: cancel everything, release everything."""

    reason: str


Command: TypeAlias = (
    CallModel
    | AbortModel
    | Summarise
    | AbortSummary
    | Speak
    | PauseOutput
    | ResumeOutput
    | FlushOutput
    | StartDelegation
    | CancelDelegation
    | ReleaseFrames
    | Emit
    | Close
)
