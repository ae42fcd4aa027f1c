"""Inside a chunk, the body of a tick continues that of the tick before."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlooker.bridges.model.body import BodyBuilder
from onlooker.types import canonical_bytes
from tests.bridges.material import Album, chunk_of, request

pytestmark = pytest.mark.pure


@settings(max_examples=40)
@given(st.lists(st.integers(0, 5), min_size=2, max_size=8))
def test_messages_of_a_tick_are_a_byte_prefix_of_the_next(shown: list[int]) -> None:
    """Also on the wire: every picture's bytes are the same each time."""
    album = Album()
    pool = album.shots(6, width=32, height=32)
    frames = [pool[number] for number in shown]
    builder = BodyBuilder(bridge="model")
    before = b""
    for number in range(1, len(frames) + 1):
        messages = chunk_of(frames[:number])
        data = builder.build(request(messages), album.get, model="m").data
        assert data.startswith(before.removesuffix(b"]}"))
        assert json.loads(data)["messages"]
        assert canonical_bytes(messages).count(b"null") == number
        before = data
    assert len(album.asked) == len(set(shown))
