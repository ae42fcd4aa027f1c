"""A stage for the eye: pictures drawn on the spot, prompts in a real dialect, a finder of fakes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import cv2
import httpx
import numpy as np
from numpy.typing import NDArray

from onlooker.bridges.model.embedded import Limits, Sight, create_app
from onlooker.bridges.model.embedded.reading import Message
from onlooker.bridges.model.embedded.request import read_request
from onlooker.bridges.model.embedded.sight.objects import Found
from onlooker.bridges.model.embedded.sight.store import PictureStore
from onlooker.decision import DIALECTS, Dialect, PromptBuilder
from onlooker.memory.entries import TailTick
from onlooker.types import ChunkIndex, Segments, canonical_bytes

BOTH = tuple(DIALECTS.values())
GENERIC = DIALECTS["generic"]
JOYVL = DIALECTS["joyvl"]


def encoded(image: NDArray[Any]) -> bytes:
    done, data = cv2.imencode(".png", image)
    assert done
    return data.tobytes()


def plain(blue: int, green: int, red: int, *, size: tuple[int, int] = (160, 90)) -> NDArray[Any]:
    return np.full((size[1], size[0], 3), (blue, green, red), np.uint8)


def scene(code: int) -> bytes:
    """A picture in which :class:`TableFinder` finds what its table says for ``code`` (0 to 11)."""
    return encoded(plain(*[20 * code + 10] * 3))


def qr(text: str) -> bytes:
    code = cv2.QRCodeEncoder.create().encode(text)
    big = cv2.resize(code, None, fx=8, fy=8, interpolation=cv2.INTER_NEAREST)
    framed = cv2.copyMakeBorder(big, 40, 40, 40, 40, cv2.BORDER_CONSTANT, value=255)
    return encoded(cv2.cvtColor(framed, cv2.COLOR_GRAY2BGR))


Things: TypeAlias = Mapping[int, Sequence[tuple[str, float] | Found]]


class TableFinder:
    """Finds by the grey level of :func:`scene`; counts its calls."""

    def __init__(self, table: Things) -> None:
        self._table = table
        self.calls = 0

    def find(self, image: NDArray[Any]) -> tuple[Found, ...]:
        self.calls += 1
        rows = self._table.get(int(image[0, 0, 0]) // 20, ())
        return tuple(row if isinstance(row, Found) else Found(*row) for row in rows)


class TableReader:
    """Reads what its table says for :func:`scene`."""

    def __init__(self, table: Mapping[int, tuple[str, ...]]) -> None:
        self._table = table

    def read(self, image: NDArray[Any]) -> tuple[str, ...]:
        return self._table.get(int(image[0, 0, 0]) // 20, ())


def eye_of(
    things: Things | None = None,
    texts: Mapping[int, tuple[str, ...]] | None = None,
    store: PictureStore | None = None,
) -> Sight:
    """An eye with fakes for the parts of the extra; without a table it has not got the part."""
    return Sight(
        finder=None if things is None else TableFinder(things),
        reader=None if texts is None else TableReader(texts),
        store=store,
    )


def uuid_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def picture_part(data: bytes, *, by_reference: bool = False) -> dict[str, Any]:
    url = {"url": "data:image/png;base64," + base64.b64encode(data).decode()}
    image_url = None if by_reference else url
    return {"type": "image_url", "image_url": image_url, "uuid": uuid_of(data)}


FIRST_CHUNK = ChunkIndex(0)


@dataclass(frozen=True)
class Remembered:
    """As much of a memory as the prompt builder reads."""

    tail: Sequence[TailTick]
    head: str = ""
    chunk: ChunkIndex = FIRST_CHUNK


def built(
    dialect: Dialect, *ticks: TailTick, head: str = "", system: str = "You watch."
) -> Segments:
    """The messages of a tick, as the orchestrator builds them."""
    return PromptBuilder(dialect, system).build(Remembered(ticks, head)).messages


def understood(messages: Segments) -> tuple[Message, ...]:
    """Those messages, as the eye reads them."""
    body = b'{"messages":' + canonical_bytes(messages) + b"}"
    return read_request(body, Limits()).messages


class Stage:
    """One session in front of the eye: builds each tick's prompt as the orchestrator does and
    keeps what was said in it."""

    def __init__(
        self,
        dialect: Dialect = GENERIC,
        sight: Sight | None = None,
        *,
        system: str = "",
        head: str = "",
        limits: Limits | None = None,
    ) -> None:
        self.dialect = dialect
        self.sight = sight if sight is not None else eye_of({}, {})
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": system}]
        self.usage: dict[str, Any] = {}
        self._head = head
        app = create_app(dialect.text, sight=self.sight, limits=limits)
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://eye", timeout=60
        )

    async def tick(
        self,
        at_s: float,
        *pictures: bytes,
        ask: str | Sequence[str] = (),
        facts: Sequence[str] = (),
        notice: str | None = None,
        heard: str | None = None,
    ) -> str:
        """One tick; returns the reply. ``heard`` replaces it in what later prompts show."""
        text = self.dialect.text
        queries = [ask] if isinstance(ask, str) else list(ask)
        parts = [
            text_part(f"{text.query_header}\n{query}{self.dialect.part_end}") for query in queries
        ]
        parts += [text_part(fact + "\n") for fact in facts]
        parts.append(text_part(notice or text.time_label.format(seconds=f"{at_s:.1f}")))
        parts += [picture_part(data) for data in pictures]
        if self._head:
            parts.insert(0, text_part(self._head))
            self._head = ""
        self.messages.append({"role": "user", "content": parts})
        reply = await self.complete()
        self.messages.append({"role": "assistant", "content": reply if heard is None else heard})
        return reply

    async def complete(self, **fields: Any) -> str:
        body = {"model": "embedded-eye", "messages": self.messages, **fields}
        answer = await self.client.post("/v1/chat/completions", json=body)
        assert answer.status_code == 200, answer.text
        data = answer.json()
        self.usage = data["usage"]
        return str(data["choices"][0]["message"]["content"])

    async def said(self, at_s: float, *pictures: bytes, **fields: Any) -> str:
        """Like :meth:`tick`, without the markers: empty when silent."""
        reply = await self.tick(at_s, *pictures, **fields)
        if reply == self.dialect.text.silence:
            return ""
        opening = self.dialect.text.respond.format(text="").strip()
        assert reply.startswith(opening)
        return reply.removeprefix(opening).strip()
