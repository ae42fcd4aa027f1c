"""The picture cache: what a server remembers of pictures, by uuid or by content.

It trusts the uuid blindly, as the measured server does: under a uuid it knows, it answers from the
old picture whatever data comes along. It also drifts as that server does. Its front and its engine
each keep a list; a request that dies between the two leaves its new pictures in the front's only,
and the next request that uses them fails once.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from onlooker.bridges.testing.fakevllm.config import FakeConfig
from onlooker.bridges.testing.fakevllm.messages import FakePicture
from onlooker.bridges.testing.fakevllm.refused import Refused, internal_error
from onlooker.bridges.testing.fakevllm.tokens import picture_token_count
from onlooker.bridges.video.header import read_header
from onlooker.errors import SourceError

_BYTES_PER_PIXEL: Final = 6
"""About 1.2 MB for 448 x 448, as measured."""
_MAX_ASPECT: Final = 200


@dataclass(frozen=True, slots=True)
class HeldPicture:
    """A picture as the server knows it."""

    key: str
    width: int
    height: int
    digest: str
    """sha256 of the bytes it was first sent with."""

    @property
    def tokens(self) -> int:
        return picture_token_count(self.width, self.height)

    @property
    def size_bytes(self) -> int:
        return self.width * self.height * _BYTES_PER_PIXEL


class PictureCache:
    """Bounded by bytes; the least recently used picture goes first."""

    def __init__(self, config: FakeConfig) -> None:
        self._capacity = config.picture_cache_bytes
        self._domains = config.allowed_media_domains
        self._held: OrderedDict[str, HeldPicture] = OrderedDict()
        self._size = 0
        self._drifted: set[str] = set()
        self.queries = 0
        self.hits = 0

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, key: str) -> bool:
        return key in self._held

    def admit(
        self, pictures: Sequence[FakePicture], urls: Sequence[str | None]
    ) -> list[HeldPicture]:
        """Look at the pictures of one request, in order; raises :class:`Refused`."""
        known = set(self._held)
        found = [self._look(picture, url) for picture, url in zip(pictures, urls, strict=True)]
        keys = {one.key for one in found}
        self.queries += len(found)
        self.hits += sum(one.key in known for one in found)
        if drifted := keys & self._drifted:
            self._forget(drifted)
            raise internal_error()
        self._check_room({one.key: one for one in found})
        return found

    def on_died_early(self, found: Sequence[HeldPicture], known: set[str]) -> None:
        """The request died before the engine: what was new is now in the front's list only."""
        if self._capacity:
            self._drifted |= {one.key for one in found} - known

    def keys(self) -> set[str]:
        return set(self._held)

    def evict(self, key: str | None = None) -> None:
        """Forget one picture, or all."""
        self._forget({key} if key is not None else set(self._held))

    def inject_drift(self) -> None:
        """Every held picture fails once."""
        self._drifted |= set(self._held)

    def peek(
        self, pictures: Sequence[FakePicture], urls: Sequence[str | None]
    ) -> list[HeldPicture]:
        """As :meth:`admit`, without remembering anything."""
        return [
            self._held.get(p.uuid or "") or self._read(p, u)
            for p, u in zip(pictures, urls, strict=True)
        ]

    def _look(self, picture: FakePicture, url: str | None) -> HeldPicture:
        key = picture.uuid or hashlib.sha256((url or "").encode()).hexdigest()
        if (held := self._held.get(key)) is not None:
            self._held.move_to_end(key)
            return held
        held = self._read(picture, url)
        if self._capacity:
            self._held[key] = held
            self._size += held.size_bytes
        return held

    def _read(self, picture: FakePicture, url: str | None) -> HeldPicture:
        if url is None:
            raise self._missing(picture)
        data = self._data(url)
        try:
            header = read_header(data)
        except SourceError as error:
            raise _unreadable(error) from error
        if not header.is_complete:
            raise Refused(
                400, "Failed to load image: image file is truncated (33 bytes not processed)"
            )
        width, height = header.width, header.height
        if max(width, height) > _MAX_ASPECT * min(width, height):
            raise Refused(400, "Failed to apply Qwen3VLProcessor on data={'text': ''}")
        key = picture.uuid or hashlib.sha256(url.encode()).hexdigest()
        return HeldPicture(key, width, height, hashlib.sha256(data).hexdigest())

    def _missing(self, picture: FakePicture) -> Refused:
        if not self._capacity:
            return Refused(
                400,
                "Failed to apply Qwen3VLProcessor on data={'text': '', 'images': [None]} with "
                "kwargs={}",
            )
        return Refused(
            400, f"Cache miss for image at index {picture.index} but data is not provided."
        )

    def _data(self, url: str) -> bytes:
        if not url.startswith("data:"):
            raise self._not_data(url)
        _, _, encoded = url.partition(",")
        try:
            return base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError) as error:
            raise Refused(400, "Non-base64 digit found") from error

    def _not_data(self, url: str) -> Refused:
        scheme = url.partition(":")[0]
        if scheme == "file":
            return internal_error(
                "Cannot load local files without `--allowed-local-media-path`.", in_stream=False
            )
        if scheme not in ("http", "https"):
            return Refused(400, "The URL must be either a HTTP, data or file URL.")
        if self._domains is not None:
            host = url.split("/")[2].rpartition("@")[2].partition(":")[0]
            if host not in self._domains:
                return Refused(
                    400,
                    "The URL must be from one of the allowed domains: "
                    f"{list(self._domains)}. Input URL domain: {host}",
                )
        # A real server would fetch it, on loopback too; this one is never a way out of a test.
        return internal_error(in_stream=False)

    def _check_room(self, needed: dict[str, HeldPicture]) -> None:
        if self._capacity and sum(one.size_bytes for one in needed.values()) > self._capacity:
            first = next(iter(needed))
            raise internal_error(f"Expected a cached item for mm_hash='{first}'", in_stream=False)
        while self._size > self._capacity:
            self._forget({next(iter(self._held))})

    def _forget(self, keys: set[str]) -> None:
        for key in keys:
            self._drifted.discard(key)
            if (held := self._held.pop(key, None)) is not None:
                self._size -= held.size_bytes


def _unreadable(error: SourceError) -> Refused:
    if error.code == "truncated_picture":
        return Refused(
            400, "Failed to load image: image file is truncated (33 bytes not processed)"
        )
    return Refused(
        400,
        "Failed to load image: cannot identify image file <_io.BytesIO object at 0x7f0000000000>",
    )
