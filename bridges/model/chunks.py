"""Reads the chunks of a streamed chat completion into deltas and one end. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from onlooker.bridges.base import Finished, TextDelta
from onlooker.bridges.boundary import Code
from onlooker.bridges.model.refusals import read_error
from onlooker.bridges.model.sse import LineTooLong, SseReader
from onlooker.errors import BridgeError, BridgeProtocolError
from onlooker.types import Usage

MAX_STREAM_BYTES: Final = 16 << 20
"""More than any reply: about 40,000 tokens, one chunk each."""
_DONE: Final = "[DONE]"
_NO_ENDS: Final = frozenset({"abort", "error"})
"""Finish reasons that say that the server gave up."""


class CompletionReader:
    """Reads one stream. Feed it until :attr:`is_done` or the stream ends, then call
    :meth:`finish`.

    A stream can fail after it began with status 200, and can end without having finished: both
    are errors, never a reply (C35).
    """

    def __init__(self, *, bridge: str, where: str, max_bytes: int = MAX_STREAM_BYTES) -> None:
        self._bridge = bridge
        self._where = where
        self._max_bytes = max_bytes
        self._taken = 0
        self._events = SseReader()
        self._finish_reason: str | None = None
        self._usage: Usage | None = None
        self.is_done = False
        """The stream said that it is complete."""

    def feed(self, data: bytes) -> list[TextDelta]:
        """The text in the next bytes; raises ``BridgeError`` when the server failed."""
        self._taken += len(data)
        try:
            events = self._events.feed(data)
        except LineTooLong as error:
            raise self._too_large() from error
        if self._taken > self._max_bytes:
            raise self._too_large()
        texts = [self._take(event.data) for event in events]
        return [TextDelta(text) for text in texts if text]

    def finish(self) -> Finished:
        """The end of a reply that is whole; raises ``stream_cut`` for any other."""
        if self._finish_reason is None or self._finish_reason in _NO_ENDS:
            raise BridgeProtocolError(
                f"the {self._bridge} server at {self._where} ended a reply before it was finished "
                "— see its log if this repeats",
                bridge=self._bridge,
                code=Code.STREAM_CUT.value,
            )
        return Finished(self._finish_reason, self._usage)

    def _take(self, data: str) -> str:
        if self.is_done or data.strip() == _DONE:
            self.is_done = True
            return ""
        chunk = self._chunk(data)
        error = chunk.get("error")
        if error is not None:
            body = error if isinstance(error, Mapping) else {"message": str(error)}
            raise read_error(body, bridge=self._bridge, where=self._where)
        if (usage := read_usage(chunk.get("usage"))) is not None:
            self._usage = usage
        return self._choice(chunk.get("choices"))

    def _choice(self, choices: Any) -> str:
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, Mapping):
            return ""
        if isinstance(reason := choice.get("finish_reason"), str):
            self._finish_reason = reason
        delta = choice.get("delta")
        text = delta.get("content") if isinstance(delta, Mapping) else None
        return text if isinstance(text, str) else ""

    def _chunk(self, data: str) -> Mapping[str, Any]:
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._not_a_chunk() from error
        if not isinstance(chunk, dict):
            raise self._not_a_chunk()
        return chunk

    def _not_a_chunk(self) -> BridgeError:
        return BridgeProtocolError(
            f"the {self._bridge} server at {self._where} streams something else than JSON chunks — "
            "check that it offers streamed chat completions",
            bridge=self._bridge,
            code=Code.NOT_JSON.value,
        )

    def _too_large(self) -> BridgeError:
        return BridgeProtocolError(
            f"the {self._bridge} server at {self._where} sends more than a reply can be — "
            "see its log",
            bridge=self._bridge,
            code=Code.REPLY_TOO_LARGE.value,
            retryable=False,
        )


def read_usage(usage: Any) -> Usage | None:
    """Token counts as a server reported them; None where it did not."""
    if not isinstance(usage, Mapping):
        return None
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt is None:
        return None
    details = usage.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, Mapping) else None
    return Usage(prompt, completion or 0, cached)


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count else None
