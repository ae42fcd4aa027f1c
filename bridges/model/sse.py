"""Server-sent events, read incrementally: any split of the bytes gives the same events. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_LINE_BYTES: Final = 1 << 20
"""A longer line is no chunk of a chat completion."""
_BOM: Final = b"\xef\xbb\xbf"


class LineTooLong(ValueError):
    """A line grew past the bound without ending."""


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    data: str
    """The ``data`` lines, joined by newlines."""
    event: str = "message"


class SseReader:
    """Feed it bytes as they come; an event is given out at the blank line that ends it.

    Comments and the fields ``id`` and ``retry`` are skipped. What stands after the last blank line
    when a stream ends is no event: the stream was cut.
    """

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_line_bytes = max_line_bytes
        self._buffer = bytearray()
        self._searched = 0
        self._data: list[str] = []
        self._size = 0
        self._event = ""
        self._is_first_line = True
        self._after_return = False

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Take the next bytes and give out the events that are complete now.

        Raises:
            LineTooLong: a line or an event passed the bound.
        """
        if self._after_return and data:
            # The other half of a line end that was split between its two bytes.
            self._after_return = False
            data = data.removeprefix(b"\n")
        self._after_return = self._after_return or data.endswith(b"\r")
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._buffer += data
        events: list[ServerSentEvent] = []
        start = 0
        while (end := self._buffer.find(b"\n", max(start, self._searched))) >= 0:
            self._check(end - start)
            event = self._take_line(bytes(self._buffer[start:end]))
            start = end + 1
            if event is not None:
                events.append(event)
        del self._buffer[:start]
        self._searched = len(self._buffer)
        self._check(len(self._buffer))
        return events

    def _check(self, line_bytes: int) -> None:
        if line_bytes + self._size > self._max_line_bytes:
            raise LineTooLong(f"an event is longer than {self._max_line_bytes} bytes")

    def _take_line(self, line: bytes) -> ServerSentEvent | None:
        if self._is_first_line:
            self._is_first_line = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._end_event()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value.decode("utf-8", errors="replace"))
            self._size += len(value) + 1
        elif name == b"event":
            self._event = value.decode("utf-8", errors="replace")
        return None

    def _end_event(self) -> ServerSentEvent | None:
        data, event = self._data, self._event
        self._data, self._event, self._size = [], "", 0
        return ServerSentEvent("\n".join(data), event or "message") if data else None
