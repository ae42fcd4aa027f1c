"""What memory is made of: facts, ticks of the tail, spans of the head, requests, reports.

Everything here is a frozen value. Texts that people or models wrote must be handed in already
neutralised (no decision marker, no chat-template token): memory stores and renders them as they
are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from onlooker.types import (
    BoundaryReason,
    ChunkIndex,
    FrameRef,
    InstructionId,
    Lifetime,
    Ms,
    ResponseId,
    Ticket,
    TickIndex,
    VideoState,
)


@dataclass(frozen=True, slots=True)
class Instruction:
    """A user's request that stands."""

    instruction_id: InstructionId
    text: str
    lifetime: Lifetime
    at_ms: Ms
    """When it was asked last; with the id it names one asking."""
    urgent: bool = False
    """Replies to it may pre-empt a live response."""


@dataclass(frozen=True, slots=True)
class QueryFact:
    """A query, shown under its header in the tick that first sees it."""

    instruction_id: InstructionId
    text: str
    at_ms: Ms
    cut_off: bool = False
    """It was shown before, and the answer to it was cut off."""


@dataclass(frozen=True, slots=True)
class CancelFact:
    """An instruction no longer stands: the user cancelled it, or a newer one took its place."""

    instruction_id: InstructionId
    text: str
    at_ms: Ms


@dataclass(frozen=True, slots=True)
class ExpiredFact:
    """The time of an instruction is over."""

    instruction_id: InstructionId
    text: str
    at_ms: Ms


@dataclass(frozen=True, slots=True)
class DelegatedFact:
    """The answer to a delegated question, good or bad."""

    ticket: Ticket
    question: str
    text: str
    at_ms: Ms
    delivery: str = ""
    """How the user gets it, in the dialect's words."""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class HeardFact:
    """Words of a response heard after its tick had left the chunk, or of a read-out cut short."""

    response_id: ResponseId
    text: str
    at_ms: Ms
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class GapFact:
    """A stretch that nobody looked at (the session was down), stated in the tail."""

    start_ms: Ms
    end_ms: Ms


Fact: TypeAlias = QueryFact | CancelFact | ExpiredFact | DelegatedFact | HeardFact | GapFact


@dataclass(frozen=True, slots=True)
class EndMark:
    """An asking ended without words of its own (answered, or replaced by a newer query)."""

    instruction_id: InstructionId
    asked_ms: Ms
    """``Instruction.at_ms`` of the asking that ended."""


@dataclass(frozen=True, slots=True)
class TailTick:
    """One committed tick of the chunk, or the open one."""

    tick: TickIndex
    at_ms: Ms
    """When the tick began."""
    label_ms: Ms | None
    """Capture time of its first picture; None without pictures."""
    video: VideoState
    frames: tuple[FrameRef, ...]
    facts: tuple[Fact, ...]
    reply: str = ""
    """Canonical assistant text; empty while open."""
    response_id: ResponseId | None = None
    spoken: str = ""
    """What ``reply`` says aloud; cut to what was heard by an interruption."""
    question: str = ""
    """What it delegated."""
    revision: int = 0
    """Bumped whenever an interruption (or its grace) rewrites ``reply``."""
    ends: tuple[EndMark, ...] = ()
    """Invisible: what ended with this tick."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the past as the head shows it. Spans are contiguous: (start, end]."""

    kind: str
    """``chunk`` (mid-term), ``block`` (long-term) or ``gap``."""
    start_ms: Ms
    end_ms: Ms
    text: str
    """Summary; empty for a gap."""
    frames: int
    """Pictures that lie in it."""
    fallback: bool = False
    """``text`` stands in for a summary that could not be had in time."""
    job: int | None = None
    """Number of the summary job that may still replace the fallback."""
    late: str | None = None
    """The real summary, which takes over at the next boundary."""


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """One summary to be written: of a chunk's ticks, or of several summaries (a block)."""

    job_id: str
    """Names job and attempt; answer with :meth:`Memory.on_summary` or ``on_summary_failed``."""
    kind: str
    """``chunk`` or ``block``."""
    attempt: int
    """From 1."""
    start_ms: Ms
    end_ms: Ms
    ticks: tuple[TailTick, ...] = ()
    """Of a chunk; replies hold heard words only."""
    texts: tuple[tuple[Ms, Ms, str], ...] = ()
    """Of a block: (start, end, text) of each summary."""
    instructions: tuple[Instruction, ...] = ()
    """What stands while it is written: what the summary should look for."""

    @property
    def frames(self) -> int:
        """Number of pictures in the request."""
        return sum(len(tick.frames) for tick in self.ticks)


@dataclass(frozen=True, slots=True)
class Boundary:
    """The head changed."""

    reason: BoundaryReason
    chunk: ChunkIndex
    """The chunk that begins."""
    carried_ticks: int
    carried_frames: int
    head_chars: int
    fallback: bool
    """A fallback took a summary's place."""
    fallback_start_ms: Ms | None = None
    fallback_end_ms: Ms | None = None


@dataclass(frozen=True, slots=True)
class MemoryGauge:
    """How full memory is."""

    chunk: ChunkIndex
    chunk_ticks: int
    chunk_frames: int
    max_frames: int
    lead: int
    mids: int
    blocks: int
    qa_entries: int
    prompt_tokens: int
    """Of the newest prompt: measured where usage was reported, else estimated."""
    budget_tokens: int
    gated: bool


def tick_frames(ticks: tuple[TailTick, ...] | list[TailTick]) -> int:
    """Pictures in ``ticks``."""
    return sum(len(tick.frames) for tick in ticks)
