"""The chat-completions bridge on virtual time, against a fake server in this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import httpx
import pytest

from onlooker.bridges.base import TextDelta
from onlooker.bridges.model.openai_compat import OpenAICompat, build
from onlooker.errors import BridgeError, ConfigError
from onlooker.testing import FakeConfig, FakeVLLM, Fault, FaultKind, scripted
from onlooker.types import SamplingParams
from tests.bridges.material import (
    Album,
    broken,
    chunk_of,
    collect,
    end_of,
    prompt,
    request,
    text_of,
)

pytestmark = [pytest.mark.shell, pytest.mark.virtual_time]


def backend_of(fake: FakeVLLM, **options: Any) -> OpenAICompat:
    return OpenAICompat("http://here", transport=fake.transport(), **options)


def streaming(*pieces: bytes | float, **headers: str) -> OpenAICompat:
    """A backend whose server streams these bytes, with pauses in seconds."""

    async def body() -> AsyncIterator[bytes]:
        for piece in pieces:
            if isinstance(piece, bytes):
                yield piece
            else:
                await asyncio.sleep(piece)

    def answer(request: httpx.Request) -> httpx.Response:
        kind = {"content-type": "text/event-stream"}
        return httpx.Response(200, headers=kind | headers, content=body())

    return OpenAICompat("http://here", transport=httpx.MockTransport(answer), idle_timeout_s=3)


async def failure(made: OpenAICompat, **options: Any) -> BridgeError:
    with pytest.raises(BridgeError) as caught:
        await collect(made, request(**options))
    return caught.value


def now_s() -> float:
    return asyncio.get_running_loop().time()


async def test_a_reply_streams_and_ends_with_its_usage() -> None:
    fake = FakeVLLM(FakeConfig(first_token_s=0.5, token_s=0.1))
    made = backend_of(fake)
    asked = request(prompt(("#respond",)))
    arrived = [(item, now_s()) async for item in made.stream(asked, Album().get)]
    items = [item for item, _ in arrived]
    assert text_of(items) == "</response> I see a change now."
    assert arrived[0][1] == pytest.approx(0.5)
    assert arrived[2][1] == pytest.approx(0.7)
    usage = end_of(items).usage
    assert usage is not None
    assert usage.completion_tokens == len(items) - 1
    await made.aclose()


async def test_c30_cached_tokens_reach_the_core() -> None:
    """A byte-stable prompt is cached but for its newest tick; the share can be watched."""
    fake = FakeVLLM(FakeConfig())
    made = backend_of(fake)
    album = Album()
    frames = album.shots(6)
    seen = []
    for count in range(1, 7):
        items = await collect(made, request(chunk_of(frames[:count])), album)
        usage = end_of(items).usage
        assert usage is not None
        seen.append(usage)
    for before, after in pairwise(seen):
        assert after.cached_tokens is not None
        assert after.cached_tokens >= before.prompt_tokens - 16
    await made.aclose()


async def test_headers_name_the_session_and_the_call() -> None:
    fake = FakeVLLM()
    made = backend_of(fake, routing_id="s1", api_key="k")
    await collect(made, request(call_id="c7"))
    headers = fake.requests[0].headers
    assert headers["x-session-id"] == "s1"
    assert headers["x-request-id"] == "s1-c7"
    assert headers["authorization"] == "Bearer k"
    assert fake.requests[0].fields["user"] == "s1"
    await made.aclose()


async def test_sessions_without_a_routing_id_are_told_apart() -> None:
    fake = FakeVLLM()
    for _ in range(2):
        made = backend_of(fake, routing_header="X-Sticky")
        await collect(made, request())
        await collect(made, request())
        await made.aclose()
    ids = [one.headers["x-sticky"] for one in fake.requests]
    assert ids[0] == ids[1] != ids[2] == ids[3]


async def test_a_routers_session_token_is_sent_back() -> None:
    seen: list[str | None] = []
    done = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("x-session-token"))
        kind = {"content-type": "text/event-stream", "x-session-token": "pod-7"}
        return httpx.Response(200, headers=kind, content=done)

    made = OpenAICompat("http://here", transport=httpx.MockTransport(answer))
    await collect(made, request())
    await collect(made, request(fresh_connection=True))
    assert seen == [None, "pod-7"]


async def test_b33_a_call_ends_at_its_deadline_and_is_asked_once() -> None:
    fake = FakeVLLM(FakeConfig(first_token_s=100))
    made = backend_of(fake)
    error = await failure(made, timeout_s=4)
    assert (error.code, error.retryable) == ("timeout", True)
    assert now_s() == pytest.approx(4)
    await fake.until_idle()
    assert (fake.chat_requests, fake.aborts) == (1, 1)
    await made.aclose()


async def test_the_deadline_counts_all_pieces_together() -> None:
    fake = FakeVLLM(FakeConfig(token_s=1))
    made = backend_of(fake)
    items, error = await broken(made, request(prompt(("#respond",)), timeout_s=3.5))
    assert error.code == "timeout"
    assert len(items) == 4
    await made.aclose()


async def test_a_server_that_never_answers_is_timed_out() -> None:
    fake = FakeVLLM()
    fake.faults.next(FaultKind.HANG_AT_START)
    made = backend_of(fake)
    assert (await failure(made)).code == "timeout"
    await made.aclose()


async def test_a_stream_that_goes_quiet_is_given_up_before_the_deadline() -> None:
    fake = FakeVLLM()
    fake.faults.next(Fault(FaultKind.HANG, after_tokens=2))
    made = backend_of(fake, idle_timeout_s=3)
    error = await failure(made, messages=prompt(("#respond",)), timeout_s=60)
    assert (error.code, error.retryable) == ("stream_idle", True)
    assert now_s() == pytest.approx(3)
    await fake.until_idle()
    assert fake.aborts == 1
    await made.aclose()


async def test_a_slow_first_token_is_not_idle() -> None:
    fake = FakeVLLM(FakeConfig(first_token_s=10))
    made = backend_of(fake, idle_timeout_s=30)
    assert end_of(await collect(made, request(timeout_s=60)))
    await made.aclose()


async def test_comments_keep_a_stream_alive() -> None:
    ping: tuple[bytes | float, ...] = (b": ping\n\n", 2.0) * 4
    done = b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n'
    items = await collect(streaming(*ping, done), request(timeout_s=60))
    assert text_of(items) == "x"


async def test_a_server_that_does_not_close_after_done_costs_no_time() -> None:
    done = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    items = await collect(streaming(done, 50.0), request(timeout_s=60))
    assert end_of(items).finish_reason == "stop"
    assert now_s() < 1


async def test_j6_closing_the_iterator_aborts_the_request() -> None:
    fake = FakeVLLM(FakeConfig(token_s=1))
    made = backend_of(fake)
    items = made.stream(request(prompt(("#respond",))), Album().get)
    assert await anext(items) == TextDelta("</response>")
    await items.aclose()
    await fake.until_idle()
    assert (fake.aborts, fake.running, now_s()) == (1, 0, 0.0)
    await made.aclose()


@pytest.mark.parametrize("after_s", [0.0, 0.5, 1.5])
async def test_j6_cancelling_the_task_aborts_the_request(after_s: float) -> None:
    fake = FakeVLLM(FakeConfig(first_token_s=1, token_s=1))
    made = backend_of(fake)
    call = asyncio.create_task(collect(made, request(prompt(("#respond",)))))
    await asyncio.sleep(after_s or 0.001)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await fake.until_idle()
    assert (fake.aborts, fake.finished) == (1, {})
    assert end_of(await collect(made, request()))
    await made.aclose()


FAULTS = {
    FaultKind.DRIFT: ("server_error", True),
    FaultKind.SERVER_ERROR: ("server_error", True),
    FaultKind.ENGINE_DEAD: ("engine_dead", True),
    FaultKind.CUT: ("stream_cut", True),
    FaultKind.NO_FINISH: ("stream_cut", True),
    FaultKind.HANG: ("timeout", True),
    FaultKind.HANG_AT_START: ("timeout", True),
    FaultKind.BUSY: ("busy", True),
    FaultKind.HTML: ("html_reply", False),
    FaultKind.HTML_BAD_GATEWAY: ("unreachable", True),
    FaultKind.NOT_JSON: ("not_json", True),
    FaultKind.NOT_A_STREAM: ("not_json", False),
    FaultKind.ENDLESS_LINE: ("reply_too_large", False),
    FaultKind.WRONG_MODEL: ("model_not_found", False),
    FaultKind.UNAUTHORIZED: ("unauthorized", False),
    FaultKind.TOO_LONG: ("context_exceeded", False),
    FaultKind.TOO_MANY_IMAGES: ("too_many_images", False),
    FaultKind.BAD_IMAGE: ("bad_image", False),
    FaultKind.CACHE_MISS: ("cache_miss", True),
    FaultKind.NOT_MULTIMODAL: ("not_multimodal", False),
}


def test_every_fault_of_the_fake_is_in_the_table() -> None:
    assert set(FAULTS) == set(FaultKind)


@pytest.mark.parametrize("kind", FaultKind)
async def test_c35_every_fault_is_a_typed_error_and_never_text(kind: FaultKind) -> None:
    """What streamed before a fault may be text; the error itself never is."""
    fake = FakeVLLM(reply=scripted(["</response> one two three"]))
    fake.faults.next(kind)
    made = backend_of(fake)
    items, error = await broken(made, request())
    assert (error.code, error.retryable) == FAULTS[kind]
    assert text_of(items) in {"", "</response>"}
    assert "\n" not in error.message
    assert " — " in error.message
    await fake.until_idle()
    await made.aclose()


async def test_after_any_fault_the_next_call_is_whole() -> None:
    fake = FakeVLLM()
    made = backend_of(fake)
    for kind in FaultKind:
        fake.restart()
        fake.faults.next(kind)
        await failure(made)
        fake.restart()
        assert text_of(await collect(made, request())) == "</silence>"
    await made.aclose()


async def test_j24_markers_arrive_as_the_model_spelled_them() -> None:
    """The bridge neither strips nor interprets them: the parser does, once."""
    for reply in (
        "</silence>",
        "</response> hi",
        "</response> a </delegation> b",
        " </RESPONSE>",
        "",
    ):
        fake = FakeVLLM(reply=scripted([reply]))
        made = backend_of(fake)
        assert text_of(await collect(made, request())) == reply
        await made.aclose()


async def test_c32_special_tokens_come_through_and_empty_text_is_a_reply() -> None:
    fake = FakeVLLM(reply=scripted(["</silence>", "</silence>"]))
    made = backend_of(fake)
    kept = await collect(made, request())
    assert text_of(kept) == "</silence>"
    stripped = await collect(made, request(skip_special_tokens=True))
    assert text_of(stripped) == ""
    assert end_of(stripped).finish_reason == "stop"
    await made.aclose()


async def test_a_cut_by_max_tokens_is_told() -> None:
    fake = FakeVLLM(reply=scripted(["</response> one two three"]))
    made = backend_of(fake)
    items = await collect(made, request(max_tokens=2))
    assert (text_of(items), end_of(items).finish_reason) == ("</response> one", "length")
    await made.aclose()


async def test_context_errors_carry_the_limit_for_the_core() -> None:
    fake = FakeVLLM(FakeConfig(max_model_len=64))
    made = backend_of(fake)
    error = await failure(made, messages=prompt(("word " * 200,)), max_tokens=8)
    assert error.code == "context_exceeded"
    assert getattr(error, "limit", None) == 64
    await made.aclose()


async def test_picture_errors_carry_the_limit_for_the_core() -> None:
    fake = FakeVLLM(FakeConfig(max_images=3))
    made = backend_of(fake)
    album = Album()
    with pytest.raises(BridgeError) as caught:
        await collect(made, request(chunk_of(album.shots(4))), album)
    assert caught.value.code == "too_many_images"
    assert getattr(caught.value, "limit", None) == 3
    await made.aclose()


async def test_a_closed_backend_says_so() -> None:
    made = backend_of(FakeVLLM())
    await made.aclose()
    await made.aclose()
    assert (await failure(made)).code == "closed"
    with pytest.raises(BridgeError):
        await made.probe()


async def test_closing_ends_a_stream_that_is_being_read() -> None:
    fake = FakeVLLM()
    fake.faults.next(FaultKind.HANG)
    made = backend_of(fake)
    call = asyncio.create_task(collect(made, request()))
    await asyncio.sleep(1)
    await made.aclose()
    with pytest.raises(BridgeError) as caught:
        await call
    assert caught.value.code == "closed"


async def test_two_calls_at_once_do_not_mix() -> None:
    fake = FakeVLLM(FakeConfig(token_s=0.1))
    made = backend_of(fake)
    first, second = await asyncio.gather(
        collect(made, request(prompt(("#respond",)))), collect(made, request(prompt(("hello",))))
    )
    assert text_of(first) == "</response> I see a change now."
    assert text_of(second) == "</silence>"
    await made.aclose()


async def test_nothing_of_a_call_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    fake = FakeVLLM(reply=scripted(["</response> SECRET-REPLY"]))
    made = backend_of(fake, api_key="SECRET-KEY")
    await collect(made, request(prompt(("SECRET-QUERY",))))
    fake.faults.next(FaultKind.CUT)
    await failure(made)
    assert "SECRET" not in caplog.text
    await made.aclose()


def test_the_factory_takes_what_settings_give() -> None:
    with pytest.raises(ConfigError):
        build(base_url="nonsense")
    made = build(base_url="http://127.0.0.1:9", model="m", api_key="k", idle_timeout_s=1)
    assert isinstance(made, OpenAICompat)


@pytest.mark.parametrize("key", ["secret\n", "clé", "a\tb"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ConfigError, match="Authorization") as caught:
        OpenAICompat("http://127.0.0.1:9", api_key=key)
    assert key not in caught.value.message


async def test_sampling_reaches_the_server() -> None:
    fake = FakeVLLM(reply=lambda seen: "[SILENCE]")
    made = backend_of(fake)
    await made.probe()
    sampling = SamplingParams(max_tokens=7, temperature=0.3, regex=r"\[SILENCE\]", priority=1)
    asked = request(max_tokens=7, temperature=0.3, regex=r"\[SILENCE\]", priority=1)
    assert asked.sampling == sampling
    await collect(made, asked)
    fields = fake.requests[0].fields
    assert fields["structured_outputs"] == {"regex": r"\[SILENCE\]"}
    assert (fields["max_tokens"], fields["temperature"], fields["priority"]) == (7, 0.3, 1)
    await made.aclose()
