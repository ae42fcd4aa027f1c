"""The eye over HTTP: the contract of chat completions, in process."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from onlooker.bridges.model.embedded import DESCRIPTION, Limits
from onlooker.bridges.model.embedded.prefix import picture_tokens
from onlooker.decision.grammar import dialect
from tests.bridges.embedded.stage import (
    GENERIC,
    JOYVL,
    Stage,
    eye_of,
    picture_part,
    scene,
    text_part,
)

pytestmark = pytest.mark.shell

CAT = {1: [("cat", 0.9)]}


async def post(stage: Stage, **body: Any) -> httpx.Response:
    return await stage.client.post("/v1/chat/completions", json=body)


def asking(query: str, *pictures: bytes) -> list[dict[str, Any]]:
    parts = [text_part(f"{GENERIC.text.query_header}\n{query}"), text_part("[Time 1.0 s]")]
    return [{"role": "user", "content": [*parts, *map(picture_part, pictures)]}]


async def test_the_model_card_says_that_it_is_a_stand_in() -> None:
    card = (await Stage().client.get("/v1/models")).json()["data"][0]
    assert card["id"] == "embedded-eye"
    assert card["owned_by"] == "onlooker"
    assert card["max_model_len"] == Limits().max_model_len
    assert card["description"] == DESCRIPTION
    assert "stand-in" in DESCRIPTION
    assert "not a language model" in DESCRIPTION


async def test_health_and_version() -> None:
    client = Stage().client
    assert (await client.get("/health")).status_code == 200
    assert "stand-in" in (await client.get("/version")).json()["version"]


async def test_a_completion_has_the_shape_of_vllm() -> None:
    stage = Stage(GENERIC, eye_of(CAT))
    answer = await stage.client.post(
        "/v1/chat/completions",
        json={"model": "embedded-eye", "messages": asking("tell me when a cat appears", scene(1))},
        headers={"X-Request-Id": "call-7"},
    )
    data = answer.json()
    assert data["id"] == "chatcmpl-call-7"
    assert data["object"] == "chat.completion"
    choice = data["choices"][0]
    assert choice["message"] == {"role": "assistant", "content": "[RESPOND] I see a cat."}
    assert choice["finish_reason"] == "stop"
    assert data["usage"]["total_tokens"] > data["usage"]["prompt_tokens"] > 0


async def test_a_stream_is_a_role_pieces_a_reason_the_usage_and_done() -> None:
    stage = Stage(GENERIC, eye_of(CAT))
    answer = await post(
        stage,
        messages=asking("tell me when a cat appears", scene(1)),
        stream=True,
        stream_options={"include_usage": True},
    )
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    assert lines.pop() == "[DONE]"
    chunks = [json.loads(line) for line in lines]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    usage = chunks.pop()
    assert usage["choices"] == []
    assert usage["usage"]["prompt_tokens_details"] == {"cached_tokens": 0}
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    pieces = [chunk["choices"][0]["delta"].get("content", "") for chunk in chunks]
    assert "".join(pieces) == "[RESPOND] I see a cat."
    assert len(pieces) == usage["usage"]["completion_tokens"] + 2
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    plain = await post(stage, messages=asking("is there a cat?", scene(1)), stream=True)
    assert '"usage"' not in plain.text


async def test_max_tokens_cuts_a_reply_and_says_so() -> None:
    stage = Stage(GENERIC, eye_of(CAT))
    answer = await post(stage, messages=asking("is there a cat?", scene(1)), max_tokens=4)
    data = answer.json()
    assert data["choices"][0]["finish_reason"] == "length"
    assert data["usage"]["completion_tokens"] == 4


async def test_a_reply_that_must_not_be_silent_describes_the_view() -> None:
    stage = Stage(GENERIC, eye_of(CAT))
    free = {"regex": GENERIC.regex}
    forced = {"regex": GENERIC.forced_regex}
    messages = asking("tell me when a dog appears", scene(1))
    silent = (await post(stage, messages=messages, structured_outputs=free)).json()
    assert silent["choices"][0]["message"]["content"] == "[SILENCE]"
    spoken = (await post(stage, messages=messages, structured_outputs=forced)).json()
    assert spoken["choices"][0]["message"]["content"].startswith("[RESPOND] In view:")
    empty = (
        await post(stage, messages=asking("is there a dog?"), structured_outputs=forced)
    ).json()
    assert "no picture" in empty["choices"][0]["message"]["content"]


REFUSED: list[tuple[dict[str, Any], int, str]] = [
    ({"messages": []}, 400, "at least one message"),
    ({"messages": "x"}, 400, "at least one message"),
    ({"messages": [{"role": "robot", "content": "x"}]}, 400, "known role"),
    ({"messages": [{"role": "user", "content": 7}]}, 400, "list of parts"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, "Missing 'type'"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": None}]}]},
     400, "no uuid"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": 7}}]}]},
     400, "data URL"),
    ({"messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]}]},
     400, "Only data URLs"),
    ({"messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}]}]}, 400, "identify"),
    ({"messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": None, "uuid": "abc"}]}]}, 400,
     "Cache miss for image at index 0 but data is not provided."),
    ({"model": "gpt", "messages": [{"role": "user", "content": "x"}]}, 404, "does not exist"),
    ({"messages": [{"role": "user", "content": "x"}], "max_tokens": -1}, 400, "max_tokens"),
    ({"messages": [{"role": "user", "content": "x"}], "max_tokens": 10**9}, 400,
     "max_tokens=1000000000 cannot be greater than max_model_len"),
    ({"messages": [{"role": "user", "content": "x"}], "structured_outputs": {"regex": "("}}, 400,
     "Grammar error"),
]  # fmt: skip


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("body", "status", "words"), REFUSED, ids=[w for _, _, w in REFUSED])
async def test_what_cannot_be_used_is_refused_in_an_error_body(
    body: dict[str, Any], status: int, words: str, stream: bool
) -> None:
    answer = await post(Stage(), **body, stream=stream)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert error["code"] == status
    assert words in error["message"]
    assert set(error) == {"message", "type", "param", "code"}


@pytest.mark.parametrize("content", [b"", b"{", b"<html>", b"[1]", b"[" * 100_000, b"\xff"])
async def test_a_body_that_is_no_json_object_is_refused(content: bytes) -> None:
    answer = await Stage().client.post("/v1/chat/completions", content=content)
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "Bad Request"


async def test_the_limits_are_those_of_the_settings() -> None:
    stage = Stage(limits=Limits(max_model_len=1_100, max_images=2, max_body_bytes=30_000))
    many = await post(stage, messages=asking("x", scene(1), scene(2), scene(3)))
    assert many.json()["error"]["message"].startswith("At most 2 image(s) may be provided")
    long = await post(stage, messages=[{"role": "user", "content": "word " * 1_500}])
    assert "exceeds model's maximum context length (1100)" in long.json()["error"]["message"]
    assert (
        await post(stage, messages=[{"role": "user", "content": "x" * 40_000}])
    ).status_code == 413


async def test_cached_tokens_are_the_prefix_that_was_met_before() -> None:
    stage = Stage(GENERIC, eye_of(CAT), system="You watch. " * 30)
    await stage.tick(0, scene(0), ask="tell me when a cat appears")
    first = stage.usage
    assert first["prompt_tokens_details"]["cached_tokens"] == 0
    await stage.tick(1, scene(2))
    second = stage.usage
    new = second["prompt_tokens"] - second["prompt_tokens_details"]["cached_tokens"]
    assert second["prompt_tokens_details"]["cached_tokens"] == first["prompt_tokens"]
    assert new < 40 + picture_tokens(160, 90)
    await stage.complete()
    third = stage.usage["prompt_tokens_details"]["cached_tokens"]
    assert second["prompt_tokens"] - 40 < third < second["prompt_tokens"] + 20
    stage.messages[0]["content"] = "Changed. " + stage.messages[0]["content"]
    await stage.complete()
    assert stage.usage["prompt_tokens_details"]["cached_tokens"] <= 4


async def test_a_tick_of_100_pictures_decodes_only_the_new_one() -> None:
    stage = Stage(GENERIC, eye_of(CAT))
    for number in range(99):
        fact = picture_part(scene(number % 12) + bytes([number]))
        label = text_part(f"[Time {number}.0 s]")
        stage.messages.append({"role": "user", "content": [label, fact]})
        stage.messages.append({"role": "assistant", "content": "[SILENCE]"})
    await stage.tick(99, scene(1), ask="tell me when a cat appears")
    assert stage.sight.decoded == 100
    await stage.tick(100, scene(3))
    assert stage.sight.decoded == 101
    bodies = [part for message in stage.messages[1:] for part in message["content"]]
    for part in bodies:
        if isinstance(part, dict) and "uuid" in part:
            part["image_url"] = None
    await stage.complete()
    assert stage.sight.decoded == 101


async def test_sessions_at_the_same_time_get_their_own_replies() -> None:
    stage = Stage(GENERIC, eye_of(CAT))
    queries = [f"tell me when a {name} appears" for name in ("cat", "dog")] * 8
    answers = await asyncio.gather(
        *(post(stage, messages=asking(query, scene(1))) for query in queries)
    )
    said = [answer.json()["choices"][0]["message"]["content"] for answer in answers]
    assert said == ["[RESPOND] I see a cat.", "[SILENCE]"] * 8


async def test_a_plain_chat_message_without_any_header_is_left_unanswered() -> None:
    for spoken_in in (GENERIC, JOYVL):
        stage = Stage(spoken_in)
        answer = await post(stage, messages=[{"role": "user", "content": "hello"}])
        said = answer.json()["choices"][0]["message"]["content"]
        assert said == dialect(spoken_in.name).text.silence


async def test_a_lone_surrogate_in_a_query_does_no_harm() -> None:
    content = b'{"messages":[{"role":"user","content":"[Request]\\nwho is \\ud800 he, tell me"}]}'
    answer = await Stage().client.post("/v1/chat/completions", content=content)
    assert answer.status_code == 200
    assert "I cannot serve" in answer.text
