"""What goes wrong over HTTP, as bridge errors: exceptions of httpx, and statuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import httpx

from onlooker.bridges.boundary import Code
from onlooker.errors import (
    BridgeError,
    BridgeProtocolError,
    BridgeRejected,
    BridgeTimeout,
    BridgeUnavailable,
)


@contextmanager
def connection_errors(bridge: str, where: str) -> Iterator[None]:
    """Turns what httpx raises while connecting, sending or reading into bridge errors.

    Args:
        bridge: name for the error.
        where: address for the message, without credentials.
    """
    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        raise from_httpx(error, bridge=bridge, where=where) from error


def from_httpx(error: Exception, *, bridge: str, where: str) -> BridgeError:
    """The bridge error for an exception of httpx."""
    match error:
        case httpx.ConnectTimeout():
            why = "does not answer — check its address and that no firewall is in between"
        case httpx.ConnectError():
            why = _why_no_connection(str(error))
        case httpx.TimeoutException():
            return BridgeTimeout(
                f"the {bridge} server at {where} took too long — see if it is overloaded",
                bridge=bridge,
                code=Code.TIMEOUT.value,
            )
        case httpx.UnsupportedProtocol() | httpx.InvalidURL():
            return BridgeRejected(
                f"{where} is no usable address — give one that begins with http:// or https://",
                bridge=bridge,
                code=Code.WRONG_URL.value,
            )
        case httpx.ProxyError():
            why = "is behind a proxy that refuses — check the proxy settings"
        case httpx.RemoteProtocolError() if not _is_disconnect(str(error)):
            return BridgeProtocolError(
                f"what answers at {where} does not speak HTTP — check host and port",
                bridge=bridge,
                code=Code.NOT_HTTP.value,
                retryable=False,
            )
        case _:
            return _cut(str(error), bridge=bridge, where=where)
    return BridgeUnavailable(
        f"the {bridge} server at {where} {why}", bridge=bridge, code=Code.UNREACHABLE.value
    )


def _cut(text: str, *, bridge: str, where: str) -> BridgeProtocolError:
    what = "cut the connection — see its log if this repeats"
    if "without sending a response" in text:
        what = "gave no answer — check host and port, and see its log if this repeats"
    return BridgeProtocolError(
        f"the {bridge} server at {where} {what}", bridge=bridge, code=Code.STREAM_CUT.value
    )


_TLS_WORDS: Final = ("ssl", "certificate", "tls", "wrong version number")
_NAME_WORDS: Final = ("name or service", "nodename", "name resolution", "getaddrinfo")


def _why_no_connection(text: str) -> str:
    text = text.lower()
    if any(word in text for word in _TLS_WORDS):
        return "cannot be trusted or speaks no TLS — check its certificate, or use http://"
    if any(word in text for word in _NAME_WORDS):
        return "has a host name that is not known here — check the spelling"
    return "cannot be reached — start it, or check host and port"


def _is_disconnect(text: str) -> bool:
    text = text.lower()
    return "disconnected" in text or "closed connection" in text or "incomplete" in text


@dataclass(frozen=True, slots=True)
class _Meaning:
    kind: type[BridgeError]
    code: Code
    advice: str
    retryable: bool


_BY_STATUS: Final = {
    401: _Meaning(BridgeRejected, Code.UNAUTHORIZED, "refuses the API key — set it", False),
    403: _Meaning(BridgeRejected, Code.UNAUTHORIZED, "forbids this — check the API key", False),
    404: _Meaning(
        BridgeRejected, Code.WRONG_URL, "does not know this path — check the URL's path", False
    ),
    405: _Meaning(
        BridgeRejected, Code.WRONG_URL, "does not know this path — check the URL's path", False
    ),
    408: _Meaning(BridgeTimeout, Code.TIMEOUT, "gave up waiting — try again", True),
    413: _Meaning(
        BridgeRejected, Code.REQUEST_TOO_LARGE, "takes no such body — raise its limit", False
    ),
    429: _Meaning(BridgeUnavailable, Code.BUSY, "takes no more requests now — try later", True),
    502: _Meaning(
        BridgeUnavailable, Code.UNREACHABLE, "is down behind its gateway — start it", True
    ),
    503: _Meaning(BridgeUnavailable, Code.BUSY, "takes no more requests now — try later", True),
    504: _Meaning(BridgeTimeout, Code.TIMEOUT, "took too long for its gateway — allow more", True),
}
_REDIRECT: Final = _Meaning(
    BridgeRejected, Code.WRONG_URL, "redirects — give the final address", False
)
_REFUSAL: Final = _Meaning(
    BridgeRejected, Code.BAD_REQUEST, "refuses the request — check its version and flags", False
)
_FAILURE: Final = _Meaning(
    BridgeUnavailable, Code.SERVER_ERROR, "failed — see its log if this repeats", True
)


def has_own_meaning(status: int) -> bool:
    """Whether the status alone tells what happened, whatever the body is."""
    return status in _BY_STATUS or 300 <= status < 400


def from_status(status: int, *, bridge: str, where: str) -> BridgeError:
    """The bridge error for an answer with an error status, by the status alone."""
    if 300 <= status < 400:
        meaning = _REDIRECT
    else:
        meaning = _BY_STATUS.get(status) or (_FAILURE if status >= 500 else _REFUSAL)
    message = f"the {bridge} server at {where} {meaning.advice} (status {status})"
    if meaning.kind is BridgeRejected:
        return BridgeRejected(message, bridge=bridge, status=status, code=meaning.code.value)
    return meaning.kind(
        message, bridge=bridge, code=meaning.code.value, retryable=meaning.retryable
    )
