"""Messages of a request, with their pictures set apart."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from onlooker.bridges.testing.fakevllm.refused import Refused

_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool"})


@dataclass(frozen=True, slots=True)
class FakePicture:
    """One picture of a request, without its data."""

    index: int
    """Among the pictures of the prompt."""
    uuid: str | None
    data_chars: int
    """Length of the data URL it was sent with; 0 when it went by uuid alone."""


@dataclass(frozen=True, slots=True)
class FakeMessage:
    role: str
    parts: tuple[str | FakePicture, ...]
    is_plain: bool
    """Its content was a string, not a list of parts."""

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(part for part in self.parts if isinstance(part, str))

    def as_json(self) -> dict[str, Any]:
        """Canonical form."""
        if self.is_plain:
            return {"role": self.role, "content": "".join(self.texts)}
        return {"role": self.role, "content": [_canonical_part(part) for part in self.parts]}


def _canonical_part(part: str | FakePicture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image_url", "image_url": None, "uuid": part.uuid}


def parse_object(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(400, "JSON decode error", kind="Bad Request") from error
    if not isinstance(data, dict):
        raise Refused(400, "Input should be a valid dictionary", kind="Bad Request")
    return data


def parse_messages(raw: Any, urls: list[str | None]) -> tuple[FakeMessage, ...]:
    """Appends the data URL (or None) of each picture to ``urls``."""
    if not isinstance(raw, list) or not raw:
        raise Refused(400, "messages must not be empty", param="messages")
    messages = []
    for item in raw:
        if not isinstance(item, dict) or item.get("role") not in _ROLES:
            raise Refused(400, "Unknown role in messages", param="messages")
        content = item.get("content")
        is_plain = content is None or isinstance(content, str)
        items = [{"type": "text", "text": content or ""}] if is_plain else content
        if not isinstance(items, list):
            raise Refused(400, "content must be a string or a list of parts", param="messages")
        parts = tuple(_part(one, urls) for one in items)
        messages.append(FakeMessage(item["role"], parts, is_plain))
    return tuple(messages)


def _part(item: Any, urls: list[str | None]) -> str | FakePicture:
    kind = item.get("type") if isinstance(item, dict) else None
    if kind == "text" and isinstance(item.get("text"), str):
        return str(item["text"])
    if kind != "image_url" or "image_url" not in item:
        raise Refused(400, "Missing 'type' field in multimodal part.")
    value, uuid = item["image_url"], item.get("uuid")
    url = value.get("url") if isinstance(value, dict) else value
    if not url and not uuid:
        raise Refused(400, "1 validation error for ChatCompletionContentPartImageParam: url")
    urls.append(url or None)
    return FakePicture(len(urls) - 1, uuid or None, len(url or ""))
