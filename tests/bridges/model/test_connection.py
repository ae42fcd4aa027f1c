"""Base URLs, proxies, and the life of the one connection."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from onlooker.bridges.boundary import Deadline
from onlooker.bridges.model.connection import (
    Connection,
    is_loopback,
    parse_base_url,
    shared_ssl_context,
)
from onlooker.errors import BridgeError, ConfigError

pytestmark = pytest.mark.shell


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        (" http://127.0.0.1:8000/ ", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1"),
        ("https://host/llm/v1?x=1#y", "https://host/llm/v1"),
        ("http://[::1]:8000/api", "http://[::1]:8000/api"),
    ],
)
def test_a_base_url_ends_in_its_path_or_v1(text: str, base: str) -> None:
    assert str(parse_base_url(text)) == base


@pytest.mark.parametrize(
    "text",
    ["", "127.0.0.1:8000", "ftp://host/v1", "http://", "http://h:99999", "http://h:x", "//h"],
)
def test_what_is_no_url_is_refused_before_anything_is_sent(text: str) -> None:
    with pytest.raises(ConfigError, match="http://127"):
        parse_base_url(text)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("model.localhost", True),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("10.0.0.1", False),
        ("example.org", False),
    ],
)
def test_loopback_is_told_by_the_host(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def connection(url: str = "http://127.0.0.1:9/v1") -> Connection:
    return Connection(parse_base_url(url), bridge="model", headers={})


@pytest.mark.parametrize(
    ("url", "is_proxied"), [("http://127.0.0.1:9/v1", False), ("http://model.example/v1", True)]
)
async def test_proxies_of_the_environment_are_not_for_this_machine(
    url: str, is_proxied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    made: list[bool] = []
    original = httpx.AsyncClient.__init__

    def watched(self: httpx.AsyncClient, *args: object, **options: object) -> None:
        made.append(bool(options["trust_env"]))
        original(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(httpx.AsyncClient, "__init__", watched)
    line = connection(url)
    assert made == [is_proxied]
    await line.aclose()


def test_every_client_shares_one_ssl_context() -> None:
    assert shared_ssl_context() is shared_ssl_context()
    assert shared_ssl_context().verify_mode.name == "CERT_REQUIRED"


def test_an_address_for_messages_has_no_secrets() -> None:
    assert connection("http://user:word@127.0.0.1:9/secret").where == "http://127.0.0.1:9"
    assert connection("https://model.example/v1").where == "https://model.example"
    assert connection("http://[::1]:9/v1").where == "http://[::1]:9"


def answering(answer: Callable[[httpx.Request], httpx.Response]) -> Connection:
    return Connection(
        parse_base_url("http://here/v1"),
        bridge="model",
        headers={"X-Always": "1"},
        transport=httpx.MockTransport(answer),
    )


async def test_a_request_has_the_base_and_every_header() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, content=b"ok")

    line = answering(answer)
    deadline = Deadline(5, bridge="model")
    async with line.send("GET", "/models", deadline, headers={"X-Now": "2"}) as response:
        assert await line.read_whole(response, deadline) == b"ok"
    async with line.send("GET", "/version", deadline, from_root=True):
        pass
    assert [str(request.url) for request in seen] == [
        "http://here/v1/models",
        "http://here/version",
    ]
    assert (seen[0].headers["x-always"], seen[0].headers["x-now"]) == ("1", "2")
    await line.aclose()


async def test_a_whole_body_is_bounded() -> None:
    line = answering(lambda request: httpx.Response(200, content=b"x" * 100))
    deadline = Deadline(5, bridge="model")
    with pytest.raises(BridgeError) as caught:
        async with line.send("GET", "/models", deadline) as response:
            await line.read_whole(response, deadline, max_bytes=99)
    assert caught.value.code == "reply_too_large"
    await line.aclose()


async def test_a_closed_connection_says_so() -> None:
    line = answering(lambda request: httpx.Response(200))
    await line.aclose()
    await line.renew()
    with pytest.raises(BridgeError) as caught:
        async with line.send("GET", "/models", Deadline(5, bridge="model")):
            pass
    assert caught.value.code == "closed"
    assert not caught.value.retryable
