"""Reads a request body as vLLM does, and refuses in vLLM's words what it would refuse."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from onlooker.bridges.testing.fakevllm.config import FakeConfig
from onlooker.bridges.testing.fakevllm.messages import (
    FakeMessage,
    FakePicture,
    parse_messages,
    parse_object,
)
from onlooker.bridges.testing.fakevllm.refused import Refused, internal_error

_HEAD_HEADERS: Final = (
    "[Video History]",
    "[Q&A History]",
    "[Earlier video]",
    "[Earlier conversation]",
    "[Standing requests]",
)
_WANTS_SUMMARY: Final = re.compile(r"\bwrite (?:the |your )?notes\b|\bsummari[sz]e\b", re.I)
_MARKERS: Final = re.compile(r"</?(?:silence|response|delegation)>|\[(?:SILENCE|RESPOND)\]")


@dataclass(frozen=True, slots=True)
class FakeRequest:
    """One accepted request, as a reply function and the request log see it."""

    messages: tuple[FakeMessage, ...]
    stream: bool
    fields: Mapping[str, Any]
    """Every other field of the body."""
    headers: Mapping[str, str]
    """By lower-case name."""
    client: tuple[str, int]
    """Address and port it came from: one port, one connection."""
    body_bytes: int
    max_tokens: int | None = None
    regex: str | None = None
    """``structured_outputs.regex``, or the choices as one."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """``stream_options``."""

    @property
    def request_id(self) -> str | None:
        return self.headers.get("x-request-id") or self.fields.get("request_id")

    @property
    def cache_salt(self) -> str | None:
        return self.fields.get("cache_salt")

    @property
    def skips_special_tokens(self) -> bool:
        return bool(self.fields.get("skip_special_tokens", True))

    @property
    def pictures(self) -> tuple[FakePicture, ...]:
        parts = (part for message in self.messages for part in message.parts)
        return tuple(part for part in parts if isinstance(part, FakePicture))

    @property
    def system(self) -> str:
        return "\n".join(t for m in self.messages if m.role == "system" for t in m.texts)

    @property
    def last_user_text(self) -> str:
        """Text of the last user message, the prompt head left out."""
        users = [message for message in self.messages if message.role == "user"]
        texts = users[-1].texts if users else ()
        return "\n".join(text for text in texts if not text.startswith(_HEAD_HEADERS))

    @property
    def is_summary(self) -> bool:
        """It asks for notes on a stretch of video, not for a decision."""
        if _WANTS_SUMMARY.search(self.last_user_text):
            return True
        return not _MARKERS.search(self.system) and bool(_WANTS_SUMMARY.search(self.system))

    def canonical(self) -> bytes:
        """The message list in canonical form, to compare prompts byte by byte."""
        messages = [message.as_json() for message in self.messages]
        return json.dumps(messages, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(slots=True)
class ParsedRequest:
    request: FakeRequest
    urls: list[str | None]
    """Of each picture; the log does not keep them."""


def parse_request(
    body: bytes, headers: Mapping[str, str], client: tuple[str, int], config: FakeConfig
) -> ParsedRequest:
    """Raises :class:`Refused`."""
    data = parse_object(body)
    _check_model(data, config)
    _check_numbers(data)
    urls: list[str | None] = []
    messages = parse_messages(data.get("messages"), urls)
    _check_pictures(data, urls, config)
    _check_flags(data)
    options = data.get("stream_options")
    request = FakeRequest(
        messages=messages,
        stream=bool(data.get("stream", False)),
        fields={name: value for name, value in data.items() if name != "messages"},
        headers=headers,
        client=client,
        body_bytes=len(body),
        max_tokens=_max_tokens(data, config),
        regex=_grammar(data.get("structured_outputs")),
        options=options if isinstance(options, dict) else {},
    )
    return ParsedRequest(request, urls)


def _check_model(data: Mapping[str, Any], config: FakeConfig) -> None:
    model = data.get("model")
    if model is not None and model != config.model:
        raise Refused(
            404, f"The model `{model}` does not exist.", kind="NotFoundError", param="model"
        )


def _check_numbers(data: Mapping[str, Any]) -> None:
    temperature, top_p = data.get("temperature"), data.get("top_p")
    if isinstance(temperature, int | float) and temperature < 0:
        raise Refused(
            400, f"temperature must be non-negative, got {temperature}.", param="temperature"
        )
    if isinstance(top_p, int | float) and not 0 < top_p <= 1:
        raise Refused(400, f"top_p must be in (0, 1], got {top_p}.", param="top_p")


def _check_pictures(data: Mapping[str, Any], urls: list[str | None], config: FakeConfig) -> None:
    if urls and not config.is_multimodal:
        raise Refused(400, f"{config.model} is not a multimodal model")
    if len(urls) > config.max_images:
        raise Refused(
            400,
            f"At most {config.max_images} image(s) may be provided in one prompt. "
            "(parameter=image)",
            param="image",
        )
    if urls and data.get("truncate_prompt_tokens") is not None:
        raise internal_error(
            f"Failed to apply prompt replacement for mm_items['image'][{len(urls) - 1}]",
            in_stream=False,
        )
    if data.get("mm_processor_kwargs") is not None:
        raise Refused(
            400, "mm_processor_kwargs needs --trust-request-mm-kwargs", param="mm_processor_kwargs"
        )


def _check_flags(data: Mapping[str, Any]) -> None:
    salt = data.get("cache_salt")
    if salt is not None and (not isinstance(salt, str) or not salt):
        raise Refused(400, "Parameter 'cache_salt' must be a non-empty string if provided.")
    if data.get("continue_final_message") and data.get("add_generation_prompt", True):
        raise Refused(
            400,
            "Cannot set both `continue_final_message` and `add_generation_prompt` to True.",
        )


def _max_tokens(data: Mapping[str, Any], config: FakeConfig) -> int | None:
    value = data.get("max_completion_tokens", data.get("max_tokens"))
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise Refused(400, f"max_tokens must be at least 1, got {value}.", param="max_tokens")
    if value > config.max_model_len:
        raise Refused(
            400,
            f"max_tokens={value} cannot be greater than max_model_len={config.max_model_len}. "
            "Please request fewer output tokens.",
            param="max_tokens",
        )
    return value


def _grammar(structured: Any) -> str | None:
    if structured is None:
        return None
    kinds = {name: value for name, value in dict(structured).items() if value is not None}
    if len(kinds) != 1:
        raise Refused(400, "You can only use one kind of structured outputs constraint at once.")
    if "choice" in kinds:
        return "|".join(re.escape(str(one)) for one in kinds["choice"])
    return str(kinds["regex"]) if "regex" in kinds else None
