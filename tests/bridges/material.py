"""Pictures, prompts and requests for tests of model bridges."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable
from contextlib import aclosing
from typing import Any

from onlooker.bridges.base import Finished, ModelBackend, ModelItem, ModelRequest, TextDelta
from onlooker.decision.message import (
    CLOSE_LIST,
    assistant_message,
    system_message,
    user_message,
)
from onlooker.errors import BridgeError
from onlooker.types import FrameRef, FrameUuid, Ms, SamplingParams, Segments

SYSTEM = "Watch. Say </silence> or </response> and words."
GENERIC_SYSTEM = "Watch. Say [SILENCE] or [RESPOND] and words."
LIMIT_S = 5.0


def png(seed: int = 0, width: int = 448, height: int = 448) -> bytes:
    """A valid grey PNG; another seed, another picture."""
    rows = (b"\x00" + bytes([seed % 256]) * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + check


class Album:
    """Stored pictures, as a session's frame store would give them."""

    def __init__(self) -> None:
        self.data: dict[FrameUuid, bytes] = {}
        self.asked: list[FrameUuid] = []

    def add(self, data: bytes) -> FrameRef:
        uuid = FrameUuid(hashlib.sha256(data).hexdigest())
        self.data[uuid] = data
        return FrameRef(uuid, Ms(len(self.data) * 1000), 448, 448, len(data), "image/png")

    def shots(self, count: int, **size: int) -> list[FrameRef]:
        first = len(self.data)
        return [self.add(png(first + number, **size)) for number in range(count)]

    def get(self, uuid: FrameUuid) -> bytes:
        self.asked.append(uuid)
        return self.data[uuid]


def prompt(*ticks: Iterable[str | FrameRef] | str, system: str = SYSTEM) -> Segments:
    """A message list: a string is a reply of the model, anything else a user message."""
    segments: list[bytes | FrameRef] = [system_message(system)]
    for tick in ticks:
        if isinstance(tick, str):
            segments.append(assistant_message(tick))
        else:
            segments += user_message(tick).segments
    return (*segments, CLOSE_LIST)


def chunk_of(frames: Iterable[FrameRef], *, system: str = SYSTEM) -> Segments:
    """A chunk in which the model was silent, its last tick open."""
    ticks: list[Any] = []
    for number, frame in enumerate(frames):
        ticks += [(f"<{number}.0 seconds>", frame), "</silence>"]
    return prompt(*ticks[:-1], system=system)


def request(
    messages: Segments | None = None,
    *,
    call_id: str = "c1",
    timeout_s: float = LIMIT_S,
    fresh_connection: bool = False,
    **sampling: Any,
) -> ModelRequest:
    return ModelRequest(
        call_id,
        messages if messages is not None else prompt(("What now?",)),
        SamplingParams(**sampling),
        timeout_s,
        fresh_connection,
    )


async def collect(
    backend: ModelBackend, asked: ModelRequest, album: Album | None = None
) -> list[ModelItem]:
    """Every item of one call."""
    frames = (album if album is not None else Album()).get
    async with aclosing(backend.stream(asked, frames)) as items:
        return [item async for item in items]


def text_of(items: Iterable[ModelItem]) -> str:
    return "".join(item.text for item in items if isinstance(item, TextDelta))


def end_of(items: list[ModelItem]) -> Finished:
    assert isinstance(items[-1], Finished)
    assert not any(isinstance(item, Finished) for item in items[:-1])
    return items[-1]


async def broken(
    backend: ModelBackend, asked: ModelRequest, album: Album | None = None
) -> tuple[list[ModelItem], BridgeError]:
    """What came of a call that fails, and how it failed."""
    items: list[ModelItem] = []
    frames = (album if album is not None else Album()).get
    try:
        async with aclosing(backend.stream(asked, frames)) as stream:
            async for item in stream:
                items += [item]
    except BridgeError as error:
        return items, error
    raise AssertionError("the call did not fail")
