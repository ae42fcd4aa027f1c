"""The wire body: fields, pictures by value and by reference, and what is kept between bodies."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from onlooker.bridges.model.body import BodyBuilder, sampling_fields
from onlooker.errors import BridgeError
from onlooker.types import FrameRef, FrameUuid, Ms, SamplingParams, canonical_bytes
from tests.bridges.material import Album, chunk_of, png, prompt, request

pytestmark = pytest.mark.pure


def built(builder: BodyBuilder, asked: Any, album: Album, **options: Any) -> Any:
    return json.loads(builder.build(asked, album.get, model="m", **options).data)


def pictures(body: Any) -> list[Any]:
    return [
        part
        for message in body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]


def test_the_body_streams_with_usage_and_sends_messages_last() -> None:
    body = built(BodyBuilder(bridge="model", user="s1"), request(max_tokens=9), Album())
    assert list(body) == [
        "model",
        "stream",
        "stream_options",
        "max_tokens",
        "skip_special_tokens",
        "user",
        "messages",
    ]
    assert body["stream_options"] == {"include_usage": True}
    assert body["user"] == "s1"
    assert body["messages"][-1]["content"] == [{"type": "text", "text": "What now?"}]


def test_the_server_chooses_where_no_model_is_named() -> None:
    data = BodyBuilder(bridge="model").build(request(), Album().get, model=None).data
    assert "model" not in json.loads(data)
    assert "user" not in json.loads(data)


def test_sampling_leaves_out_what_is_not_set() -> None:
    sampling = SamplingParams(
        max_tokens=5, temperature=0.0, top_k=40, skip_special_tokens=True, regex="a|b", priority=2
    )
    assert sampling_fields(sampling) == {
        "max_tokens": 5,
        "temperature": 0.0,
        "top_k": 40,
        "priority": 2,
        "structured_outputs": {"regex": "a|b"},
    }


def test_c32_special_tokens_are_asked_for_unless_the_call_wants_none() -> None:
    assert sampling_fields(SamplingParams())["skip_special_tokens"] is False
    assert "skip_special_tokens" not in sampling_fields(SamplingParams(skip_special_tokens=True))


def test_a_picture_goes_as_a_data_url_beside_its_uuid() -> None:
    album = Album()
    frame = album.add(png(1))
    builder = BodyBuilder(bridge="model")
    body = builder.build(request(prompt((frame,))), album.get, model="m")
    (part,) = pictures(json.loads(body.data))
    head, _, data = part["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(data) == png(1)
    assert part["uuid"] == frame.uuid
    assert (body.pictures, body.references) == (1, 0)
    assert body.picture_bytes == len(json.dumps(part["image_url"], separators=(",", ":")))


def test_a_known_picture_goes_by_its_uuid_alone() -> None:
    album = Album()
    old, new = album.shots(2)
    builder = BodyBuilder(bridge="model")
    body = builder.build(request(prompt((old, new, old))), album.get, model="m", known={old.uuid})
    urls = [part["image_url"] for part in pictures(json.loads(body.data))]
    assert [url is None for url in urls] == [True, False, True]
    assert (body.pictures, body.references) == (1, 2)
    assert album.asked == [new.uuid]


def test_a_repeated_picture_has_its_bytes_in_every_occurrence() -> None:
    album = Album()
    frame = album.add(png(1))
    body = built(BodyBuilder(bridge="model"), request(prompt((frame, frame))), album)
    first, second = pictures(body)
    assert first == second
    assert first["image_url"]["url"]


def test_canonical_form_differs_from_the_wire_in_the_pictures_only() -> None:
    album = Album()
    messages = chunk_of(album.shots(3))
    wire = built(BodyBuilder(bridge="model"), request(messages), album)["messages"]
    for part in pictures({"messages": wire}):
        part["image_url"] = None
    assert json.loads(canonical_bytes(messages)) == wire


def test_a_picture_is_encoded_once_while_it_is_in_use() -> None:
    album = Album()
    frames = album.shots(3)
    builder = BodyBuilder(bridge="model")
    for number in range(1, 4):
        builder.build(request(chunk_of(frames[:number])), album.get, model="m")
    assert album.asked == [frame.uuid for frame in frames]


def test_only_the_pictures_of_the_latest_body_are_kept() -> None:
    album = Album()
    first, second = album.shots(2)
    builder = BodyBuilder(bridge="model")
    builder.build(request(prompt((first, second))), album.get, model="m")
    both = builder.kept_bytes
    builder.build(request(prompt((second,))), album.get, model="m")
    assert 0 < builder.kept_bytes < both
    builder.forget()
    assert builder.kept_bytes == 0


def test_c29_a_uuid_that_is_not_the_hash_of_the_bytes_is_never_sent() -> None:
    counter = FrameRef(FrameUuid("frame-1"), Ms(0), 448, 448, 3)
    with pytest.raises(BridgeError) as caught:
        BodyBuilder(bridge="model").build(
            request(prompt((counter,))), {counter.uuid: png(1)}.__getitem__, model="m"
        )
    assert caught.value.code == "frame_mismatch"


def test_a_released_picture_is_an_error_of_the_bridge() -> None:
    frame = Album().add(png(1))
    with pytest.raises(BridgeError) as caught:
        BodyBuilder(bridge="model").build(request(prompt((frame,))), Album().get, model="m")
    assert caught.value.code == "frame_released"
    assert not caught.value.retryable


def test_a_lone_surrogate_in_a_name_cannot_break_the_body() -> None:
    with pytest.raises(UnicodeEncodeError):
        "\ud800".encode()
    body = BodyBuilder(bridge="model", user="\ud800").build(request(), Album().get, model="m")
    assert json.loads(body.data)["user"] == "?"
