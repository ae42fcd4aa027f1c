"""Admission of a request: pictures, length, grammar, prefix cache, in the measured order."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from onlooker.bridges.testing.fakevllm.config import FakeConfig
from onlooker.bridges.testing.fakevllm.faults import too_long
from onlooker.bridges.testing.fakevllm.messages import FakeMessage
from onlooker.bridges.testing.fakevllm.pictures import HeldPicture, PictureCache
from onlooker.bridges.testing.fakevllm.refused import Refused
from onlooker.bridges.testing.fakevllm.request import ParsedRequest
from onlooker.bridges.testing.fakevllm.tokens import (
    CachedPrompt,
    PrefixCache,
    generation_tokens,
    message_tokens,
    picture_tokens,
    text_tokens,
)


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request the engine works on."""

    prompt: CachedPrompt
    image_tokens: int
    room_tokens: int
    """Most tokens the reply can have."""

    def usage(self, completion_tokens: int, *, with_details: bool = True) -> dict[str, Any]:
        usage: dict[str, Any] = {
            "prompt_tokens": self.prompt.prompt_tokens,
            "total_tokens": self.prompt.prompt_tokens + completion_tokens,
            "completion_tokens": completion_tokens,
        }
        if with_details:
            usage["prompt_tokens_details"] = {
                "cached_tokens": self.prompt.cached_tokens,
                "created_cache_tokens": self.prompt.created_tokens,
                "multimodal_tokens": {"image": self.image_tokens} if self.image_tokens else None,
            }
            usage["completion_tokens_details"] = None
        return usage


class Engine:
    """Both caches and their counters."""

    def __init__(self, config: FakeConfig) -> None:
        self._config = config
        self.pictures = PictureCache(config)
        self.prefixes = PrefixCache(config.block_tokens, config.max_blocks)
        self.counts: Counter[str] = Counter()

    def admit(self, parsed: ParsedRequest) -> Admitted:
        """Raises :class:`Refused`."""
        request = parsed.request
        known = self.pictures.keys()
        found = self.pictures.admit(request.pictures, parsed.urls)
        tokens = prompt_tokens(request.messages, found)
        count = len(tokens) // 4
        try:
            if count > self._config.max_model_len:
                raise too_long(count, self._config.max_model_len)
            _check_grammar(request.regex)
        except Refused:
            self.pictures.on_died_early(found, known)
            raise
        prompt = self.prefixes.meet(tokens, request.cache_salt)
        self.counts["prefix_queries"] += prompt.prompt_tokens
        self.counts["prefix_hits"] += prompt.cached_tokens
        return Admitted(
            prompt=prompt,
            image_tokens=sum(one.tokens for one in found),
            room_tokens=max(1, self._config.max_model_len - count),
        )

    def on_generated(self, admitted: Admitted, text: str) -> None:
        """The reply's blocks are cached too, so the next prompt finds them."""
        self.prefixes.extend(admitted.prompt, text_tokens(text))

    def count_tokens(self, messages: tuple[FakeMessage, ...], urls: list[str | None]) -> bytes:
        """Tokens of a prompt; both caches stay as they are."""
        pictures = [p for m in messages for p in m.parts if not isinstance(p, str)]
        return prompt_tokens(messages, self.pictures.peek(pictures, urls))


def prompt_tokens(messages: tuple[FakeMessage, ...], pictures: list[HeldPicture]) -> bytes:
    """The prompt, ready for the model to speak."""
    looks = [picture_tokens(one.key, one.tokens) for one in pictures]
    written = [
        message_tokens(
            message.role,
            (text_tokens(p) if isinstance(p, str) else looks[p.index] for p in message.parts),
        )
        for message in messages
    ]
    return b"".join((*written, generation_tokens()))


def _check_grammar(regex: str | None) -> None:
    if regex is None:
        return
    try:
        re.compile(regex)
    except (re.error, RecursionError) as error:
        raise Refused(400, "Grammar error: the regex cannot be compiled") from error
