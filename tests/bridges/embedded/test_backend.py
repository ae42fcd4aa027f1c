"""The eye behind the ordinary model bridge, over the in-process transport."""

from __future__ import annotations

import asyncio

import pytest

from onlooker.bridges.base import Finished, ModelBackend, ModelItem, ModelRequest, TextDelta
from onlooker.bridges.model.embedded import DESCRIPTION, build
from onlooker.bridges.registry import build_model
from onlooker.decision import Dialect
from onlooker.errors import BridgeRejected, ConfigError
from onlooker.memory.entries import QueryFact, TailTick
from onlooker.types import (
    FrameRef,
    FrameUuid,
    InstructionId,
    Ms,
    SamplingParams,
    Segments,
    TickIndex,
    VideoState,
)
from tests.bridges.embedded.stage import BOTH, GENERIC, built, encoded, plain, scene, uuid_of

pytestmark = pytest.mark.shell

each_dialect = pytest.mark.parametrize("dialect", BOTH, ids=lambda d: d.name)


def prompt(dialect: Dialect, query: str, *pictures: bytes) -> Segments:
    refs = tuple(
        FrameRef(FrameUuid(uuid_of(data)), Ms(0), 160, 90, len(data), "image/png")
        for data in pictures
    )
    fact = QueryFact(InstructionId("i"), query, Ms(0))
    tick = TailTick(TickIndex(0), Ms(0), Ms(0), VideoState.FRESH, refs, (fact,))
    return built(dialect, tick)


def request(messages: Segments) -> ModelRequest:
    return ModelRequest("call-1", messages, SamplingParams(), timeout_s=30)


async def read(backend: ModelBackend, messages: Segments, *stored: bytes) -> list[ModelItem]:
    frames = {FrameUuid(uuid_of(data)): data for data in stored}
    return [item async for item in backend.stream(request(messages), frames.__getitem__)]


async def test_the_probe_says_that_it_is_a_stand_in() -> None:
    backend = build(words=GENERIC.text)
    probe = await backend.probe()
    assert probe.model == "embedded-eye"
    assert probe.server is not None
    assert "stand-in" in probe.server
    assert probe.limits.max_model_len == 131_072
    assert probe.limits.max_images == 256
    assert backend.capabilities.stand_in
    assert "stand-in" in DESCRIPTION
    await backend.aclose()


@each_dialect
async def test_a_reply_streams_through_the_bridge(dialect: Dialect) -> None:
    backend = build_model("embedded", words=dialect.text)
    data = encoded(plain(20, 20, 20))
    items = await read(backend, prompt(dialect, "is it dark?", data), data)
    text = "".join(item.text for item in items if isinstance(item, TextDelta))
    assert text == dialect.text.respond.format(text="Yes, it is dark.")
    ended = items[-1]
    assert isinstance(ended, Finished)
    assert ended.finish_reason == "stop"
    assert ended.usage is not None
    assert ended.usage.cached_tokens == 0
    await backend.aclose()


async def test_two_backends_of_a_session_share_what_was_seen() -> None:
    ticks, summaries = build(words=GENERIC.text), build(words=GENERIC.text)
    data = encoded(plain(20, 30, 40))
    await read(ticks, prompt(GENERIC, "is it dark?", data), data)
    items = await read(summaries, prompt(GENERIC, "is it dark?", data), data)
    assert isinstance(items[-1], Finished)
    await ticks.aclose()
    await summaries.aclose()


async def test_a_picture_nobody_sent_is_refused_by_the_bridge() -> None:
    backend = build(words=GENERIC.text)
    with pytest.raises(BridgeRejected):
        await read(backend, prompt(GENERIC, "is it dark?", b"no picture"), b"no picture")
    await backend.aclose()


async def test_a_cancelled_call_leaves_the_backend_usable() -> None:
    backend = build(words=GENERIC.text)
    data = scene(7)
    call = asyncio.create_task(read(backend, prompt(GENERIC, "is it dark?", data), data))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await read(backend, prompt(GENERIC, "is it bright?", data), data)
    await backend.aclose()


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.5])
def test_a_threshold_that_cannot_work_is_refused(threshold: float) -> None:
    with pytest.raises(ConfigError, match="threshold"):
        build(words=GENERIC.text, threshold=threshold)
