"""What every model backend promises: over HTTP (in process, over a socket), scripted, embedded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import pytest

from onlooker.bridges.base import ModelBackend, ModelCapabilities, TextDelta
from onlooker.bridges.model.openai_compat import OpenAICompat
from onlooker.bridges.registry import build_model
from onlooker.decision import dialect
from onlooker.errors import BridgeError, BridgeTimeout, BridgeUnavailable
from onlooker.testing import FakeVLLM, Fault, FaultKind, Reply, ScriptedModel, serve
from tests.bridges.material import (
    GENERIC_SYSTEM,
    Album,
    broken,
    collect,
    end_of,
    png,
    prompt,
    request,
    text_of,
)

pytestmark = pytest.mark.contract

WORDS = "</response> one two three"


@dataclass
class Rig:
    """A backend, and a way to make its server do something at the next call."""

    backend: ModelBackend
    say: Callable[[str], None]
    """Reply with this text."""
    go_quiet: Callable[[], None]
    """Begin a reply and never end it."""
    break_off: Callable[[], None]
    """Begin a reply and fail."""
    refuse: Callable[[], None]
    """Fail before the reply begins."""
    aborts: Callable[[], int]
    """Calls the server saw cancelled."""
    until_idle: Callable[[], Awaitable[None]]
    """Wait until the server works on nothing."""


Maker: TypeAlias = Callable[[], AbstractAsyncContextManager[Rig]]


def _rig_of(fake: FakeVLLM, backend: ModelBackend) -> Rig:
    fake.say(lambda seen: WORDS)
    return Rig(
        backend,
        say=lambda text: fake.say(lambda seen: text),
        go_quiet=lambda: fake.faults.next(Fault(FaultKind.HANG, after_tokens=1)),
        break_off=lambda: fake.faults.next(Fault(FaultKind.CUT, after_tokens=1)),
        refuse=lambda: fake.faults.next(FaultKind.BUSY),
        aborts=lambda: fake.aborts,
        until_idle=fake.until_idle,
    )


@asynccontextmanager
async def in_process() -> AsyncIterator[Rig]:
    fake = FakeVLLM()
    backend = OpenAICompat("http://here", transport=fake.transport())
    yield _rig_of(fake, backend)
    await backend.aclose()


@asynccontextmanager
async def over_a_socket() -> AsyncIterator[Rig]:
    fake = FakeVLLM()
    async with serve(fake) as server:
        backend = OpenAICompat(server.url)
        yield _rig_of(fake, backend)
        await backend.aclose()


@asynccontextmanager
async def scripted() -> AsyncIterator[Rig]:
    todo: list[Reply | BridgeError] = []
    usual = [WORDS]
    cut = BridgeUnavailable("the server is down — start it", bridge="model")
    model = ScriptedModel(
        lambda asked: todo.pop(0) if todo else Reply(tuple(t for t in usual if t))
    )

    async def until_idle() -> None:
        assert model.running == 0

    def say(text: str) -> None:
        usual[:] = [text]

    yield Rig(
        model,
        say=say,
        go_quiet=lambda: todo.append(Reply(("</response>",), hangs=True)),
        break_off=lambda: todo.append(Reply(("</response>",), error=cut)),
        refuse=lambda: todo.append(cut),
        aborts=lambda: model.aborts,
        until_idle=until_idle,
    )
    await model.aclose()


@asynccontextmanager
async def embedded() -> AsyncIterator[ModelBackend]:
    backend = build_model("embedded", words=dialect("generic").text)
    yield backend
    await backend.aclose()


@asynccontextmanager
async def backend_of(make: Maker) -> AsyncIterator[ModelBackend]:
    async with make() as rig:
        yield rig.backend


RIGS: dict[str, Maker] = {
    "in-process": in_process,
    "socket": over_a_socket,
    "scripted": scripted,
}
BACKENDS: dict[str, Callable[[], AbstractAsyncContextManager[ModelBackend]]] = {
    **{name: partial(backend_of, make) for name, make in RIGS.items()},
    "embedded": embedded,
}
"""Also those whose replies cannot be scripted."""


@pytest.fixture(params=RIGS)
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    async with RIGS[request.param]() as made:
        yield made


@pytest.fixture(params=BACKENDS)
async def backend(request: pytest.FixtureRequest) -> AsyncIterator[ModelBackend]:
    async with BACKENDS[request.param]() as made:
        yield made


# -- every backend ----------------------------------------------------------------------------


async def test_it_keeps_the_protocol(backend: ModelBackend) -> None:
    assert isinstance(backend, ModelBackend)
    assert isinstance(backend.capabilities, ModelCapabilities)


async def test_the_probe_names_the_model(backend: ModelBackend) -> None:
    probe = await backend.probe()
    assert probe.model
    assert probe.limits.max_model_len is None or probe.limits.max_model_len > 0
    assert await backend.probe() == probe


async def test_a_stream_is_deltas_and_then_one_end(backend: ModelBackend) -> None:
    album = Album()
    frame = album.add(png(3))
    asked = request(prompt(("[Request]\nWhat do you see?", frame), system=GENERIC_SYSTEM))
    items = await collect(backend, asked, album)
    assert end_of(items).finish_reason == "stop"
    assert all(isinstance(item, TextDelta) and item.text for item in items[:-1])
    assert album.asked == [frame.uuid]


async def test_calls_follow_one_another(backend: ModelBackend) -> None:
    for number in range(3):
        assert end_of(await collect(backend, request(call_id=f"c{number}")))
    fresh = request(call_id="c9", fresh_connection=True)
    assert end_of(await collect(backend, fresh))


async def test_a_stream_that_is_never_read_asks_nothing(backend: ModelBackend) -> None:
    album = Album()
    items = backend.stream(request(prompt((album.add(png(1)),))), album.get)
    await items.aclose()
    assert not album.asked


async def test_a_released_picture_is_a_bridge_error(backend: ModelBackend) -> None:
    frame = Album().add(png(1))
    with pytest.raises(BridgeError) as caught:
        await collect(backend, request(prompt((frame,))), Album())
    assert caught.value.code == "frame_released"


async def test_a_closed_backend_refuses_and_closing_twice_is_fine(backend: ModelBackend) -> None:
    await backend.aclose()
    await backend.aclose()
    with pytest.raises(BridgeError) as caught:
        await collect(backend, request())
    assert caught.value.code == "closed"
    with pytest.raises(BridgeError):
        await backend.probe()


# -- those whose server can be told what to do ------------------------------------------------


@pytest.mark.parametrize("text", [WORDS, "</silence>", "", "é… \U0001f6b2\n\n  two lines"])
async def test_the_deltas_are_the_reply(rig: Rig, text: str) -> None:
    rig.say(text)
    items = await collect(rig.backend, request())
    assert text_of(items) == text
    assert end_of(items)


async def test_an_empty_reply_is_just_an_end(rig: Rig) -> None:
    rig.say("")
    assert len(await collect(rig.backend, request())) == 1


async def test_j6_closing_early_aborts_at_the_server(rig: Rig) -> None:
    rig.go_quiet()
    items = rig.backend.stream(request(), Album().get)
    assert isinstance(await anext(items), TextDelta)
    await items.aclose()
    await rig.until_idle()
    assert rig.aborts() == 1
    assert text_of(await collect(rig.backend, request())) == WORDS


async def test_j6_cancelling_aborts_at_the_server(rig: Rig) -> None:
    rig.go_quiet()
    begun = asyncio.Event()

    async def read() -> None:
        async for _ in rig.backend.stream(request(), Album().get):
            begun.set()

    call = asyncio.create_task(read())
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await rig.until_idle()
    assert rig.aborts() == 1
    assert text_of(await collect(rig.backend, request())) == WORDS


async def test_b33_a_quiet_server_is_left_at_the_deadline(rig: Rig) -> None:
    rig.go_quiet()
    with pytest.raises(BridgeTimeout) as caught:
        await collect(rig.backend, request(timeout_s=0.05))
    assert caught.value.code == "timeout"
    assert caught.value.retryable
    await rig.until_idle()
    assert text_of(await collect(rig.backend, request())) == WORDS


async def test_c35_a_reply_that_breaks_off_never_ends_well(rig: Rig) -> None:
    rig.break_off()
    items, error = await broken(rig.backend, request())
    assert items == [TextDelta("</response>")]
    assert error.bridge == "model"
    assert text_of(await collect(rig.backend, request())) == WORDS


async def test_a_refusal_is_a_bridge_error_of_one_line(rig: Rig) -> None:
    rig.refuse()
    with pytest.raises(BridgeError) as caught:
        await collect(rig.backend, request())
    assert caught.value.code
    assert caught.value.message
    assert "\n" not in caught.value.message
    assert text_of(await collect(rig.backend, request())) == WORDS
