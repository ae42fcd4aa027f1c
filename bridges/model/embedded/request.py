"""Reads a chat-completions request body, and refuses what it cannot use in vLLM's words."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from onlooker.bridges.model.embedded.reading import Message, Part
from onlooker.bridges.model.embedded.sight.picture import picture_of

MODEL_NAME: Final = "embedded-eye"
ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool"})


class Refused(Exception):
    """The request gets an error body; see :meth:`body`."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        kind: str = "BadRequestError",
        param: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind
        self.param = param

    def body(self) -> dict[str, Any]:
        return {
            "error": {
                "message": self.message,
                "type": self.kind,
                "param": self.param,
                "code": self.status,
            }
        }


@dataclass(frozen=True, slots=True)
class ChatRequest:
    messages: tuple[Message, ...]
    stream: bool
    include_usage: bool
    max_tokens: int
    regex: re.Pattern[str] | None
    """``structured_outputs.regex``: the reply must match it."""

    @property
    def pictures(self) -> int:
        return sum(part.picture is not None for m in self.messages for part in m.parts)


@dataclass(frozen=True, slots=True)
class Limits:
    max_model_len: int = 131_072
    """Tokens, as the eye counts them."""
    max_images: int = 256
    max_body_bytes: int = 128 << 20


def read_request(body: bytes, limits: Limits) -> ChatRequest:
    """A validated request; raises :class:`Refused`."""
    if len(body) > limits.max_body_bytes:
        raise Refused("The request body is too large", status=413)
    data = _json_object(body)
    model = data.get("model", MODEL_NAME)
    if model != MODEL_NAME:
        raise Refused(
            f"The model `{str(model)[:80]}` does not exist; this is `{MODEL_NAME}`.",
            status=404, kind="NotFoundError", param="model",
        )  # fmt: skip
    messages = _messages(data.get("messages"))
    options = data.get("stream_options") or {}
    request = ChatRequest(
        messages=messages,
        stream=bool(data.get("stream", False)),
        include_usage=isinstance(options, dict) and bool(options.get("include_usage")),
        max_tokens=_max_tokens(data, limits),
        regex=_regex(data.get("structured_outputs")),
    )
    if request.pictures > limits.max_images:
        raise Refused(
            f"At most {limits.max_images} image(s) may be provided in one prompt. "
            "(parameter=image)",
            param="image",
        )
    return request


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused("The body is not JSON", kind="Bad Request") from error
    if not isinstance(data, dict):
        raise Refused("The body is not a JSON object", kind="Bad Request")
    return data


def _messages(raw: Any) -> tuple[Message, ...]:
    if not isinstance(raw, list) or not raw:
        raise Refused("messages must be a list of at least one message", param="messages")
    messages: list[Message] = []
    pictures = 0
    for item in raw:
        if not isinstance(item, dict) or item.get("role") not in ROLES:
            raise Refused("Each message needs a known role", param="messages")
        parts = _parts(item.get("content"), pictures)
        pictures += sum(part.picture is not None for part in parts)
        messages.append(Message(item["role"], parts))
    return tuple(messages)


def _parts(content: Any, pictures: int) -> tuple[Part, ...]:
    if content is None or isinstance(content, str):
        return (Part(text=content),) if content else ()
    if not isinstance(content, list):
        raise Refused("content must be text or a list of parts", param="messages")
    parts: list[Part] = []
    for item in content:
        part = _part(item, pictures)
        pictures += part.picture is not None
        parts.append(part)
    return tuple(parts)


def _part(item: Any, index: int) -> Part:
    if isinstance(item, dict) and item.get("type") == "text" and isinstance(item.get("text"), str):
        return Part(text=item["text"])
    if not isinstance(item, dict) or item.get("type") != "image_url" or "image_url" not in item:
        raise Refused("Missing 'type' field in multimodal part.", param="messages")
    value, uuid = item["image_url"], item.get("uuid")
    url = value.get("url") if isinstance(value, dict) else value
    if not all(text is None or isinstance(text, str) for text in (url, uuid)):
        raise Refused("image_url must hold a data URL, and uuid a string", param="messages")
    if not url and not uuid:
        raise Refused("image_url holds no data and there is no uuid", param="messages")
    return Part(picture=picture_of(index, uuid or None, url or None))


def _max_tokens(data: dict[str, Any], limits: Limits) -> int:
    value = data.get("max_completion_tokens") or data.get("max_tokens") or 1_024
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise Refused("max_tokens must be at least 1", param="max_tokens")
    if value > limits.max_model_len:
        raise Refused(
            f"max_tokens={value} cannot be greater than max_model_len={limits.max_model_len}.",
            param="max_tokens",
        )
    return value


def _regex(structured: Any) -> re.Pattern[str] | None:
    pattern = structured.get("regex") if isinstance(structured, dict) else None
    if pattern is None:
        return None
    try:
        return re.compile(pattern)
    except (re.error, TypeError, RecursionError) as error:
        raise Refused("Grammar error: the regex cannot be used") from error
