"""Writes completions: one JSON object, or the server-sent events that vLLM streams."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from onlooker.bridges.model.embedded.request import MODEL_NAME

_PIECE: Final = re.compile(r"\s*(?:\w{1,6}|[^\w\s])|\s+$")
"""About what a tokenizer makes: a marker arrives in several pieces, as it may from a model."""
_CREATED: Final = 0
"""The eye reads no clock; nobody needs this field."""


@dataclass(frozen=True, slots=True)
class Completion:
    id: str
    pieces: tuple[str, ...]
    finish_reason: str
    prompt_tokens: int
    cached_tokens: int

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def usage(self) -> dict[str, Any]:
        return {
            "prompt_tokens": self.prompt_tokens,
            "total_tokens": self.prompt_tokens + len(self.pieces),
            "completion_tokens": len(self.pieces),
            "prompt_tokens_details": {"cached_tokens": self.cached_tokens},
        }


def pieces_of(text: str, max_tokens: int) -> tuple[tuple[str, ...], str]:
    """``text`` in token-like pieces, at most ``max_tokens``, and the finish reason."""
    pieces = tuple(_PIECE.findall(text))
    if len(pieces) > max_tokens:
        return pieces[:max_tokens], "length"
    return pieces, "stop"


def whole(completion: Completion) -> dict[str, Any]:
    message = {"role": "assistant", "content": completion.text}
    choice = {"index": 0, "message": message, "finish_reason": completion.finish_reason}
    return {
        **_base(completion, "chat.completion"),
        "choices": [choice],
        "usage": completion.usage(),
    }


def events(completion: Completion, *, include_usage: bool) -> Iterator[bytes]:
    """The stream: a role, the pieces, the reason it ended, the usage, ``[DONE]``."""
    yield _event(completion, {"role": "assistant", "content": ""}, None)
    for piece in completion.pieces:
        yield _event(completion, {"content": piece}, None)
    yield _event(completion, {}, completion.finish_reason)
    if include_usage:
        base = _base(completion, "chat.completion.chunk")
        yield _line({**base, "choices": [], "usage": completion.usage()})
    yield b"data: [DONE]\n\n"


def _event(completion: Completion, delta: dict[str, Any], finish: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _line({**_base(completion, "chat.completion.chunk"), "choices": [choice]})


def _base(completion: Completion, kind: str) -> dict[str, Any]:
    return {"id": completion.id, "object": kind, "created": _CREATED, "model": MODEL_NAME}


def _line(data: dict[str, Any]) -> bytes:
    return (
        b"data: " + json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"
    )
