"""Builds the message list of a tick so that it stays byte-stable inside a chunk (S1 to S4).

Theory of operation. The list is: system, then a user and an assistant message per tick; the chunk's
head is the first part of its first user message. Each message is serialised when it is first seen
and kept under its tick. A build walks memory's tail once: a tick that is the same object as before
costs one comparison, one that was committed or rewritten serialises its reply, a new one its user
message, and a new head the head alone. So a boundary keeps the bytes of the ticks carried over, and
an interruption touches its own assistant message only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from onlooker.decision.dialect import Dialect
from onlooker.decision.message import (
    CLOSE_LIST,
    UserMessage,
    assistant_message,
    system_message,
    text_part,
    user_message,
)
from onlooker.decision.words import tick_items
from onlooker.memory.entries import TailTick
from onlooker.types import ChunkIndex, Segment, Segments, TickIndex, canonical_bytes


class PromptMemory(Protocol):
    """What the builder reads of a memory."""

    @property
    def head(self) -> str:
        """Frozen text of the head; empty when there is none."""
        ...

    @property
    def tail(self) -> Sequence[TailTick]:
        """Committed ticks of the chunk, the open one last."""
        ...

    @property
    def chunk(self) -> ChunkIndex:
        """Number of the chunk; the head changes only with it."""
        ...


@dataclass(frozen=True, slots=True)
class BuiltPrompt:
    """The messages of one tick call."""

    messages: Segments
    """The JSON array."""
    frames: int
    """Pictures in it."""
    chars: int
    """Characters of all its texts, to estimate its tokens."""
    new_bytes: int
    """Canonical bytes serialised for this build; all others were kept."""
    reused_messages: int
    """Messages kept whole, the head apart."""

    def canonical(self) -> bytes:
        """The list with ``null`` for every picture."""
        return canonical_bytes(self.messages)


@dataclass(frozen=True, slots=True)
class _Kept:
    """Bytes of one tick, and what they were made from."""

    source: TailTick
    user: UserMessage
    reply: bytes = b""
    """The assistant message; empty while the tick is open."""


class PromptBuilder:
    """Builds the prompts of one session. Call :meth:`build` while a tick is open."""

    def __init__(self, dialect: Dialect, system: str) -> None:
        self._dialect = dialect
        self._kept: dict[TickIndex, _Kept] = {}
        self._head: str = ""
        self._head_part = b""
        self._new_bytes = 0
        self._reused = 0
        self.set_system(system)

    def set_system(self, system: str) -> None:
        """Changes the system prompt; memory must cross a boundary in the same step."""
        self._system_chars = len(system)
        self._system = system_message(system)
        self._system_is_new = True

    def build(self, memory: PromptMemory) -> BuiltPrompt:
        """The messages for what memory holds now."""
        self._new_bytes = self._reused = 0
        self._count(self._system, is_new=self._system_is_new)
        self._system_is_new = False
        kept = [self._bring_up(tick) for tick in memory.tail]
        if any(not one.reply for one in kept[:-1]):
            raise AssertionError("only the last tick of the tail may be open")
        if len(kept) != len(self._kept):
            self._kept = {one.source.tick: one for one in kept}
        segments: list[Segment] = [self._system]
        for one in kept:
            segments += one.user.segments
            if one.reply:
                segments.append(one.reply)
        segments.append(CLOSE_LIST)
        head = memory.head if kept else ""
        if head:
            segments.insert(2, self._head_bytes(head))
        return BuiltPrompt(
            messages=tuple(segments),
            frames=sum(len(one.source.frames) for one in kept),
            chars=self._system_chars
            + len(head)
            + sum(one.user.chars + len(one.source.reply) for one in kept),
            new_bytes=self._new_bytes,
            reused_messages=self._reused,
        )

    def _bring_up(self, tick: TailTick) -> _Kept:
        """The bytes of ``tick``, serialising only what is not there yet."""
        one = self._kept.get(tick.tick)
        if one is not None and one.source is tick:
            self._reused += 2 if one.reply else 1
            return one
        if one is None or not _asks_the_same(one.source, tick):
            one = _Kept(tick, user_message(tick_items(tick, self._dialect)))
            self._new_bytes += one.user.size_bytes
        else:
            self._reused += 1
        one = self._kept[tick.tick] = _Kept(tick, one.user, self._reply_of(tick, one))
        return one

    def _reply_of(self, tick: TailTick, before: _Kept) -> bytes:
        if not tick.reply:
            return b""
        is_new = not before.reply or before.source.reply != tick.reply
        reply = assistant_message(tick.reply) if is_new else before.reply
        self._count(reply, is_new=is_new)
        return reply

    def _head_bytes(self, head: str) -> bytes:
        """The head as a part; it is followed by the parts of the chunk's first tick."""
        if head != self._head:
            self._head = head
            self._head_part = text_part(head + "\n\n") + b","
            self._new_bytes += len(self._head_part)
        return self._head_part

    def _count(self, message: bytes, *, is_new: bool) -> None:
        if is_new:
            self._new_bytes += len(message)
        else:
            self._reused += 1


def _asks_the_same(before: TailTick, now: TailTick) -> bool:
    """Whether both have the same user message."""
    return (
        before.facts == now.facts
        and before.frames == now.frames
        and before.video is now.video
        and before.label_ms == now.label_ms
        and before.at_ms == now.at_ms
    )
