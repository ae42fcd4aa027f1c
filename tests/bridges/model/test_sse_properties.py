"""Any split of a stream gives the same events."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.bridges.model.sse import SseReader

pytestmark = pytest.mark.pure

FIELDS = [b"data: a", b"data:b", b": c", b"event: e", b"data", "é".encode()]
PIECES = st.sampled_from([*FIELDS, b"\n", b"\r\n", b"\r", b"\n\n"])


@given(st.lists(PIECES, max_size=30).map(b"".join), st.lists(st.integers(0, 200), max_size=8))
def test_any_split_gives_the_same_events(data: bytes, cuts: list[int]) -> None:
    whole = SseReader().feed(data)
    reader = SseReader()
    bounds = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    split = [event for start, end in pairwise(bounds) for event in reader.feed(data[start:end])]
    assert split == whole


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    SseReader().feed(data)
