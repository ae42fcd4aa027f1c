"""One keep-alive connection to a model server, replaced when it can no longer be trusted.

A session has one connection of its own, so that behind several engine processes its ticks reach
the one that holds its pictures. A cancelled answer closes its connection; that is how the server
learns of it.
"""

from __future__ import annotations

import functools
import ipaddress
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import Final, cast

import httpx

from onlooker.bridges.boundary import Code, Deadline
from onlooker.bridges.http_errors import connection_errors
from onlooker.errors import BridgeError, BridgeProtocolError, BridgeUnavailable, ConfigError

MAX_ERROR_BYTES: Final = 64 << 10
_API_PATH: Final = "/v1"


@functools.cache
def shared_ssl_context() -> ssl.SSLContext:
    """The one context of this process: each costs 26 ms and most of a MiB to make."""
    return httpx.create_ssl_context()


@functools.cache
def _bare_context() -> ssl.SSLContext:
    """For plain http, which needs none but must be given one."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def parse_base_url(text: str) -> httpx.URL:
    """The base of all paths, ending in ``/v1`` unless a path was given.

    Raises:
        ConfigError: it is no http or https address.
    """
    try:
        url = httpx.URL(text.strip())
        port_is_usable = url.port is None or 0 < url.port < 65_536
    except (httpx.InvalidURL, ValueError) as error:
        raise _bad_url() from error
    if url.scheme not in ("http", "https") or not url.host or not port_is_usable:
        raise _bad_url()
    path = url.path.rstrip("/") or _API_PATH
    return url.copy_with(path=path, query=None, fragment=None)


def _bad_url() -> ConfigError:
    return ConfigError(
        "the model server's URL is no http or https address — give one such as "
        "http://127.0.0.1:8000/v1"
    )


def is_loopback(host: str) -> bool:
    """Whether ``host`` is this machine, so that no proxy may stand in between."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class _Line:
    """A client, and how many answers are being read from it."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.calls = 0
        self.is_retired = False

    async def retire(self) -> None:
        """Close it as soon as nobody reads from it any more."""
        self.is_retired = True
        if not self.calls:
            await self.client.aclose()


class Connection:
    """Sends requests over one connection; a second exists only while the first is closing.

    Args:
        base_url: of all paths, as :func:`parse_base_url` gives it.
        bridge: name for errors.
        headers: sent with every request.
        transport: stands in for the network; it is not replaced by :meth:`renew`.
        connect_timeout_s: longest wait for a connection.
    """

    def __init__(
        self,
        base_url: httpx.URL,
        *,
        bridge: str,
        headers: Mapping[str, str],
        transport: httpx.AsyncBaseTransport | None = None,
        connect_timeout_s: float = 5.0,
    ) -> None:
        self._base_url = base_url
        self._bridge = bridge
        self._headers = dict(headers)
        self._transport = transport
        self._connect_timeout_s = connect_timeout_s
        self._line = _Line(self._make_client())
        self._lines = {self._line}
        self._is_closed = False

    @property
    def where(self) -> str:
        """The server's address for messages: no credentials, no path."""
        host = f"[{self._base_url.host}]" if ":" in self._base_url.host else self._base_url.host
        port = f":{self._base_url.port}" if self._base_url.port else ""
        return f"{self._base_url.scheme}://{host}{port}"

    @asynccontextmanager
    async def send(
        self,
        method: str,
        path: str,
        deadline: Deadline,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        from_root: bool = False,
    ) -> AsyncIterator[httpx.Response]:
        """A request and its answer, whose body is not read yet. Leaving early closes the
        connection; after a 5xx it is never used again.

        Args:
            method: of the request.
            path: below the base URL.
            deadline: of the whole call.
            content: the body.
            headers: besides those of every request.
            from_root: leave the ``/v1`` of the base URL out.
        """
        line = self._line
        line.calls += 1
        try:
            with self._errors():
                request = line.client.build_request(
                    method, self._url(path, from_root=from_root), content=content, headers=headers
                )
                response = await deadline.wait(line.client.send(request, stream=True))
            try:
                yield response
            finally:
                if response.status_code >= 500:
                    await self.renew()
                await response.aclose()
        finally:
            line.calls -= 1
            if line.is_retired and not line.calls:
                self._lines.discard(line)
                await line.client.aclose()

    async def read(
        self, response: httpx.Response, deadline: Deadline, *, idle_s: float | None
    ) -> AsyncGenerator[bytes, None]:
        """The body piece by piece; ``idle_s`` counts from the first piece on."""
        body = cast("AsyncGenerator[bytes, None]", response.aiter_bytes())
        async with aclosing(body) as pieces:
            patience_s: float | None = None
            while True:
                with self._errors():
                    try:
                        piece = await deadline.wait(anext(pieces), idle_s=patience_s)
                    except StopAsyncIteration:
                        return
                patience_s = idle_s
                yield piece

    async def read_whole(
        self, response: httpx.Response, deadline: Deadline, *, max_bytes: int = MAX_ERROR_BYTES
    ) -> bytes:
        """The whole body; raises ``reply_too_large`` past the bound."""
        parts: list[bytes] = []
        size = 0
        async with aclosing(self.read(response, deadline, idle_s=None)) as pieces:
            async for piece in pieces:
                size += len(piece)
                if size > max_bytes:
                    raise BridgeProtocolError(
                        f"what {self.where} answers is too large for a {self._bridge} server — "
                        "check the URL",
                        bridge=self._bridge,
                        code=Code.REPLY_TOO_LARGE.value,
                        retryable=False,
                    )
                parts.append(piece)
        return b"".join(parts)

    async def renew(self) -> None:
        """Let the next request go over a new connection."""
        if self._transport is not None or self._is_closed:
            return
        old, self._line = self._line, _Line(self._make_client())
        self._lines.add(self._line)
        if not old.calls:
            self._lines.discard(old)
        await old.retire()

    async def aclose(self) -> None:
        """Close every connection; answers still being read end with an error."""
        self._is_closed = True
        for line in tuple(self._lines):
            line.is_retired = True
            await line.client.aclose()

    # -- private ------------------------------------------------------------------------------

    @contextmanager
    def _errors(self) -> Iterator[None]:
        self._check_open()
        try:
            with connection_errors(self._bridge, self.where):
                yield
        except BridgeError:
            # Whatever it looked like from inside, it was we who closed it.
            self._check_open()
            raise

    def _check_open(self) -> None:
        if self._is_closed:
            raise BridgeUnavailable(
                f"the {self._bridge} bridge is closed — make a new one",
                bridge=self._bridge,
                code=Code.CLOSED.value,
                retryable=False,
            )

    def _url(self, path: str, *, from_root: bool) -> httpx.URL:
        base = self._base_url.path
        if from_root:
            base = base.removesuffix(_API_PATH)
        return self._base_url.copy_with(path=base + path)

    def _make_client(self) -> httpx.AsyncClient:
        is_secure = self._base_url.scheme == "https"
        return httpx.AsyncClient(
            transport=self._transport,
            verify=shared_ssl_context() if is_secure else _bare_context(),
            trust_env=not is_loopback(self._base_url.host),
            headers=self._headers,
            # Only connecting is timed here; all else has the call's deadline.
            timeout=httpx.Timeout(None, connect=self._connect_timeout_s),
            limits=httpx.Limits(
                max_connections=2, max_keepalive_connections=1, keepalive_expiry=None
            ),
            follow_redirects=False,
        )
