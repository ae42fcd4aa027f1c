"""Values shared by every package: units, frames, prompt segments, dialect words.

Nothing here does I/O, reads a clock or imports a sibling package (errors excepted).
All times are *stream time*: whole milliseconds since the session opened.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NewType, TypeAlias

__all__ = [
    "BoundaryReason",
    "CallId",
    "ChunkIndex",
    "DialectText",
    "Epoch",
    "FrameRef",
    "FrameUuid",
    "InstructionId",
    "Lifetime",
    "LifetimeKind",
    "Ms",
    "ResponseId",
    "SamplingParams",
    "Segment",
    "Segments",
    "ServerLimits",
    "TickIndex",
    "Ticket",
    "Usage",
    "UtteranceId",
    "VideoState",
    "canonical_bytes",
]

Ms = NewType("Ms", int)
"""Milliseconds of stream time (since the session opened)."""
Epoch = NewType("Epoch", int)
"""Generation counter of output; output stamped with an older epoch is stale."""
TickIndex = NewType("TickIndex", int)
"""Number of a committed or attempted tick, from 0, never reused in a session."""
ChunkIndex = NewType("ChunkIndex", int)
"""Number of a chunk, from 0."""
FrameUuid = NewType("FrameUuid", str)
"""sha256 (hex) of the exact encoded bytes of a frame: the engine's cache key."""
CallId = NewType("CallId", str)
ResponseId = NewType("ResponseId", str)
InstructionId = NewType("InstructionId", str)
Ticket = NewType("Ticket", str)
"""Id of one delegated job."""
UtteranceId = NewType("UtteranceId", str)


@dataclass(frozen=True, slots=True)
class FrameRef:
    """A frame by reference. The bytes live in the session's frame store, never in the core."""

    uuid: FrameUuid
    capture_ms: Ms
    """When the picture was taken, in stream time."""
    width: int
    """Pixels."""
    height: int
    """Pixels."""
    size_bytes: int
    """Length of the encoded bytes."""
    media_type: str = "image/jpeg"


class VideoState(StrEnum):
    """What a tick knows about the camera; the last three are distinct canonical texts."""

    FRESH = "fresh"
    UNCHANGED = "unchanged"
    NO_VIDEO = "no_video"
    CAMERA_OFF = "camera_off"


class LifetimeKind(StrEnum):
    ANSWERED = "answered"
    """Ends with the first reply that was heard."""
    CANCELLED = "cancelled"
    """Stands until the user cancels it."""
    TIME = "time"
    """Ends at ``Lifetime.until_ms``."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """How long an instruction stays armed."""

    kind: LifetimeKind = LifetimeKind.CANCELLED
    until_ms: Ms | None = None
    """Stream time at which it ends; set exactly when ``kind`` is ``TIME``."""


class BoundaryReason(StrEnum):
    """Why the prompt head (or the system message) changed."""

    FULL = "full"
    FIRST_QUERY = "first_query"
    PERSONA = "persona"
    CANCELLED = "cancelled"
    FORCED = "forced"
    RESTORED = "restored"


Segment: TypeAlias = bytes | FrameRef
"""A piece of a request body: literal bytes, or the value of one ``image_url`` key.

A ``FrameRef`` segment stands where ``null`` stands in canonical form; the wire form puts
``{"url":"data:<media_type>;base64,<bytes>"}`` there instead.
"""
Segments: TypeAlias = tuple[Segment, ...]


def canonical_bytes(segments: Iterable[Segment]) -> bytes:
    """The canonical form of a message list: ``null`` for every picture."""
    return b"".join(b"null" if isinstance(one, FrameRef) else one for one in segments)


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """Sampling of one call. ``None`` leaves a field out of the request."""

    max_tokens: int = 256
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    skip_special_tokens: bool = False
    """False keeps decision markers that the tokenizer holds to be special (C32)."""
    regex: str | None = None
    """Sent as ``structured_outputs.regex`` (vLLM); None sends no constraint."""
    priority: int | None = None
    """vLLM request priority; larger is later."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one finished call, as the server reported them."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int | None = None
    """None when the server does not report them."""


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """What the model server said it can hold. ``None`` means it did not say."""

    max_model_len: int | None = None
    """Tokens of prompt plus completion."""
    max_images: int | None = None
    """Pictures in one prompt."""


@dataclass(frozen=True, slots=True)
class DialectText:
    """The words one dialect uses in prompts, as plain values.

    Packages that render prompts (``memory``) or read them (the embedded eye) get these words
    handed in and never import a dialect. ``str.format`` fields are named in each comment.
    """

    name: str
    # -- headers of the prompt head and of user messages
    query_header: str
    """Line put before a fresh query."""
    video_history_header: str
    """Header and preamble of the long- and mid-term part of the head."""
    qa_history_header: str
    standing_header: str
    """Line before the standing instructions in the head."""
    # -- line formats
    time_label: str
    """``{seconds}`` (one decimal): label of a message with pictures."""
    range_label: str
    """``{start}`` ``{end}`` (one decimal): label of a summary or block."""
    qa_query: str
    """``{n}`` ``{seconds}`` ``{text}``."""
    qa_response: str
    """``{seconds}`` ``{text}``."""
    qa_unknown_time: str
    standing_line: str
    """``{text}``: one standing instruction in the head."""
    cancelled_line: str
    """``{text}``: fact in the tail that an instruction was cancelled."""
    delegated_line: str
    """``{question}`` ``{text}`` ``{delivery}``: a delegated answer in the tail."""
    delegated_failed_line: str
    """``{question}`` ``{text}``."""
    heard_line: str
    """``{text}``: words of an earlier reply that were heard after its boundary."""
    expired_line: str
    """``{text}``: fact in the tail that an instruction's time is over."""
    cut_off_line: str
    """``{text}``: a query whose answer was cut off and is asked again."""
    interrupted_mark: str
    """Appended to a reply of which only a part was heard."""
    # -- canonical texts
    no_video: str
    camera_off: str
    unchanged: str
    gap: str
    """``{start}`` ``{end}``: a stretch nobody looked at (gated) or that was lost."""
    fallback_summary: str
    """``{start}`` ``{end}`` ``{frames}``: stands in for a summary that could not be had."""
    empty_summary: str
    # -- canonical reply forms
    silence: str
    respond: str
    """``{text}``."""
    delegate: str
    """``{note}`` ``{question}``."""
    # -- what the dialect can express
    has_text_only_ticks: bool
    """False: a tick without a picture is not sent to the model (joyvl)."""
    max_instructions: int
    """Standing instructions at once; joyvl 1 unless set higher."""
    cancel_is_boundary: bool
    """True: a cancellation changes the head at once instead of adding a fact (joyvl)."""


DATA_URL_OPEN: Final = b'{"url":"data:'
"""Start of a picture's wire form; see :data:`Segment`."""
