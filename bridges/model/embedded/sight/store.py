"""What is known of pictures, by content: each is decoded and analysed once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from onlooker.bridges.model.embedded.sight.objects import Found
from onlooker.bridges.model.embedded.sight.picture import Glance

MAX_PICTURES: Final = 1_024
MAX_BYTES: Final = 64 << 20


@dataclass(slots=True)
class Known:
    """One picture. ``None`` in a field: nobody has looked for that yet."""

    glance: Glance
    data: bytes | None
    """The encoded bytes, kept while there is room, for a closer look later."""
    objects: tuple[Found, ...] | None = None
    texts: tuple[str, ...] | None = None
    codes: tuple[str, ...] | None = None


class PictureStore:
    """Bounded by pictures and by bytes, the least recently used leave first. Thread-safe."""

    def __init__(self, max_pictures: int = MAX_PICTURES, max_bytes: int = MAX_BYTES) -> None:
        self._max_pictures = max_pictures
        self._max_bytes = max_bytes
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._known)

    @property
    def held_bytes(self) -> int:
        return self._bytes

    def get(self, key: str) -> Known | None:
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
            return known

    def put(self, key: str, known: Known) -> None:
        with self._lock:
            if (old := self._known.pop(key, None)) is not None:
                self._bytes -= len(old.data or b"")
            self._known[key] = known
            self._bytes += len(known.data or b"")
            while len(self._known) > self._max_pictures:
                _, oldest = self._known.popitem(last=False)
                self._bytes -= len(oldest.data or b"")
            self._release_bytes()

    def _release_bytes(self) -> None:
        """Forgets the bytes of the oldest pictures; what was seen in them stays known."""
        for known in self._known.values():
            if self._bytes <= self._max_bytes:
                return
            self._bytes -= len(known.data or b"")
            known.data = None
