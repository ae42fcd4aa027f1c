"""The bytes of a session's pictures, by content hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from onlooker.types import FrameRef, FrameUuid, Ms


class FrameStore:
    """Holds each distinct picture once; the core says when it may go (``ReleaseFrames``)."""

    def __init__(self) -> None:
        self._data: dict[FrameUuid, bytes] = {}

    def put(
        self, data: bytes, *, capture_ms: Ms, width: int, height: int, media_type: str
    ) -> FrameRef:
        """Store encoded bytes and return their reference. The id is sha256 of the bytes: a
        counter would let an engine answer from another picture (C29)."""
        uuid = FrameUuid(hashlib.sha256(data).hexdigest())
        self._data.setdefault(uuid, data)
        return FrameRef(uuid, capture_ms, width, height, len(data), media_type)

    def get(self, uuid: FrameUuid) -> bytes:
        """The bytes; ``KeyError`` when they were released."""
        return self._data[uuid]

    def release(self, uuids: Iterable[FrameUuid]) -> None:
        for uuid in uuids:
            self._data.pop(uuid, None)

    def clear(self) -> None:
        self._data.clear()

    def __len__(self) -> int:
        return len(self._data)

    @property
    def size_bytes(self) -> int:
        """Bytes held."""
        return sum(map(len, self._data.values()))
