"""Chunks of a stream: text, usage, the end, and the ways in which it is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.bridges.base import Finished, TextDelta
from onlooker.bridges.model.chunks import CompletionReader, read_usage
from onlooker.errors import BridgeError
from onlooker.types import Usage

pytestmark = pytest.mark.pure


def event(data: Any) -> bytes:
    return b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n"


def chunk(text: str | None = None, finish: str | None = None, **more: Any) -> bytes:
    delta = {} if text is None else {"content": text}
    return event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})


DONE = event(b"[DONE]")


def reader(**options: Any) -> CompletionReader:
    return CompletionReader(bridge="model", where="http://here", **options)


def failure(*pieces: bytes, **options: Any) -> BridgeError:
    with pytest.raises(BridgeError) as caught:
        read(*pieces, **options)
    return caught.value


def read(*pieces: bytes, **options: Any) -> Finished:
    reading = reader(**options)
    for piece in pieces:
        reading.feed(piece)
    return reading.finish()


def test_a_whole_reply() -> None:
    reading = reader()
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": None}
    deltas = [
        delta
        for piece in (
            chunk("", None),
            chunk("one "),
            chunk("two"),
            chunk("", "stop"),
            event({"choices": [], "usage": usage}),
            DONE,
        )
        for delta in reading.feed(piece)
    ]
    assert deltas == [TextDelta("one "), TextDelta("two")]
    assert reading.is_done
    assert reading.finish() == Finished("stop", Usage(9, 2, None))


def test_c30_cached_tokens_come_out_as_the_server_counted_them() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 1,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    assert read_usage(usage) == Usage(100, 1, 0)


@pytest.mark.parametrize(
    "usage",
    [None, [], {}, {"prompt_tokens": None}, {"prompt_tokens": -1}, {"prompt_tokens": True}],
)
def test_odd_usage_is_none(usage: Any) -> None:
    assert read_usage(usage) is None


def test_a_server_without_done_or_usage_can_finish() -> None:
    reading = reader()
    reading.feed(chunk("hi", "length"))
    assert not reading.is_done
    assert reading.finish() == Finished("length", None)


@pytest.mark.parametrize("pieces", [(), (DONE,), (chunk("half"),), (chunk("half"), DONE)])
def test_a_stream_without_a_finish_reason_is_a_failure(pieces: tuple[bytes, ...]) -> None:
    error = failure(*pieces)
    assert error.code == "stream_cut"
    assert error.retryable


@pytest.mark.parametrize("reason", ["abort", "error"])
def test_a_server_that_gave_up_did_not_finish(reason: str) -> None:
    assert failure(chunk("half"), chunk("", reason), DONE).code == "stream_cut"


def test_an_error_object_in_a_stream_is_a_failure() -> None:
    body = {"message": "Internal server error", "type": "InternalServerError", "code": 500}
    assert failure(chunk(""), event({"error": body}), DONE).code == "server_error"


def test_an_error_may_be_a_bare_string() -> None:
    assert failure(event({"error": "EngineCore encountered an issue."})).code == "engine_dead"


def test_an_error_after_the_finish_reason_still_counts() -> None:
    assert failure(chunk("x", "stop"), event({"error": {"code": 500}})).code == "server_error"


@pytest.mark.parametrize("data", [b"no json", b"[1]", b"1", b'{"a":'])
def test_what_is_no_chunk_is_a_failure(data: bytes) -> None:
    assert failure(event(data)).code == "not_json"


def test_nothing_after_done_is_read() -> None:
    reading = reader()
    reading.feed(chunk("x", "stop") + DONE + event(b"garbage"))
    assert reading.finish().finish_reason == "stop"


def test_unknown_shapes_are_skipped() -> None:
    reading = reader()
    odd: tuple[dict[str, Any], ...] = (
        {"choices": None},
        {"choices": ["x"]},
        {"choices": [{"delta": None}]},
        {},
    )
    odd_text = {"choices": [{"delta": {"content": 3, "reasoning_content": "hm"}}]}
    assert not [d for data in (*odd, odd_text) for d in reading.feed(event(data))]


def test_a_stream_past_the_bound_is_refused() -> None:
    error = failure(chunk("x" * 100), chunk("y" * 100), max_bytes=250)
    assert error.code == "reply_too_large"
    assert not error.retryable


def test_an_endless_line_is_refused() -> None:
    assert failure(b"data: " + b"x" * (2 << 20)).code == "reply_too_large"


@given(st.text(), st.integers(0, 40))
def test_c35_no_text_of_an_error_comes_out_as_text(message: str, code: int) -> None:
    """Nor into the error's own message, which is shown to the client."""
    secret = "SECRET" + message
    error = failure(event({"error": {"message": secret, "type": secret, "code": code}}))
    assert "SECRET" not in error.message
    assert "\n" not in error.message
