"""Canonical JSON of events, commands and notices, by example."""

from __future__ import annotations

import hashlib
import json
from typing import Any, get_args

import pytest

from onlooker.errors import RecordingError
from onlooker.orchestrator import codec
from onlooker.orchestrator.codec import decode_event, decode_notice, dumps, encode, parse_line
from onlooker.orchestrator.commands import CallModel, Command, Emit, ReleaseFrames, Summarise
from onlooker.orchestrator.events import Event, FrameArrived, PlaybackAck, QueryArrived
from onlooker.orchestrator.notices import Notice, SessionEnded
from onlooker.types import (
    CallId,
    FrameRef,
    FrameUuid,
    InstructionId,
    Lifetime,
    LifetimeKind,
    Ms,
    ResponseId,
    SamplingParams,
)

pytestmark = pytest.mark.pure

FRAME = FrameRef(FrameUuid("ab" * 32), Ms(1_200), 640, 480, 50_000)
USER = b'{"role":"user","content":[{"type":"image_url","image_url":'
MESSAGES = (
    b'[{"role":"system","content":"Say {\\"role\\": nothing."},' + USER,
    FRAME,
    b',"uuid":"ab"}]}]',
)


def test_every_member_of_the_unions_is_known_by_a_name_of_its_own() -> None:
    members = [*get_args(Event), *get_args(Command), *get_args(Notice)]
    named = [*codec.EVENTS.values(), *codec.COMMANDS.values(), *codec.NOTICES.values()]
    assert len(named) == len(members) == len({cls.__name__ for cls in members})


def test_a_value_is_its_type_then_its_fields_in_order() -> None:
    query = QueryArrived(
        InstructionId("i1"), "提醒我", Lifetime(LifetimeKind.TIME, Ms(9)), urgent=True
    )
    assert dumps(encode(query)) == (
        '{"type":"QueryArrived","instruction_id":"i1","text":"提醒我",'
        '"lifetime":{"kind":"time","until_ms":9},"urgent":true,"forced":false,"utterance_id":null}'
    )


def test_a_notice_inside_a_command_carries_its_name() -> None:
    assert dumps(encode(Emit(SessionEnded(Ms(5), "client")))) == (
        '{"type":"Emit","notice":{"type":"SessionEnded","at_ms":5,"reason":"client"}}'
    )


@pytest.mark.parametrize("kind", ["call", "summary"])
def test_a_prompt_is_recorded_as_digest_length_and_last_message(kind: str) -> None:
    sampling = SamplingParams()
    command: Command = (
        CallModel(CallId("c1"), MESSAGES, sampling, Ms(9_000))
        if kind == "call"
        else Summarise("s1", MESSAGES, sampling, Ms(9_000))
    )
    canonical = MESSAGES[0] + b"null" + MESSAGES[2]
    assert encode(command)["messages"] == {
        "sha256": hashlib.sha256(canonical).hexdigest(),
        "length": len(canonical),
        "last": (USER + b'null,"uuid":"ab"}]}').decode(),
    }


def test_a_prompt_of_a_long_session_stays_small_in_the_log() -> None:
    messages = (b"[", *(b'{"role":"user","content":"x"},' * 1_000 for _ in range(9)), b"]")
    command = CallModel(CallId("c1"), messages, SamplingParams(), Ms(1))
    assert len(dumps(encode(command))) < 600


def test_a_prompt_that_holds_no_message_has_no_last_one() -> None:
    command = CallModel(CallId("c1"), (b"[]",), SamplingParams(), Ms(1))
    assert encode(command)["messages"]["last"] == ""


def test_a_lone_surrogate_keeps_its_escape() -> None:
    text = dumps({"text": "a\ud800b"})
    assert text == '{"text":"a\\ud800b"}'
    assert json.loads(text) == {"text": "a\ud800b"}


def test_bytes_are_never_recorded() -> None:
    with pytest.raises(AssertionError, match="bytes cannot be recorded"):
        encode(ReleaseFrames(uuids=(b"picture",)))  # type: ignore[arg-type]


def test_a_field_that_an_older_recording_lacks_takes_its_default() -> None:
    data = {"type": "QueryArrived", "instruction_id": "i1", "text": "look"}
    assert decode_event(data, 1) == QueryArrived(InstructionId("i1"), "look")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (None, "no event known here"),
        ([], "no event known here"),
        ({}, "no event known here"),
        ({"type": 5}, "no event known here"),
        ({"type": "SessionEnded", "at_ms": 1, "reason": ""}, "no event known here"),
        ({"type": "PlaybackAck", "response_id": "r1"}, "its set of fields"),
        ({"type": "PlaybackAck", "response_id": "r1", "played_ms": 1, "x": 1}, "its set of fields"),
        ({"type": "PlaybackAck", "response_id": "r1", "played_ms": True}, "its field played_ms"),
        ({"type": "PlaybackAck", "response_id": "r1", "played_ms": 1.0}, "its field played_ms"),
        ({"type": "PlaybackAck", "response_id": None, "played_ms": 1}, "its field response_id"),
        ({"type": "FrameArrived", "frame": "x"}, "its field frame"),
        ({"type": "FrameArrived", "frame": {"type": "FrameRef"}}, "its field frame"),
    ],
)
def test_what_is_no_event_is_refused_with_line_and_reason(data: Any, reason: str) -> None:
    with pytest.raises(RecordingError, match=rf"Line 12 .*{reason}"):
        decode_event(data, 12)


@pytest.mark.parametrize("field", ["word_ends_ms", "lifetime"])
def test_lists_and_enums_are_checked_as_well(field: str) -> None:
    spoken = {"type": "ClauseSpoken", "response_id": "r", "epoch": 1, "clause": 0}
    query = {"type": "QueryArrived", "instruction_id": "i", "text": ""}
    data = (
        {**spoken, "duration_ms": 1, field: "soon"}
        if field == "word_ends_ms"
        else {**query, field: {"kind": "forever"}}
    )
    with pytest.raises(RecordingError, match=f"Line 3 .*field {field}"):
        decode_event(data, 3)


def test_an_event_is_no_notice() -> None:
    with pytest.raises(RecordingError, match=r"Line 4 .*no notice"):
        decode_notice(encode(PlaybackAck(ResponseId("r1"), 5)), 4)
    assert decode_event(encode(FrameArrived(FRAME)), 4) == FrameArrived(FRAME)


@pytest.mark.parametrize("text", ["", "{", "nonsense", "\x00", "[" * 100_000])
def test_a_line_that_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(RecordingError, match=r"Line 8 .*is not JSON"):
        parse_line(text, 8)


@pytest.mark.parametrize("text", ["1", "[]", '"x"', "null"])
def test_a_line_that_is_not_an_object_is_refused(text: str) -> None:
    with pytest.raises(RecordingError, match=r"Line 8 .*is not a JSON object"):
        parse_line(text, 8)


def test_a_field_of_two_types_could_not_be_read_back_and_is_a_bug() -> None:
    with pytest.raises(AssertionError, match="name the type"):
        codec._value_decoder(int | str)
