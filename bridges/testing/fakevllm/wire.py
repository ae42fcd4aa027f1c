"""Answers as the measured server writes them: chunks, whole completions, pages."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

JSON_TYPE: Final = "application/json"
STREAM_TYPE: Final = "text/event-stream; charset=utf-8"
DONE: Final = b"data: [DONE]\n\n"
WEB_PAGE: Final = (
    b"<!DOCTYPE html>\n<html><head><title>Welcome</title></head><body>Hi</body></html>"
)
BAD_GATEWAY: Final = b"<html><head><title>502 Bad Gateway</title></head><body></body></html>"


def to_json(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()


def event(data: Any) -> bytes:
    return b"data: " + to_json(data) + b"\n\n"


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes the answer to one request."""

    id: str
    model: str
    created_s: int = 0

    def role(self) -> bytes:
        return self._event({"role": "assistant", "content": ""}, None)

    def delta(self, text: str, usage: Mapping[str, Any] | None = None) -> bytes:
        return self._event({"content": text}, None, usage=usage)

    def end(self, finish_reason: str, stop_reason: int | str | None) -> bytes:
        return self._event({"content": ""}, finish_reason, stop_reason=stop_reason)

    def usage(self, usage: Mapping[str, Any]) -> bytes:
        return event({**self._base("chat.completion.chunk"), "choices": [], "usage": usage})

    def whole(
        self, text: str, finish_reason: str, stop_reason: int | str | None, usage: Mapping[str, Any]
    ) -> bytes:
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text, "tool_calls": []},
            "logprobs": None,
            "finish_reason": finish_reason,
            "stop_reason": stop_reason,
        }
        base = self._base("chat.completion")
        return to_json({**base, "choices": [choice], "usage": usage})

    def _event(
        self,
        delta: Mapping[str, Any],
        finish_reason: str | None,
        *,
        stop_reason: int | str | None = None,
        usage: Mapping[str, Any] | None = None,
    ) -> bytes:
        choice: dict[str, Any] = {
            "index": 0,
            "delta": delta,
            "logprobs": None,
            "finish_reason": finish_reason,
        }
        if finish_reason is not None:
            choice["stop_reason"] = stop_reason
        data = {**self._base("chat.completion.chunk"), "choices": [choice]}
        return event(data if usage is None else {**data, "usage": usage})

    def _base(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created_s, "model": self.model}


def metrics_page(model: str, values: Mapping[str, float], finished: Counter[str]) -> bytes:
    """Prometheus text, with the names and labels of the measured server."""
    labels = f'engine="0",model_name="{model}"'
    lines = [f"vllm:{name}{{{labels}}} {float(value)}" for name, value in values.items()]
    name = "vllm:request_success_total"
    lines += [
        f'{name}{{{labels},finished_reason="{reason}"}} {float(finished[reason])}'
        for reason in ("stop", "length", "abort", "error")
    ]
    return ("\n".join(lines) + "\n").encode()
