from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.decision.message import (
    CLOSE_LIST,
    OPEN_USER,
    assistant_message,
    canonical_size,
    quoted,
    system_message,
    text_part,
    user_message,
)
from onlooker.types import FrameRef, canonical_bytes
from tests.decision.scenes import frame

pytestmark = pytest.mark.pure

items = st.lists(st.one_of(st.text(max_size=9), st.integers(0, 9).map(frame)), max_size=6)


@given(st.text(), items, st.text())
def test_a_list_is_what_json_would_write(system, content, reply):
    user = user_message(content)
    segments = (system_message(system), *user.segments, assistant_message(reply), CLOSE_LIST)
    parts = [
        {"type": "image_url", "image_url": None, "uuid": item.uuid}
        if isinstance(item, FrameRef)
        else {"type": "text", "text": item}
        for item in content
    ]
    wanted = [
        {"role": "system", "content": system},
        {"role": "user", "content": parts},
        {"role": "assistant", "content": reply},
    ]
    text = json.dumps(wanted, ensure_ascii=False, separators=(",", ":"))
    assert canonical_bytes(segments) == text.encode("utf-8", "replace")
    assert canonical_size(segments) == len(canonical_bytes(segments))
    assert user.size_bytes == canonical_size(user.segments)
    assert user.chars == sum(len(item) for item in content if isinstance(item, str))


def test_pictures_stay_references():
    one, two = frame(1), frame(2)
    user = user_message(["a", one, two])
    assert [item for item in user.segments if isinstance(item, FrameRef)] == [one, two]
    assert user.segments[0] == OPEN_USER


def test_text_is_written_as_it_is_and_lone_surrogates_never_raise():
    assert quoted('ä"\n') == 'ä\\"\\n'.join('""').encode()
    assert quoted("a\ud800") == b'"a?"'
    assert text_part("x") == b'{"type":"text","text":"x"}'
