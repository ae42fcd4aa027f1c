"""Protocols of every outside capability, and what an implementation declares about itself.

An implementation is built by a factory registered under a name (``bridges/registry.py``), is
used from one event loop, and must be closed with ``aclose``. Every method that waits must stop
promptly when its task is cancelled, and raises only :class:`onlooker.errors.BridgeError`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from onlooker.types import FrameRef, FrameUuid, SamplingParams, Segments, ServerLimits, Usage

FrameBytes: TypeAlias = Callable[[FrameUuid], bytes]
"""Gives the encoded bytes of a stored frame; raises ``KeyError`` when it was released."""


@dataclass(frozen=True, slots=True)
class ModelCapabilities:
    streaming: bool = True
    images: bool = True
    structured_outputs: bool = False
    """Honours ``structured_outputs.regex``."""
    references: bool = False
    """Accepts a picture by uuid alone, once sent."""
    stand_in: bool = False
    """Not a language model: say so wherever a user meets it."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One stateless chat completion."""

    call_id: str
    """Stable id for logs and ``X-Request-Id``."""
    messages: Segments
    sampling: SamplingParams
    timeout_s: float
    """Whole-call deadline in seconds from now."""
    fresh_connection: bool = False


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """Last item of a stream that ended well."""

    finish_reason: str
    usage: Usage | None


ModelItem: TypeAlias = TextDelta | Finished


@dataclass(frozen=True, slots=True)
class ModelProbe:
    """What a model server says about itself."""

    model: str
    limits: ServerLimits
    server: str | None = None
    """Server name and version where known."""


@runtime_checkable
class ModelBackend(Protocol):
    """A chat-completions server. One instance serves one session (one keep-alive connection)."""

    @property
    def capabilities(self) -> ModelCapabilities: ...

    async def probe(self) -> ModelProbe:
        """Ask the server for its model and limits; raises ``BridgeError`` when it cannot serve."""
        ...

    def stream(self, request: ModelRequest, frames: FrameBytes) -> AsyncGenerator[ModelItem, None]:
        """Yield deltas, then exactly one ``Finished``; raise ``BridgeError`` otherwise.

        Closing the iterator (or cancelling its task) aborts the request at the server.
        """
        ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class CapturedFrame:
    """One picture from a source, encoded as it will be sent."""

    data: bytes
    media_type: str
    width: int
    height: int
    capture_ms: int
    """Milliseconds since the source was opened, on the capture clock."""


@dataclass(frozen=True, slots=True)
class SourceInfo:
    width: int
    height: int
    fps: float | None
    duration_ms: int | None
    """None for live sources."""
    live: bool


@runtime_checkable
class VideoSource(Protocol):
    """Frames of a file, camera, RTSP stream or image folder, at a bounded rate and size."""

    async def open(self) -> SourceInfo:
        """Open it; raises ``SourceError`` with what to do when it cannot be used."""
        ...

    def frames(self) -> AsyncIterator[CapturedFrame]:
        """Frames in capture order. A live source keeps only the newest when read slowly; a file
        yields every sampled frame and never drops. Ends at the end of a file; a live source
        reconnects by itself and raises ``SourceError`` when it gives up."""
        ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Transcript:
    text: str
    language: str | None = None
    no_speech: float | None = None
    """Probability that nothing was said, where the engine gives it."""
    final: bool = True


@dataclass(frozen=True, slots=True)
class RecogniserCapabilities:
    streaming: bool = False
    languages: tuple[str, ...] = ()
    """Empty: any."""
    sample_rate: int = 16_000


@runtime_checkable
class Recogniser(Protocol):
    """Speech to text, one utterance at a time."""

    @property
    def capabilities(self) -> RecogniserCapabilities: ...

    async def transcribe(self, pcm: bytes, sample_rate: int) -> Transcript:
        """PCM16 mono little-endian in, final transcript out."""
        ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class AudioChunk:
    pcm: bytes
    """PCM16 mono little-endian."""
    sample_rate: int
    word_ends_ms: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class SynthesiserCapabilities:
    streaming: bool = False
    word_timestamps: bool = False
    languages: tuple[str, ...] = ()
    sample_rate: int = 24_000


@runtime_checkable
class Synthesiser(Protocol):
    """Text to speech, one clause at a time."""

    @property
    def capabilities(self) -> SynthesiserCapabilities: ...

    def speak(self, text: str) -> AsyncGenerator[AudioChunk, None]: ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class DelegationJob:
    ticket: str
    note: str
    question: str
    user_text: str
    frames: Sequence[tuple[FrameRef, bytes]]


@dataclass(frozen=True, slots=True)
class DelegationProgress:
    text: str


@dataclass(frozen=True, slots=True)
class DelegationResult:
    text: str


@dataclass(frozen=True, slots=True)
class DelegateCapabilities:
    streaming: bool = False
    images: bool = True
    max_images: int | None = None
    cancellable: bool = True


@runtime_checkable
class Delegate(Protocol):
    """A background brain for hard questions."""

    @property
    def capabilities(self) -> DelegateCapabilities: ...

    def solve(
        self, job: DelegationJob
    ) -> AsyncGenerator[DelegationProgress | DelegationResult, None]:
        """Yield progress, then exactly one result; raise ``BridgeError`` otherwise."""
        ...

    async def aclose(self) -> None: ...
