"""The model bridge and the fake over real sockets: connections, and what breaks them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from onlooker.bridges.base import TextDelta
from onlooker.bridges.model.openai_compat import OpenAICompat
from onlooker.errors import BridgeError
from onlooker.testing import FakeConfig, FakeVLLM, Fault, FaultKind, serve
from onlooker.testing.fakevllm import RunningServer
from tests.bridges.material import Album, chunk_of, collect, end_of, prompt, request, text_of

pytestmark = [pytest.mark.service, pytest.mark.timeout(60)]


@asynccontextmanager
async def served(
    fake: FakeVLLM, **options: float
) -> AsyncIterator[tuple[OpenAICompat, RunningServer]]:
    async with serve(fake) as server:
        backend = OpenAICompat(server.url, **options)  # type: ignore[arg-type]
        yield backend, server
        await backend.aclose()


async def failure(backend: OpenAICompat, **options: object) -> BridgeError:
    with pytest.raises(BridgeError) as caught:
        await collect(backend, request(**options))  # type: ignore[arg-type]
    return caught.value


async def turns(condition: Callable[[], bool]) -> None:
    """Let the loop run until something holds that needs no time, only turns of the loop."""
    for _ in range(1_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not come to hold")


# -- one connection ---------------------------------------------------------------------------


async def test_all_calls_of_a_session_share_one_connection() -> None:
    fake = FakeVLLM()
    async with served(fake) as (backend, server):
        await backend.probe()
        album = Album()
        frames = album.shots(5)
        for count in range(1, 6):
            assert end_of(await collect(backend, request(chunk_of(frames[:count])), album))
        assert len(fake.connections) == 1
        assert server.open_connections == 1


async def test_a_consumer_that_stops_at_the_end_keeps_the_connection() -> None:
    fake = FakeVLLM()
    async with served(fake) as (backend, _):
        for _ in range(3):
            items = backend.stream(request(), Album().get)
            async for item in items:
                if not isinstance(item, TextDelta):
                    break
            await items.aclose()
        assert len(fake.connections) == 1


async def test_a_fresh_connection_is_one() -> None:
    fake = FakeVLLM()
    async with served(fake) as (backend, server):
        await collect(backend, request())
        await collect(backend, request(fresh_connection=True))
        assert len(fake.connections) == 2
        await turns(lambda: server.open_connections == 1)


async def test_a_fresh_connection_leaves_a_call_on_the_old_one_alone() -> None:
    fake = FakeVLLM()
    fake.faults.next(Fault(FaultKind.HANG, after_tokens=1))
    async with served(fake) as (backend, _):
        first = backend.stream(request(), Album().get)
        assert isinstance(await anext(first), TextDelta)
        assert end_of(await collect(backend, request(fresh_connection=True)))
        await turns(lambda: fake.running == 1)
        assert fake.aborts == 0
        await first.aclose()
        await fake.until_idle()
        assert fake.aborts == 1


@pytest.mark.parametrize("kind", [FaultKind.SERVER_ERROR, FaultKind.DRIFT, FaultKind.BUSY])
async def test_after_a_500_the_connection_is_not_used_again(kind: FaultKind) -> None:
    """The measured server closes it without a word: the next request on it would be reset."""
    fake = FakeVLLM()
    fake.faults.next(kind)
    async with served(fake) as (backend, _):
        await failure(backend)
        assert text_of(await collect(backend, request())) == "</silence>"
        assert len(fake.connections) == 2


async def test_an_error_of_ours_keeps_the_connection() -> None:
    fake = FakeVLLM()
    async with served(fake) as (backend, _):
        fake.faults.next(FaultKind.TOO_LONG, FaultKind.BAD_IMAGE)
        for _ in range(2):
            await failure(backend)
        await collect(backend, request())
        assert len(fake.connections) == 1


async def test_an_idle_connection_the_server_closed_is_replaced() -> None:
    fake = FakeVLLM()
    async with served(fake) as (backend, server):
        await collect(backend, request())
        server.drop_connections()
        await turns(lambda: server.open_connections == 0)
        assert end_of(await collect(backend, request()))
        assert len(fake.connections) == 2


async def test_b12_summaries_have_a_connection_of_their_own() -> None:
    fake = FakeVLLM(FakeConfig())
    fake.faults.next(Fault(FaultKind.HANG, after_tokens=0))
    async with served(fake) as (ticks, server):
        summaries = OpenAICompat(server.url)
        slow = asyncio.create_task(collect(summaries, request()))
        await until_running(fake)
        assert end_of(await collect(ticks, request()))
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        assert len(fake.connections) == 2
        await summaries.aclose()


async def until_running(fake: FakeVLLM) -> None:
    """Wait until a request has arrived: a socket takes its time."""
    async with asyncio.timeout(5):
        while not fake.running:  # noqa: ASYNC110  # the fake has no event for this, only a count
            await asyncio.sleep(0)


# -- cancelling -------------------------------------------------------------------------------


async def test_c34_500_cancels_leave_no_request_and_no_connection_behind() -> None:
    fake = FakeVLLM()
    fake.faults.always(Fault(FaultKind.HANG, after_tokens=1))
    async with served(fake) as (backend, server):
        for _ in range(500):
            items = backend.stream(request(), Album().get)
            assert isinstance(await anext(items), TextDelta)
            await items.aclose()
            await fake.until_idle()
        assert fake.aborts == 500
        await turns(lambda: server.open_connections == 0)
        fake.faults.always(None)
        assert end_of(await collect(backend, request()))
        assert server.open_connections == 1


async def test_j6_a_cancelled_task_is_gone_from_the_server_within_100_ms() -> None:
    fake = FakeVLLM()
    fake.faults.always(FaultKind.HANG_AT_START)
    async with served(fake) as (backend, _):
        call = asyncio.create_task(collect(backend, request()))
        await until_running(fake)
        call.cancel()
        async with asyncio.timeout(0.1):
            await fake.until_idle()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert fake.aborts == 1


# -- what breaks ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [FaultKind.CUT, FaultKind.ENGINE_DEAD, FaultKind.NO_FINISH])
async def test_a_stream_that_dies_is_an_error(kind: FaultKind) -> None:
    fake = FakeVLLM()
    fake.faults.next(Fault(kind, after_tokens=2))
    async with served(fake) as (backend, _):
        error = await failure(backend, messages=prompt(("#respond",)))
        assert error.code == ("engine_dead" if kind is FaultKind.ENGINE_DEAD else "stream_cut")
        assert error.retryable


async def test_an_endless_line_is_left() -> None:
    fake = FakeVLLM()
    fake.faults.next(FaultKind.ENDLESS_LINE)
    async with served(fake) as (backend, _):
        assert (await failure(backend)).code == "reply_too_large"
        await fake.until_idle()


async def test_a_killed_server_is_cut_then_unreachable_then_back() -> None:
    fake = FakeVLLM()
    fake.faults.next(Fault(FaultKind.HANG, after_tokens=1))
    async with serve(fake) as server:
        backend = OpenAICompat(server.url)
        items = backend.stream(request(), Album().get)
        assert isinstance(await anext(items), TextDelta)
        await server.kill()
        with pytest.raises(BridgeError) as caught:
            await anext(items)
        assert caught.value.code == "stream_cut"
    assert (await failure(backend)).code == "unreachable"
    async with serve(FakeVLLM(), port=server.port):
        assert end_of(await collect(backend, request()))
    await backend.aclose()


async def test_a_port_nobody_listens_on() -> None:
    async with serve(FakeVLLM()) as server:
        pass
    backend = OpenAICompat(server.url)
    with pytest.raises(BridgeError) as caught:
        await backend.probe()
    assert caught.value.code == "unreachable"
    assert f"127.0.0.1:{server.port}" in caught.value.message
    assert "start it" in caught.value.message
    await backend.aclose()


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def raw_server(talk: Talk) -> AsyncIterator[str]:
    """Whatever is no HTTP server; the base URL as a user would type it."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def greets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readline()
    writer.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
    await writer.drain()
    await reader.read()


async def grumbles(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readline()
    writer.write(b"-ERR unknown command\r\n")
    await writer.drain()


async def hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readline()


async def says_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def stops_half_way(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readline()
    writer.write(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99\r\n\r\n"
    )
    writer.write(b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n')
    await writer.drain()


@pytest.mark.parametrize(
    ("talk", "code"),
    [
        (greets, "not_http"),
        (grumbles, "stream_cut"),
        (hangs_up, "stream_cut"),
        (says_nothing, "timeout"),
        (stops_half_way, "stream_cut"),
    ],
)
async def test_what_is_no_model_server_is_told_apart(talk: Talk, code: str) -> None:
    async with raw_server(talk) as url:
        backend = OpenAICompat(url)
        assert (await failure(backend, timeout_s=0.2)).code == code
        await backend.aclose()


async def test_https_to_a_plain_server_says_so() -> None:
    async with serve(FakeVLLM()) as server:
        backend = OpenAICompat(server.url.replace("http:", "https:"))
        error = await failure(backend)
        assert error.code == "unreachable"
        assert "http://" in error.message
        await backend.aclose()


async def test_a_wrong_path_is_a_wrong_url() -> None:
    async with serve(FakeVLLM()) as server:
        backend = OpenAICompat(server.url + "/api")
        with pytest.raises(BridgeError) as caught:
            await backend.probe()
        assert caught.value.code == "wrong_url"
        await backend.aclose()


async def test_a_proxy_of_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    fake = FakeVLLM()
    async with served(fake) as (backend, _):
        assert (await backend.probe()).model == "tiny"


async def test_an_api_key_that_is_wrong() -> None:
    async with serve(FakeVLLM(FakeConfig(api_key="right"))) as server:
        wrong, right = (
            OpenAICompat(server.url, api_key="w"),
            OpenAICompat(server.url, api_key="right"),
        )
        with pytest.raises(BridgeError) as caught:
            await wrong.probe()
        assert caught.value.code == "unauthorized"
        assert (await right.probe()).model == "tiny"
        await wrong.aclose()
        await right.aclose()


# -- a whole chunk ----------------------------------------------------------------------------


async def test_c30_a_hundred_frames_are_cached_every_tick() -> None:
    """Every byte is sent, and all but the newest tick is found in the prefix cache."""
    fake = FakeVLLM(FakeConfig(max_model_len=32_000))
    album = Album()
    frames = album.shots(100, width=256, height=192)
    async with served(fake) as (backend, _):
        before = 0
        for count in range(90, 101):
            items = await collect(backend, request(chunk_of(frames[:count])), album)
            usage = end_of(items).usage
            assert usage is not None
            assert usage.cached_tokens is not None
            assert usage.cached_tokens >= before - 16
            before = usage.prompt_tokens
        assert len(album.asked) == 100
        assert len(fake.connections) == 1


async def test_two_servers_of_one_port_are_refused() -> None:
    async with serve(FakeVLLM()) as server:
        with pytest.raises(OSError, match="in use"):
            async with serve(FakeVLLM(), port=server.port):
                raise AssertionError("the port was taken twice")
