"""The bytes of a session's pictures, by example."""

from __future__ import annotations

import hashlib

import pytest

from onlooker.orchestrator.frames import FrameStore
from onlooker.types import FrameUuid, Ms

pytestmark = pytest.mark.pure


def put(store: FrameStore, data: bytes, at_ms: int = 0) -> FrameUuid:
    ref = store.put(data, capture_ms=Ms(at_ms), width=4, height=3, media_type="image/png")
    assert (ref.capture_ms, ref.width, ref.height, ref.size_bytes) == (at_ms, 4, 3, len(data))
    assert ref.media_type == "image/png"
    return ref.uuid


def test_c29_the_id_of_a_picture_is_the_hash_of_its_exact_bytes() -> None:
    one, other = FrameStore(), FrameStore()
    first, second = put(one, b"picture A"), put(other, b"picture B")
    assert first == hashlib.sha256(b"picture A").hexdigest()
    assert first != second, "the first frame of two sessions must not share an id"
    assert put(other, b"picture A", 77) == first


def test_the_same_picture_is_held_once_until_it_is_released() -> None:
    store = FrameStore()
    uuid = put(store, b"abc")
    put(store, b"abc", 40)
    put(store, b"defg")
    assert (len(store), store.size_bytes) == (2, 7)
    assert store.get(uuid) == b"abc"
    store.release([uuid, FrameUuid("unknown")])
    with pytest.raises(KeyError):
        store.get(uuid)
    store.clear()
    assert (len(store), store.size_bytes) == (0, 0)
