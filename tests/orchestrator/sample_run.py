"""A made-up run with everything in it, for the tests of the report and the live view."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import cv2
import numpy as np

from onlooker.orchestrator import notices as n
from onlooker.orchestrator.report import CallTiming, RunFacts, Timeline, shrink
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

FACTS = RunFacts(
    source="street.mp4",
    model="embedded eye",
    stand_in=True,
    dialect="generic",
    persona="default",
    speed="max",
    started="2026-01-02 03:04:05",
    version="0.1.0",
    settings=(("memory.chunk_frames", "12"),),
)


def picture(shade: int, width: int = 320, height: int = 136) -> bytes:
    """A JPEG that differs for each ``shade``."""
    image = np.full((height, width, 3), (shade * 7) % 256, np.uint8)
    image[:, : 1 + (shade * 5) % width] = (40, 200 - shade % 100, 90)
    done, data = cv2.imencode(".jpg", image)
    assert done
    return data.tobytes()


def uuid_of(data: bytes) -> FrameUuid:
    return FrameUuid(hashlib.sha256(data).hexdigest())


def decision(
    at_ms: int,
    action: str = "silence",
    source: n.DecisionSource = n.DecisionSource.MODEL,
    *,
    text: str = "",
    question: str = "",
    frames: tuple[FrameUuid, ...] = (),
    chunk: int = 0,
    usage: Usage | None = None,
) -> n.DecisionMade:
    return n.DecisionMade(
        tick=TickIndex(at_ms // 1000),
        at_ms=Ms(at_ms),
        action=action,
        source=source,
        text=text,
        question=question,
        trigger="cadence",
        chunk=ChunkIndex(chunk),
        video=VideoState.FRESH if frames else VideoState.NO_VIDEO,
        frames=frames,
        label_ms=Ms(at_ms) if frames else None,
        usage=usage,
    )


def gauge(at_ms: int, frames: int, chunk: int = 0) -> n.MemoryGauged:
    return n.MemoryGauged(
        at_ms=Ms(at_ms),
        chunk=ChunkIndex(chunk),
        chunk_ticks=frames // 4,
        chunk_frames=frames,
        max_frames=16,
        mids=chunk,
        blocks=0,
        qa_entries=2,
        prompt_tokens=900 + 280 * frames,
        budget_tokens=32_768,
        cached_tokens=800,
        gated=False,
    )


def responses(at_ms: int, text: str, status: str = "completed") -> Iterator[n.Notice]:
    response, epoch = ResponseId(f"r{at_ms}"), Epoch(1 + at_ms)
    yield n.ResponseStarted(response, epoch, Ms(at_ms), "cadence")
    yield n.ResponseDelta(response, epoch, text)
    heard = text if status == "completed" else text[:12]
    yield n.ResponseEnded(response, epoch, Ms(at_ms + 700), status, text, heard)


def notices(query: str, said: str, seen: dict[int, FrameUuid]) -> Iterator[n.Notice]:
    """The notices of a run of thirty seconds; ``seen`` gives the newest frame of each second."""
    yield decision(0, source=n.DecisionSource.GATE, frames=(seen[0],))
    yield n.InstructionChanged(InstructionId("q1"), Ms(500), "armed", query)
    yield n.InstructionChanged(InstructionId("q2"), Ms(9_000), "armed", "when it gets dark")
    for second in range(1, 30):
        at_ms, chunk = second * 1000, (second - 1) // 8
        usage = Usage(
            900 + 300 * (second % 8), 8, 0 if second % 8 == 1 else 800 + 280 * (second % 8)
        )
        if second > 1 and second % 8 == 1:
            yield n.SummaryChanged(
                f"s{chunk}", Ms(at_ms - 900), "chunk", "staged",
                Ms(at_ms - 8_000), Ms(at_ms - 1_000),
                f"A street; people walk by (part {chunk}).",
            )  # fmt: skip
            yield n.BoundaryCrossed(
                ChunkIndex(chunk), Ms(at_ms), BoundaryReason.FULL, 1, 4, 700, fallback=second == 17
            )
        if second == 5:
            yield from responses(at_ms, said)
            yield decision(
                at_ms, "respond", text=said, frames=(seen[second],), chunk=chunk, usage=usage
            )
        elif second == 12:
            yield decision(
                at_ms, "delegate", text="Let me look that up.", question="Which make is the car?",
                frames=(seen[second],), chunk=chunk, usage=usage,
            )  # fmt: skip
            ticket = Ticket("d1")
            yield n.DelegationChanged(ticket, Ms(at_ms), "requested", "Which make is the car?", "")
            yield n.DelegationChanged(ticket, Ms(at_ms + 4_000), "done", "", "It is a 1962 model.")
        elif second == 20:
            yield decision(at_ms, source=n.DecisionSource.FAILED, chunk=chunk)
            yield n.Trouble(Ms(at_ms), "bridge_unavailable", "the model server is gone", True)
        elif second == 25:
            yield from responses(at_ms, "It is getting dark now, I think.", "cancelled")
            yield n.BargeInChanged(Ms(at_ms + 500), "confirmed", ResponseId(f"r{at_ms}"), Epoch(2))
            yield decision(
                at_ms, "respond", text="It is getting dark now, I think.", frames=(seen[second],),
                chunk=chunk, usage=usage,
            )  # fmt: skip
        else:
            yield decision(at_ms, frames=(seen[second],), chunk=chunk, usage=usage)
        yield gauge(at_ms, 4 * (second % 8), chunk)
    yield n.InstructionChanged(InstructionId("q2"), Ms(26_000), "answered", "when it gets dark")
    yield n.StaleDropped("model", "call-7", Ms(27_000))
    yield n.SessionEnded(Ms(30_000), "source_ended")


def sample_timeline(
    query: str = "tell me when a bicycle appears", said: str = "A bicycle has appeared."
) -> Timeline:
    timeline = Timeline()
    seen: dict[int, FrameUuid] = {}
    for quarter in range(120):
        data = picture(quarter)
        uuid = uuid_of(data)
        seen[quarter // 4] = uuid
        timeline.see(uuid, Ms(250 * quarter), shrink(data, uuid, Ms(250 * quarter), 192))
    for notice in notices(query, said, seen):
        timeline.add(notice)
    for second in range(1, 30):
        first = None if second == 20 else 40 + second
        timeline.add_call(
            CallTiming(Ms(1000 * second), "tick", first, 90 + 7 * second, second != 20)
        )
    return timeline
