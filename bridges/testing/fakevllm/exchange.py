"""One request and the way back, over ASGI."""

from __future__ import annotations

from collections.abc import Mapping

from onlooker.bridges.model.inprocess import Receive, Send
from onlooker.bridges.testing.fakevllm import wire
from onlooker.bridges.testing.fakevllm.refused import Refused


class Exchange:
    """One request and the way back."""

    def __init__(
        self, receive: Receive, send: Send, headers: Mapping[str, str], client: tuple[str, int]
    ) -> None:
        self.headers = headers
        self.client = client
        self._receive = receive
        self._send = send
        self.is_complete = False
        """The whole answer is on its way."""

    async def body(self, max_bytes: int) -> bytes:
        parts: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ConnectionResetError("the client left while it was sending")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > max_bytes:
                raise Refused(413, "The request body is too large")
            if not message.get("more_body", False):
                return b"".join(parts)

    async def until_left(self) -> None:
        """Returns when the client has gone, or the answer is complete."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def respond(self, status: int, body: bytes, media_type: str = wire.JSON_TYPE) -> None:
        await self.start(status, media_type, length=len(body))
        self.is_complete = True
        await self._send({"type": "http.response.body", "body": body})

    async def start(self, status: int, media_type: str, *, length: int | None = None) -> None:
        headers = [(b"content-type", media_type.encode())]
        if length is not None:
            headers.append((b"content-length", str(length).encode()))
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def send(self, piece: bytes) -> None:
        await self._send({"type": "http.response.body", "body": piece, "more_body": True})

    async def end(self) -> None:
        self.is_complete = True
        await self._send({"type": "http.response.body", "body": b""})
