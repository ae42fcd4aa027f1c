"""Server-sent events, from every kind of line end and split."""

from __future__ import annotations

import pytest

from onlooker.bridges.model.sse import LineTooLong, ServerSentEvent, SseReader

pytestmark = pytest.mark.pure


def read(data: bytes) -> list[ServerSentEvent]:
    return SseReader().feed(data)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_an_event_ends_at_a_blank_line_of_any_kind(end: bytes) -> None:
    assert read(b"data: one" + end * 2 + b"data:two" + end * 2) == [
        ServerSentEvent("one"),
        ServerSentEvent("two"),
    ]


def test_data_lines_join_and_other_fields_are_skipped() -> None:
    data = b": ping\nid: 7\nretry: 10\nevent: error\ndata: a\ndata:  b\nunknown\n\n"
    assert read(data) == [ServerSentEvent("a\n b", "error")]


def test_an_event_without_data_is_none_and_leaves_nothing_behind() -> None:
    assert read(b"event: ping\n\n\n\ndata: x\n\n") == [ServerSentEvent("x")]


def test_a_byte_order_mark_is_skipped_once() -> None:
    assert read(b"\xef\xbb\xbfdata: x\n\n") == [ServerSentEvent("x")]


def test_what_was_cut_off_is_no_event() -> None:
    reader = SseReader()
    assert reader.feed(b"data: whole\n\ndata: cut\n") == [ServerSentEvent("whole")]


def test_broken_utf8_is_replaced() -> None:
    assert read(b"data: \xff\n\n") == [ServerSentEvent("\ufffd")]


def test_a_character_may_be_split_between_two_pieces() -> None:
    reader = SseReader()
    data = "data: é\n\n".encode()
    assert reader.feed(data[:7]) == []
    assert reader.feed(data[7:]) == [ServerSentEvent("é")]


@pytest.mark.parametrize(
    "data", [b"data: " + b"x" * 100, b"data: " + b"x" * 100 + b"\n", b"data: 12345678\n" * 9]
)
def test_a_line_or_event_past_the_bound_is_refused(data: bytes) -> None:
    with pytest.raises(LineTooLong):
        SseReader(max_line_bytes=64).feed(data)


def test_many_small_events_are_no_long_one() -> None:
    reader = SseReader(max_line_bytes=64)
    assert len(reader.feed(b"data: 12345678\n\n" * 100)) == 100
