"""Ticks and memories to build prompts from, without ``memory``'s own rules."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from onlooker.decision import Dialect
from onlooker.decision.words import tick_items
from onlooker.memory.entries import (
    CancelFact,
    DelegatedFact,
    ExpiredFact,
    Fact,
    GapFact,
    HeardFact,
    QueryFact,
    TailTick,
)
from onlooker.types import (
    ChunkIndex,
    FrameRef,
    FrameUuid,
    InstructionId,
    Ms,
    ResponseId,
    Ticket,
    TickIndex,
    VideoState,
)


def frame(number: int, at_ms: int = 0) -> FrameRef:
    return FrameRef(FrameUuid(f"{number:064x}"), Ms(at_ms), 640, 360, 40_000)


def query(text: str = "Tell me when a cat comes.", at_ms: int = 0, **more) -> QueryFact:
    return QueryFact(InstructionId("q1"), text, Ms(at_ms), **more)


def tick(number: int, *facts: Fact, frames: int = 1, reply: str = "", **more) -> TailTick:
    at_ms = 1_000 * number
    video = more.pop("video", VideoState.FRESH if frames else VideoState.NO_VIDEO)
    shown = tuple(frame(4 * number + place, at_ms) for place in range(frames))
    label = Ms(at_ms) if frames else None
    return TailTick(TickIndex(number), Ms(at_ms), label, video, shown, facts, reply, **more)


@dataclass
class Scene:
    """A memory as the builder sees it."""

    head: str = ""
    tail: list[TailTick] = field(default_factory=list)
    chunk: ChunkIndex = field(default=ChunkIndex(0))

    def open(self, one: TailTick) -> None:
        self.tail.append(one)

    def commit(self, reply: str) -> None:
        self.tail[-1] = replace(self.tail[-1], reply=reply)

    def rewrite(self, place: int, reply: str) -> None:
        before = self.tail[place]
        self.tail[place] = replace(before, reply=reply, revision=before.revision + 1)

    def cross(self, head: str, keep: int) -> None:
        self.head = head
        self.tail = self.tail[len(self.tail) - keep :]
        self.chunk = ChunkIndex(self.chunk + 1)


def from_scratch(scene: Scene, dialect: Dialect, system: str) -> bytes:
    """What the builder must come to, serialised whole by the standard library."""
    messages: list[dict[str, object]] = [{"role": "system", "content": system}]
    for place, one in enumerate(scene.tail):
        content: list[dict[str, object]] = []
        if scene.head and place == 0:
            content.append({"type": "text", "text": f"{scene.head}\n\n"})
        for item in tick_items(one, dialect):
            if isinstance(item, FrameRef):
                content.append({"type": "image_url", "image_url": None, "uuid": item.uuid})
            else:
                content.append({"type": "text", "text": item})
        messages.append({"role": "user", "content": content})
        if one.reply:
            messages.append({"role": "assistant", "content": one.reply})
    return json.dumps(messages, ensure_ascii=False, separators=(",", ":")).encode()


texts = st.text('aä{}"\n€猫', min_size=1, max_size=12)


_one, _now = st.just(InstructionId("q1")), st.integers(0, 99_999).map(Ms)
facts: st.SearchStrategy[Fact] = st.one_of(
    st.builds(QueryFact, _one, texts, _now, cut_off=st.booleans()),
    st.builds(CancelFact, _one, texts, _now),
    st.builds(ExpiredFact, _one, texts, _now),
    st.builds(
        DelegatedFact, st.just(Ticket("d1")), texts, texts, _now, texts, failed=st.booleans()
    ),
    st.builds(HeardFact, st.just(ResponseId("r1")), texts, _now, interrupted=st.booleans()),
    st.builds(GapFact, _now, _now),
)
