"""Exceptions of httpx and statuses, as bridge errors."""

from __future__ import annotations

import httpx
import pytest

from onlooker.bridges.http_errors import (
    connection_errors,
    from_httpx,
    from_status,
    has_own_meaning,
)
from onlooker.errors import BridgeError, BridgeRejected

pytestmark = pytest.mark.pure

WHERE = "http://here:1"


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (httpx.ConnectError("All connection attempts failed"), "unreachable", "start it"),
        (httpx.ConnectError("[SSL: WRONG_VERSION_NUMBER] wrong"), "unreachable", "http://"),
        (httpx.ConnectError("certificate verify failed"), "unreachable", "certificate"),
        (httpx.ConnectError("[Errno -2] Name or service not known"), "unreachable", "spelling"),
        (httpx.ConnectTimeout(""), "unreachable", "firewall"),
        (httpx.ProxyError("403"), "unreachable", "proxy"),
        (httpx.ReadTimeout(""), "timeout", "overloaded"),
        (httpx.PoolTimeout(""), "timeout", "overloaded"),
        (httpx.UnsupportedProtocol("x"), "wrong_url", "http://"),
        (httpx.InvalidURL("x"), "wrong_url", "http://"),
        (httpx.RemoteProtocolError("illegal status line: bytearray(b'SSH')"), "not_http", "port"),
        (
            httpx.RemoteProtocolError("Server disconnected without sending a response."),
            "stream_cut",
            "log",
        ),
        (
            httpx.RemoteProtocolError(
                "peer closed connection without sending complete message body"
                " (incomplete chunked read)"
            ),
            "stream_cut",
            "log",
        ),
        (httpx.ReadError(""), "stream_cut", "log"),
        (httpx.WriteError("broken pipe"), "stream_cut", "log"),
        (httpx.DecodingError("bad gzip"), "stream_cut", "log"),
    ],
)
def test_what_httpx_raises_gets_a_code_and_an_advice(
    error: Exception, code: str, says: str
) -> None:
    found = from_httpx(error, bridge="model", where=WHERE)
    assert found.code == code
    assert found.bridge == "model"
    assert says in found.message
    assert WHERE in found.message
    assert "\n" not in found.message


def test_the_context_maps_and_keeps_the_cause() -> None:
    with pytest.raises(BridgeError) as caught, connection_errors("model", WHERE):
        raise httpx.ReadError("reset")
    assert isinstance(caught.value.__cause__, httpx.ReadError)


def test_the_context_leaves_other_errors_alone() -> None:
    with pytest.raises(ValueError, match="ours"), connection_errors("model", WHERE):
        raise ValueError("ours")


@pytest.mark.parametrize("status", [*range(300, 310), *range(400, 430), *range(500, 512), 599])
def test_every_error_status_has_a_meaning(status: int) -> None:
    error = from_status(status, bridge="model", where=WHERE)
    assert str(status) in error.message
    assert " — " in error.message
    assert error.retryable is (status >= 500 or status in (408, 429))
    if isinstance(error, BridgeRejected):
        assert error.status == status


def test_a_status_that_tells_nothing_leaves_it_to_the_body() -> None:
    assert not has_own_meaning(200)
    assert not has_own_meaning(400)
    assert not has_own_meaning(500)
    assert has_own_meaning(503)
    assert has_own_meaning(301)
