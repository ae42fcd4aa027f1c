"""The fake against the table of what was measured: one test for each row."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from onlooker.testing import FakeConfig, FakeVLLM, FaultKind, scripted
from tests.bridges.material import png

pytestmark = [pytest.mark.shell, pytest.mark.virtual_time]

CHAT = "/v1/chat/completions"
OMIT = object()


class Api:
    """A plain HTTP client of a fake."""

    def __init__(self, fake: FakeVLLM) -> None:
        self.fake = fake
        self.http = httpx.AsyncClient(transport=fake.transport(), base_url="http://fake")

    async def post(self, *parts: Any, **fields: Any) -> httpx.Response:
        messages = [{"role": "user", "content": list(parts)}]
        body = {"model": "tiny", "messages": messages, **fields}
        return await self.http.post(CHAT, json={k: v for k, v in body.items() if v is not OMIT})

    async def refusal(self, *parts: Any, **fields: Any) -> tuple[int, str]:
        answer = await self.post(*parts, **fields)
        error = answer.json()["error"]
        assert set(error) == {"message", "type", "param", "code"}
        assert error["code"] == answer.status_code
        return answer.status_code, error["message"]

    async def usage(self, *parts: Any, **fields: Any) -> Any:
        answer = await self.post(*parts, **fields)
        assert answer.status_code == 200, answer.text
        return answer.json()["usage"]


def api(reply: str | None = None, **config: Any) -> Api:
    fake = FakeVLLM(FakeConfig(**config))
    if reply is not None:
        fake.say(lambda request: reply)
    return Api(fake)


def text(words: str = "hello") -> dict[str, Any]:
    return {"type": "text", "text": words}


def data_url(data: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def image(data: bytes | None = None, uuid: str | None = None, url: Any = OMIT) -> dict[str, Any]:
    value = {"url": data_url(data)} if data is not None else None
    part = {"type": "image_url", "image_url": value if url is OMIT else url}
    return part if uuid is None else {**part, "uuid": uuid}


def events(answer: httpx.Response) -> list[Any]:
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = [line for line in answer.text.split("\n\n") if line]
    assert all(line.startswith("data: ") for line in lines)
    assert lines[-1] == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]


# -- small routes -----------------------------------------------------------------------------


async def test_models_version_health_and_load() -> None:
    http = api(max_model_len=4_096).http
    (card,) = (await http.get("/v1/models")).json()["data"]
    assert (card["id"], card["max_model_len"], card["owned_by"]) == ("tiny", 4_096, "vllm")
    assert (await http.get("/version")).json() == {"version": "0.32.0"}
    health = await http.get("/health")
    assert (health.status_code, health.content) == (200, b"")
    assert (await http.get("/load")).json() == {"server_load": 0}


async def test_unknown_paths_and_methods() -> None:
    http = api().http
    missing = await http.get("/v1/nothing")
    assert (missing.status_code, missing.json()) == (404, {"detail": "Not Found"})
    assert (await http.get(CHAT)).status_code == 405


async def test_an_api_key_guards_the_api_only() -> None:
    http = api(api_key="k").http
    refused = await http.get("/v1/models")
    assert (refused.status_code, refused.json()) == (401, {"error": "Unauthorized"})
    assert (await http.get("/health")).status_code == 200
    answer = await http.get("/v1/models", headers={"Authorization": "Bearer k"})
    assert answer.status_code == 200


async def test_metrics_have_the_measured_names() -> None:
    client = api()
    for _ in range(2):
        await client.post(text("x" * 400), image(png(1), "u"))
    await client.fake.until_idle()
    page = (await client.http.get("/metrics")).text
    values = dict(line.rsplit(" ", 1) for line in page.splitlines())
    labels = 'engine="0",model_name="tiny"'
    for name in ("prefix_cache_queries", "prefix_cache_hits", "mm_cache_queries", "mm_cache_hits"):
        assert float(values[f"vllm:{name}_total{{{labels}}}"]) > 0
    assert values[f"vllm:mm_cache_hits_total{{{labels}}}"] == "1.0"
    assert values[f"vllm:num_requests_running{{{labels}}}"] == "0.0"
    stopped = f'vllm:request_success_total{{{labels},finished_reason="stop"}}'
    assert values[stopped] == "2.0"
    assert f"vllm:kv_cache_usage_perc{{{labels}}}" in values
    assert f"vllm:prompt_tokens_cached_total{{{labels}}}" in values
    assert f"vllm:num_requests_waiting{{{labels}}}" in values


async def test_tokenize_counts_like_usage_and_disturbs_nothing() -> None:
    client = api()
    messages = [{"role": "user", "content": [text(), image(png(1), "u")]}]
    counted = (await client.http.post("/tokenize", json={"messages": messages})).json()
    assert counted["count"] == len(counted["tokens"])
    assert (counted["max_model_len"], counted["token_strs"]) == (16_384, None)
    assert "u" not in client.fake.engine.pictures
    usage = await client.usage(text(), image(png(1), "u"))
    assert usage["prompt_tokens"] == counted["count"]
    assert usage["prompt_tokens_details"]["cached_tokens"] == 0
    plain = (await client.http.post("/tokenize", json={"prompt": "hello"})).json()
    assert plain["count"] > 2
    assert (await client.http.post("/tokenize", content=b"{")).status_code == 400


# -- shapes -----------------------------------------------------------------------------------


async def test_a_whole_completion() -> None:
    answer = (await api("</silence>").post(text(), skip_special_tokens=False)).json()
    assert answer["object"] == "chat.completion"
    (choice,) = answer["choices"]
    assert choice["message"]["content"] == "</silence>"
    assert (choice["finish_reason"], choice["stop_reason"]) == ("stop", None)
    assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] == 0


async def test_a_streamed_completion() -> None:
    client = api("</response> hi")
    options = {"include_usage": True}
    answer = await client.post(
        text(), stream=True, stream_options=options, skip_special_tokens=False
    )
    first, *middle, last, usage = events(answer)
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(e["choices"][0]["delta"]["content"] for e in middle) == "</response> hi"
    assert all(e["choices"][0]["finish_reason"] is None for e in (first, *middle))
    assert last["choices"][0]["finish_reason"] == "stop"
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == 2
    assert "cached_tokens" in usage["usage"]["prompt_tokens_details"]


async def test_a_stream_without_usage_has_none() -> None:
    answer = await api("hi").post(text(), stream=True)
    assert not [e for e in events(answer) if "usage" in e]


async def test_continuous_usage_has_no_details() -> None:
    options = {"include_usage": True, "continuous_usage_stats": True}
    answer = await api("a b").post(text(), stream=True, stream_options=options)
    deltas = [e["usage"] for e in events(answer) if e["choices"] and "usage" in e]
    assert [usage["completion_tokens"] for usage in deltas] == [1, 2]
    assert not [usage for usage in deltas if "prompt_tokens_details" in usage]


async def test_the_request_id_names_the_completion() -> None:
    client = api("x")
    by_header = await client.http.post(
        CHAT,
        json={"messages": [{"role": "user", "content": "x"}]},
        headers={"X-Request-Id": "s1-c1"},
    )
    assert by_header.json()["id"] == "chatcmpl-s1-c1"
    assert (await client.post(text(), request_id="r")).json()["id"] == "chatcmpl-r"
    assert (await client.post(text())).json()["id"].startswith("chatcmpl-0")


# -- caches -----------------------------------------------------------------------------------


async def test_c30_a_repeated_prompt_is_cached_but_for_its_last_block() -> None:
    client = api()
    parts = [text("x" * 900), image(png(1), "u")]
    first, second = await client.usage(*parts), await client.usage(*parts)
    assert first["prompt_tokens_details"]["cached_tokens"] == 0
    assert first["prompt_tokens_details"]["multimodal_tokens"] == {"image": 196}
    cached = second["prompt_tokens_details"]["cached_tokens"]
    assert cached % 16 == 0
    assert second["prompt_tokens"] - 16 <= cached < second["prompt_tokens"]


async def test_the_block_size_is_that_of_the_server() -> None:
    client = api(block_tokens=128)
    parts = [text("x" * 2_000)]
    await client.usage(*parts)
    cached = (await client.usage(*parts))["prompt_tokens_details"]["cached_tokens"]
    assert cached == 384


async def test_a_cache_salt_separates() -> None:
    client = api()
    for salt, hits in (("a", False), ("b", False), ("a", True)):
        usage = await client.usage(text("x" * 900), cache_salt=salt)
        assert (usage["prompt_tokens_details"]["cached_tokens"] > 0) is hits
    for odd in ("", 3):
        assert (await client.refusal(text(), cache_salt=odd))[0] == 400


async def test_a_picture_once_sent_may_go_by_its_uuid() -> None:
    client = api()
    whole = await client.usage(text("x" * 400), image(png(1), "u"))
    for empty in (None, {}, {"url": ""}, {"url": None}):
        usage = await client.usage(text("x" * 400), image(uuid="u", url=empty))
        assert usage["prompt_tokens"] == whole["prompt_tokens"]
        assert usage["prompt_tokens_details"]["cached_tokens"] > 200


async def test_c29_the_uuid_is_the_only_key_and_the_old_picture_answers() -> None:
    client = api()
    await client.usage(image(png(1), "u"))
    usage = await client.usage(image(png(2, 64, 64), "u"))
    assert usage["prompt_tokens_details"]["multimodal_tokens"] == {"image": 196}


async def test_c29_an_unknown_uuid_names_one_index() -> None:
    client = api()
    await client.usage(image(png(1), "known"))
    for stream in (False, True):
        status, message = await client.refusal(
            image(uuid="known"), image(uuid="a"), image(uuid="b"), stream=stream
        )
        assert status == 400
        assert message == "Cache miss for image at index 1 but data is not provided."


async def test_uuid_and_content_do_not_share_blocks() -> None:
    client = api()
    await client.usage(image(png(1), "u"), text("x" * 800))
    usage = await client.usage(image(png(1)), text("x" * 800))
    assert usage["prompt_tokens_details"]["cached_tokens"] == 0
    again = await client.usage(image(png(1)), text("x" * 800))
    assert again["prompt_tokens_details"]["cached_tokens"] > 0


async def test_evicted_pictures_miss() -> None:
    client = api()
    await client.usage(image(png(1), "a"), image(png(2), "b"))
    client.fake.engine.pictures.evict("a")
    assert (await client.refusal(image(uuid="b"), image(uuid="a")))[1].endswith("provided.")
    assert len(client.fake.engine.pictures) == 1


async def test_the_picture_cache_is_bounded_by_bytes() -> None:
    client = api(picture_cache_bytes=3 * 448 * 448 * 6)
    for number in range(5):
        await client.usage(image(png(number), f"u{number}"))
    assert client.fake.engine.pictures.keys() == {"u2", "u3", "u4"}


async def test_a_cache_smaller_than_one_prompt_fails_for_good() -> None:
    client = api(picture_cache_bytes=2 * 448 * 448 * 6)
    parts = [image(png(number), f"u{number}") for number in range(3)]
    for _ in range(3):
        status, message = await client.refusal(*parts)
        assert (status, message[:40]) == (500, "Expected a cached item for mm_hash='u0'")


async def test_without_a_picture_cache_data_is_always_needed() -> None:
    client = api(picture_cache_bytes=0)
    await client.usage(text("x" * 400), image(png(1), "u"))
    usage = await client.usage(text("x" * 400), image(png(1), "u"))
    assert usage["prompt_tokens_details"]["cached_tokens"] > 0
    status, message = await client.refusal(image(uuid="u"))
    assert status == 400
    assert "Failed to apply Qwen3VLProcessor" in message
    assert "'images': [None" in message


# -- drift ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "deadly",
    [{"structured_outputs": {"regex": "("}}, {"extra": "x" * 80_000}],
    ids=["bad-regex", "too-long"],
)
async def test_new_pictures_of_a_request_that_died_early_fail_once(deadly: dict[str, Any]) -> None:
    client = api()
    parts = [image(png(1), "u")]
    extra = [text(deadly.pop("extra"))] if "extra" in deadly else []
    assert (await client.refusal(*parts, *extra, **deadly))[0] == 400
    assert await client.refusal(*parts) == (500, "Internal server error")
    assert await client.usage(*parts)


async def test_drift_in_a_stream_comes_with_status_200() -> None:
    client = api()
    parts = [image(png(1), "u")]
    await client.refusal(*parts, structured_outputs={"regex": "("})
    answer = await client.post(*parts, stream=True)
    assert answer.status_code == 200
    role, error = events(answer)
    assert role["choices"][0]["delta"]["role"] == "assistant"
    assert error == {
        "error": {
            "message": "Internal server error",
            "type": "InternalServerError",
            "param": None,
            "code": 500,
        }
    }


async def test_drift_by_uuid_alone_is_a_500_and_then_a_miss() -> None:
    client = api()
    await client.refusal(image(png(1), "u"), structured_outputs={"regex": "("})
    assert (await client.refusal(image(uuid="u")))[0] == 500
    assert (await client.refusal(image(uuid="u")))[0] == 400
    assert await client.usage(image(png(1), "u"))


async def test_what_never_reached_the_pictures_does_not_drift() -> None:
    client = api()
    assert (await client.refusal(image(png(1), "u"), max_tokens=20_000))[0] == 400
    assert (await client.refusal(image(b"junk", "v")))[0] == 400
    assert (await client.refusal(image(uuid="w")))[0] == 400
    assert await client.usage(image(png(1), "u"))


async def test_drift_can_be_injected_into_every_held_picture() -> None:
    client = api()
    await client.usage(image(png(1), "u"))
    client.fake.engine.pictures.inject_drift()
    assert (await client.refusal(image(png(1), "u")))[0] == 500
    assert await client.usage(image(png(1), "u"))


async def test_without_a_picture_cache_there_is_no_drift() -> None:
    client = api(picture_cache_bytes=0)
    await client.refusal(image(png(1), "u"), structured_outputs={"regex": "("})
    assert await client.usage(image(png(1), "u"))


# -- refusals ---------------------------------------------------------------------------------


async def test_a_prompt_that_is_too_long() -> None:
    client = api(max_model_len=100)
    for stream in (False, True):
        status, message = await client.refusal(text("x" * 4_000), stream=stream)
        assert status == 400
        assert message == "Input length (1008) exceeds model's maximum context length (100)."


async def test_a_reply_is_clamped_to_the_context() -> None:
    client = api("a b c d e f g h i j", max_model_len=20)
    usage = await client.usage(text("x" * 20), max_tokens=20)
    assert usage["total_tokens"] == 20


async def test_max_tokens_past_the_context() -> None:
    _, message = await api().refusal(text(), max_tokens=20_000)
    assert message.startswith("max_tokens=20000 cannot be greater than max_model_len=16384.")
    for value in (0, -1, "5", True):
        assert (await api().refusal(text(), max_tokens=value))[0] == 400


async def test_too_many_pictures() -> None:
    client = api(max_images=2)
    answer = await client.post(*(image(png(1), "u") for _ in range(3)))
    error = answer.json()["error"]
    assert error["message"].startswith("At most 2 image(s) may be provided in one prompt.")
    assert error["param"] == "image"


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (image(url={"url": "data:image/png;base64,@@@"}), "Non-base64 digit found"),
        (image(b"no picture"), "Failed to load image: cannot identify image file"),
        (image(png(1)[:-20]), "Failed to load image: image file is truncated"),
        (image(png(1)[:10]), "Failed to load image: image file is truncated"),
        (image(png(1, 4_020, 20)), "Failed to apply Qwen3VLProcessor on data="),
        (image(url=None), "1 validation error"),
        ({"type": "image_url", "uuid": "u"}, "Missing 'type' field in multimodal part."),
        ({"type": "audio"}, "Missing 'type' field in multimodal part."),
    ],
)
async def test_pictures_that_cannot_be_used(part: Any, message: str) -> None:
    status, found = await api().refusal(part)
    assert status == 400
    assert found.startswith(message)


async def test_a_large_picture_is_costly_but_fine() -> None:
    usage = await api(max_model_len=20_000).usage(image(png(1, 4_000, 3_000)))
    assert usage["prompt_tokens"] > 11_000


@pytest.mark.parametrize(
    ("url", "config", "status"),
    [
        ("http://127.0.0.1:1/x.jpg", {}, 500),
        ("http://127.0.0.1:1/x.jpg", {"allowed_media_domains": ("example.org",)}, 400),
        ("http://example.org@127.0.0.1/x", {"allowed_media_domains": ("example.org",)}, 400),
        ("https://example.org/x.jpg", {"allowed_media_domains": ("example.org",)}, 500),
        ("file:///etc/passwd", {}, 500),
        ("ftp://host/x", {}, 400),
    ],
)
async def test_addresses_are_never_fetched(url: str, config: Any, status: int) -> None:
    found, message = await api(**config).refusal(image(url={"url": url}))
    assert found == status
    if config and status == 400:
        assert message.startswith(
            "The URL must be from one of the allowed domains: ['example.org']"
        )


async def test_a_text_model_takes_no_pictures() -> None:
    status, message = await api(is_multimodal=False).refusal(image(png(1)))
    assert (status, message) == (400, "tiny is not a multimodal model")


async def test_another_model_is_not_there() -> None:
    answer = await api().post(text(), model="other")
    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "NotFoundError")
    assert (await api().post(text(), model=OMIT)).status_code == 200


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b"[" * 100_000])
async def test_bad_json(body: bytes) -> None:
    answer = await api().http.post(CHAT, content=body)
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "Bad Request")


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": []},
        {"messages": "x"},
        {"messages": [{"role": "boss", "content": "x"}]},
        {"messages": [{"role": "user", "content": 3}]},
        {"temperature": -1},
        {"top_p": 0},
        {"structured_outputs": {"regex": "a", "choice": ["a"]}},
        {"structured_outputs": {"regex": "("}},
        {"continue_final_message": True, "add_generation_prompt": True},
        {"continue_final_message": True},
        {"mm_processor_kwargs": {"a": 1}},
    ],
)
async def test_fields_that_are_refused(fields: dict[str, Any]) -> None:
    assert (await api().refusal(text(), **fields))[0] == 400


async def test_truncating_a_prompt_with_pictures_fails() -> None:
    status, message = await api().refusal(image(png(1)), truncate_prompt_tokens=10)
    assert status == 500
    assert message == "Failed to apply prompt replacement for mm_items['image'][0]"


@pytest.mark.parametrize(
    "fields",
    [
        {"guided_choice": ["a"]},
        {"unknown": 1},
        {"priority": 3},
        {"continue_final_message": True, "add_generation_prompt": False},
        {"structured_outputs": {"json": {}}},
    ],
)
async def test_fields_that_are_accepted(fields: dict[str, Any]) -> None:
    assert (await api().post(text(), **fields)).status_code == 200


async def test_a_body_past_the_bound() -> None:
    assert (await api(max_body_bytes=100).post(text("x" * 200))).status_code == 413


async def test_a_full_engine_is_busy() -> None:
    client = api(max_running=0)
    status, message = await client.refusal(text(), stream=True)
    assert status == 503
    assert message.startswith("The engine is currently busy and cannot accept new requests.")


# -- text -------------------------------------------------------------------------------------


async def test_c32_special_tokens_are_skipped_by_default() -> None:
    client = api("</silence>")
    default = (await client.post(text())).json()["choices"][0]["message"]["content"]
    assert default == ""
    kept = await client.post(text(), skip_special_tokens=False)
    assert kept.json()["choices"][0]["message"]["content"] == "</silence>"


async def test_a_regex_is_kept_or_the_fake_says_that_it_cannot() -> None:
    client = api("hello")
    assert (await client.refusal(text(), structured_outputs={"regex": "[0-9]+"}))[0] == 500
    answer = await client.post(text(), structured_outputs={"regex": "h.*"})
    assert answer.json()["choices"][0]["finish_reason"] == "stop"


async def test_a_stop_token() -> None:
    answer = (await api("</silence>").post(text(), stop_token_ids=[151_669])).json()
    (choice,) = answer["choices"]
    assert (choice["message"]["content"], choice["stop_reason"]) == ("", 151_669)


# -- life -------------------------------------------------------------------------------------


async def test_a_dead_engine_stays_dead_until_it_is_restarted() -> None:
    client = api("a b c")
    client.fake.faults.next(FaultKind.ENGINE_DEAD)
    answer = await client.post(text(), stream=True)
    *_, error = events(answer)
    assert error["error"]["message"].startswith("EngineCore encountered an issue.")
    assert (await client.http.get("/health")).status_code == 503
    assert (await client.refusal(text()))[0] == 500
    client.fake.restart()
    assert (await client.http.get("/health")).status_code == 200
    assert await client.usage(text())


async def test_a_restart_empties_the_caches() -> None:
    client = api()
    await client.usage(text("x" * 400), image(png(1), "u"))
    client.fake.restart()
    assert (await client.refusal(image(uuid="u")))[0] == 400
    assert (await client.usage(text("x" * 400)))["prompt_tokens_details"]["cached_tokens"] == 0


async def test_faults_come_in_their_order() -> None:
    client = api()
    faults = client.fake.faults
    faults.next(FaultKind.BUSY, None, FaultKind.WRONG_MODEL)
    faults.at(5, FaultKind.TOO_LONG)
    got = [(await client.post(text())).status_code for _ in range(6)]
    assert got == [503, 200, 404, 200, 400, 200]
    faults.always(FaultKind.BUSY)
    assert (await client.post(text())).status_code == 503
    faults.always(None)
    assert (await client.post(text())).status_code == 200


async def test_the_log_keeps_requests_without_picture_data() -> None:
    client = api(max_logged=2)
    for number in range(3):
        await client.post(text(f"n{number}"), image(png(number), f"u{number}"))
    assert [one.last_user_text for one in client.fake.requests] == ["n1", "n2"]
    (picture,) = client.fake.requests[-1].pictures
    assert (picture.uuid, picture.index) == ("u2", 0)
    assert picture.data_chars == len(data_url(png(2)))
    assert client.fake.requests[-1].canonical() == (
        b'[{"role":"user","content":[{"type":"text","text":"n2"},'
        b'{"type":"image_url","image_url":null,"uuid":"u2"}]}]'
    )


async def test_j6_an_aborted_prefill_stays_cached_and_does_not_count_as_success() -> None:
    client = api("a b c", first_token_s=100)
    call = client.http.stream("POST", CHAT, json=_streamed("x" * 900))
    async with call as answer:
        await anext(answer.aiter_raw())
    await client.fake.until_idle()
    assert (client.fake.aborts, client.fake.finished) == (1, {})
    usage = await client.usage(text("x" * 900))
    assert usage["prompt_tokens_details"]["cached_tokens"] > 0


def _streamed(words: str) -> dict[str, Any]:
    return {"stream": True, "messages": [{"role": "user", "content": [text(words)]}]}


async def test_a_client_that_leaves_while_sending_is_an_abort() -> None:
    fake = FakeVLLM(reply=scripted(["x"]))

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        raise AssertionError("nobody listens")

    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": CHAT,
        "headers": [],
        "client": None,
    }
    await fake(scope, receive, send)
    assert (fake.aborts, fake.running) == (1, 0)


async def test_only_http_is_served() -> None:
    async def never() -> AsyncIterator[None]:
        yield None

    with pytest.raises(AssertionError, match="lifespan"):
        await FakeVLLM()({"type": "lifespan"}, never, never)  # type: ignore[arg-type]
