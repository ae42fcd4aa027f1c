"""What became of the prefix from prompt to prompt, told from the prompts alone.

Nothing here knows which layout made them: the chunk is seen by its first picture, what is
summarised by the time ranges at the beginning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from onlooker.types import Usage

BLOCK_TOKENS: Final = 16
"""Tokens in one block of a prefix cache, vLLM's default."""
_RANGE: Final = re.compile(r"<\d+\.\d seconds-(\d+)\.\d seconds>\n(?!Nobody was watching)")


@dataclass(frozen=True, slots=True)
class Sent:
    """One prompt as a server got it."""

    body: str
    """Canonical JSON of the messages, without the closing bracket."""
    first: int
    """Second of its first picture: a new one begins a new chunk."""
    summarised: int
    """Seconds before this one are covered by summaries in the prompt."""

    @classmethod
    def read(cls, canonical: str, seconds: Mapping[str, int]) -> Sent:
        """Args: the message list in canonical form; the second of each picture, by uuid."""
        messages: list[dict[str, Any]] = json.loads(canonical)
        opening: list[dict[str, Any]] = messages[1]["content"]
        first = next(part["uuid"] for part in opening if part["type"] == "image_url")
        texts = "\n".join(part["text"] for part in opening if part["type"] == "text")
        ends = (int(match[1]) + 1 for match in _RANGE.finditer(texts))
        return cls(canonical.removesuffix("]"), seconds[first], max(ends, default=0))


@dataclass(frozen=True, slots=True)
class Cache:
    """What a server's prefix cache made of it."""

    cached: float
    """Share of all prompt tokens that were served from the cache, 0 to 1."""
    short_ticks: int
    """Ticks inside a chunk that missed more than their new tokens and one block."""
    most_missed: int
    """Tokens of the prompt before that a tick inside a chunk had computed again, at most."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one layout came to."""

    ticks: int
    boundaries: int
    """Ticks that begin a new chunk."""
    head_changes: int
    """Ticks whose prompt does not begin with the whole prompt before."""
    mid_chunk: int
    """Those of them that lie inside a chunk."""
    blind_ticks: int
    """Ticks that show neither the pictures of a closed chunk nor a summary of them."""
    reused: float
    """Share of the prompts' characters that stood in the prompt before, 0 to 1."""
    cache: Cache | None = None
    """None where no server was asked."""


def judge(
    prompts: Iterable[str], seconds: Mapping[str, int], usage: Sequence[Usage] | None = None
) -> Verdict:
    """Looks at one session's prompts, in order.

    Args:
        prompts: message lists in canonical form.
        seconds: the second of each picture, by uuid.
        usage: what the server said of each prompt.
    """
    sent = [Sent.read(one, seconds) for one in prompts]
    pairs = list(pairwise(sent))
    breaks = [(a, b) for a, b in pairs if not b.body.startswith(a.body)]
    return Verdict(
        ticks=len(sent),
        boundaries=sum(a.first != b.first for a, b in pairs),
        head_changes=len(breaks),
        mid_chunk=sum(a.first == b.first for a, b in breaks),
        blind_ticks=sum(one.summarised < one.first for one in sent),
        reused=sum(_common(a.body, b.body) for a, b in pairs) / sum(len(b.body) for _, b in pairs),
        cache=None if usage is None else _judge_cache(sent, usage),
    )


def _judge_cache(sent: Sequence[Sent], usage: Sequence[Usage]) -> Cache:
    told = list(zip(sent, usage, strict=True))
    # All of a prompt but the tick's new tokens is the prompt before.
    missed = [
        before.prompt_tokens - (now.cached_tokens or 0)
        for (a, before), (b, now) in pairwise(told)
        if a.first == b.first
    ]
    total = sum(one.prompt_tokens for one in usage)
    return Cache(
        cached=sum(one.cached_tokens or 0 for one in usage) / total,
        short_ticks=sum(tokens > BLOCK_TOKENS for tokens in missed),
        most_missed=max(missed, default=0),
    )


def _common(a: str, b: str) -> int:
    """Length of the common prefix."""
    if b.startswith(a):
        return len(a)
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[:middle] == b[:middle] else (low, middle - 1)
    return low
