"""Dialect words for memory tests: one dialect with words for everything, one without."""

from __future__ import annotations

from dataclasses import replace

from onlooker.memory import Boundary, Memory, MemorySettings, resolve
from onlooker.types import (
    DialectText,
    FrameRef,
    FrameUuid,
    InstructionId,
    Lifetime,
    Ms,
    ResponseId,
    ServerLimits,
    TickIndex,
    VideoState,
)

WORDY = DialectText(
    name="wordy",
    query_header="[Query]",
    video_history_header="[Video]",
    qa_history_header="[Answers]",
    standing_header="[Standing]",
    time_label="<{seconds} s>",
    range_label="<{start}-{end}>",
    qa_query="#{n} asked@{seconds} {text}",
    qa_response="said@{seconds} {text}",
    qa_unknown_time="N/A",
    standing_line="* {text}",
    cancelled_line="cancelled: {text}",
    delegated_line="answer to {question} ({delivery}): {text}",
    delegated_failed_line="no answer to {question}: {text}",
    heard_line="also heard: {text}",
    expired_line="over: {text}",
    cut_off_line="again: {text}",
    interrupted_mark=" [cut]",
    no_video="no video",
    camera_off="camera off",
    unchanged="unchanged",
    gap="<{start}-{end}> nobody looked",
    fallback_summary="no summary of {frames} pictures",
    empty_summary="nothing to see",
    silence="</silence>",
    respond="</response> {text}",
    delegate="</response> {note} </delegation> {question}",
    has_text_only_ticks=True,
    max_instructions=3,
    cancel_is_boundary=False,
)
WORDLESS = replace(
    WORDY, name="wordless", cancelled_line="", expired_line="", max_instructions=1,
    cancel_is_boundary=True, has_text_only_ticks=False,
)  # fmt: skip
ROOMY = ServerLimits(max_model_len=200_000, max_images=1_000)
SMALL = MemorySettings(
    chunk_frames=10, lead=2, hard_cap_frames=13, ring_frames=4, chunk_ticks=40,
    qa_entries=5_000, qa_tokens=30_000,
)  # fmt: skip
"""Chunks of ten pictures; the Q&A history forgets nothing."""


def make(
    settings: MemorySettings = SMALL,
    text: DialectText = WORDY,
    limits: ServerLimits = ROOMY,
    kind: type[Memory] = Memory,
) -> Memory:
    """A memory with small chunks."""
    config = resolve(settings, limits, text, default_frames=30, max_reply_tokens=256)
    return kind(config, text)


def frame(n: int, at_ms: int | None = None) -> FrameRef:
    """The n-th picture."""
    return FrameRef(FrameUuid(f"f{n}"), Ms(1000 * n if at_ms is None else at_ms), 640, 360, 9_000)


def say(words: str) -> str:
    """Canonical form of a response."""
    return WORDY.respond.format(text=words)


class Talk:
    """Drives a memory tick by tick, one picture a tick and one second apart."""

    def __init__(self, memory: Memory | None = None, *, ask: str | None = "watch") -> None:
        self.memory = memory or make()
        self.n = 0
        if ask is not None:
            self.ask("i0", ask)

    @property
    def now(self) -> Ms:
        return Ms(self.n * 1000)

    def ask(self, name: str, text: str, lifetime: Lifetime = Lifetime()):  # noqa: B008 (frozen)
        return self.memory.arm(InstructionId(name), text, lifetime, self.now)

    def begin(self, frames: int = 1, video: VideoState = VideoState.FRESH):
        self.n += 1
        pictures = [frame(1000 * self.n + part, self.now) for part in range(frames)]
        return self.memory.begin_tick(TickIndex(self.n), self.now, pictures, video)

    def tick(self, reply: str | None = None, frames: int = 1, rid: str | None = None, **more):
        """One whole tick; returns its boundary."""
        _, boundary = self.begin(frames)
        self.memory.commit_tick(
            reply or WORDY.silence, None if rid is None else ResponseId(rid), **more
        )
        return boundary

    def ticks(self, count: int, **more) -> list[Boundary]:
        """Several ticks; returns the boundaries crossed."""
        return [b for _ in range(count) if (b := self.tick(**more)) is not None]

    def summarise(self, text: str = "summary") -> list[str]:
        """Answers every request that is due; returns the statuses."""
        return [
            self.memory.on_summary(request.job_id, f"{text} {request.job_id}", self.now)
            for request in self.memory.summary_requests(self.now)
        ]
