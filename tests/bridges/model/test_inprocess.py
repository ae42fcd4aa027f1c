"""The in-process transport: incremental, held back by a slow reader, told when nobody reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx
import pytest

from onlooker.bridges.model.inprocess import (
    MAX_UNREAD_PIECES,
    InProcessTransport,
    Message,
    Receive,
    Send,
)

pytestmark = [pytest.mark.shell, pytest.mark.virtual_time]

START: Message = {"type": "http.response.start", "status": 200, "headers": [(b"x-a", b"1")]}


def piece(body: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


@asynccontextmanager
async def client_of(app: Any) -> AsyncIterator[tuple[httpx.AsyncClient, InProcessTransport]]:
    transport = InProcessTransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
        yield client, transport


async def test_the_application_sees_the_request() -> None:
    seen: dict[str, Any] = {}

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        seen.update(scope)
        seen["body"] = (await receive())["body"]
        await send(START)
        await send(piece(b"ok", more=False))

    async with client_of(app) as (client, transport):
        answer = await client.post("/a%20b?c=d", content=b"hello", headers={"X-Q": "1"})
    assert (answer.status_code, answer.text, answer.headers["x-a"]) == (200, "ok", "1")
    assert (seen["method"], seen["path"], seen["raw_path"]) == ("POST", "/a b", b"/a%20b")
    assert (seen["query_string"], seen["body"]) == (b"c=d", b"hello")
    assert (b"x-q", b"1") in seen["headers"]
    assert transport.running == 0
    assert transport.last_failure is None


async def test_each_piece_arrives_when_it_is_sent() -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await send(START)
        for number in range(3):
            await send(piece(b"%d" % number))
            await asyncio.sleep(1)
        await send(piece(b"", more=False))

    async with client_of(app) as (client, _), client.stream("GET", "/") as answer:
        loop = asyncio.get_running_loop()
        arrived = [(one, loop.time()) async for one in answer.aiter_raw()]
    assert arrived == [(b"0", 0.0), (b"1", 1.0), (b"2", 2.0)]


async def test_an_application_far_ahead_of_its_reader_waits() -> None:
    sent = 0

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        nonlocal sent
        await send(START)
        while sent < 1_000:
            await send(piece(b"x"))
            sent += 1
        await send(piece(b"", more=False))

    async with client_of(app) as (client, _), client.stream("GET", "/") as answer:
        await asyncio.sleep(1)
        assert sent <= MAX_UNREAD_PIECES
        assert len(await answer.aread()) == 1_000


async def test_j6_closing_an_answer_disconnects_the_application() -> None:
    left = asyncio.Event()

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await receive()
        await send(START)
        await send(piece(b"first"))
        assert (await receive())["type"] == "http.disconnect"
        left.set()
        with pytest.raises(OSError, match="closed"):
            await send(piece(b"second"))

    async with client_of(app) as (client, transport):
        async with client.stream("GET", "/") as answer:
            assert await anext(answer.aiter_raw()) == b"first"
        await left.wait()
        await asyncio.sleep(0)
        assert transport.running == 0
        assert transport.last_failure is None


async def test_cancelling_before_the_answer_disconnects_too() -> None:
    left = asyncio.Event()

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        left.set()

    async with client_of(app) as (client, _):
        call = asyncio.create_task(client.get("/"))
        await asyncio.sleep(1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await left.wait()


async def test_an_error_before_the_answer_is_a_500_and_is_kept() -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        raise ValueError("a bug")

    async with client_of(app) as (client, transport):
        answer = await client.get("/")
        assert (answer.status_code, answer.text) == (500, "Internal Server Error")
        assert isinstance(transport.last_failure, ValueError)


async def test_an_error_in_the_middle_cuts_the_answer() -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await send(START)
        await send(piece(b"half"))
        raise ValueError("a bug")

    async with client_of(app) as (client, _):
        with pytest.raises(httpx.RemoteProtocolError) as caught:
            await client.get("/")
    assert isinstance(caught.value.__cause__, ValueError)


async def test_an_application_that_answers_nothing_is_an_error() -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await receive()

    async with client_of(app) as (client, _):
        with pytest.raises(httpx.ReadError):
            await client.get("/")


@pytest.mark.parametrize(
    "messages",
    [(piece(b"x"),), (START, START), (START, piece(b"", more=False), piece(b"late"))],
)
async def test_messages_out_of_place_are_the_applications_fault(
    messages: tuple[Message, ...],
) -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)

    async with client_of(app) as (client, transport):
        with suppress(httpx.HTTPError):
            await client.get("/")
        await asyncio.sleep(0)
        assert isinstance(transport.last_failure, RuntimeError)


async def test_closing_the_transport_ends_what_runs() -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await asyncio.Event().wait()

    async with client_of(app) as (client, transport):
        call = asyncio.create_task(client.get("/"))
        await asyncio.sleep(1)
        assert transport.running == 1
        await transport.aclose()
        with pytest.raises(httpx.ReadError):
            await call
        assert transport.running == 0
