"""A deterministic stand-in for a tokenizer, and a prefix cache that really is one.

About four characters make a token and a picture makes one per 32 x 32 pixels. What matters is
kept: the same prompt gives the same tokens, an appended message changes none before it, and cached
blocks are found by a chain of hashes, as vLLM does it.
"""

from __future__ import annotations

import functools
import hashlib
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

TOKEN_BYTES: Final = 4
CHARS_PER_TOKEN: Final = 4
PATCH_PX: Final = 32


def picture_token_count(width: int, height: int) -> int:
    """196 for 448 x 448."""
    return max(1, round(width / PATCH_PX)) * max(1, round(height / PATCH_PX))


@functools.lru_cache(maxsize=4_096)
def text_tokens(text: str) -> bytes:
    """Tokens of one text, four bytes each."""
    pieces = (text[at : at + CHARS_PER_TOKEN] for at in range(0, len(text), CHARS_PER_TOKEN))
    return b"".join(_token(piece.encode("utf-8", "surrogatepass")) for piece in pieces)


def picture_tokens(key: str, count: int) -> bytes:
    """Tokens of one picture; they differ from those of any other picture's key."""
    return _token(b"picture") + _token(key.encode()) * count + _token(b"/picture")


def message_tokens(role: str, parts: Iterable[bytes]) -> bytes:
    return b"".join((_opening(role), *parts, _token(b"end"), _token(b"\n")))


def generation_tokens() -> bytes:
    """What follows the last message: the model is to speak."""
    return _opening("assistant")


def token_ids(tokens: bytes) -> list[int]:
    return [
        int.from_bytes(tokens[at : at + TOKEN_BYTES], "big")
        for at in range(0, len(tokens), TOKEN_BYTES)
    ]


def _opening(role: str) -> bytes:
    return _token(b"start") + _token(role.encode()) + _token(b"\n")


def _token(piece: bytes) -> bytes:
    return zlib.crc32(piece).to_bytes(TOKEN_BYTES, "big")


@dataclass(slots=True)
class CachedPrompt:
    """A prompt that was met; :meth:`PrefixCache.extend` goes on from its end."""

    prompt_tokens: int
    cached_tokens: int
    created_tokens: int
    digest: bytes
    """Of the last full block."""
    rest: bytes
    """Tokens behind the last full block."""


class PrefixCache:
    """Full blocks of tokens, by the hash of a block and all before it; least recently met go
    first."""

    def __init__(self, block_tokens: int, max_blocks: int) -> None:
        self.block_tokens = block_tokens
        self._max_blocks = max_blocks
        self._blocks: OrderedDict[bytes, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._blocks)

    @property
    def fill(self) -> float:
        """Share of the blocks in use."""
        return len(self._blocks) / self._max_blocks

    def meet(self, tokens: bytes, salt: str | None = None) -> CachedPrompt:
        """How much of a prompt was met before; it is remembered."""
        digest = hashlib.blake2b((salt or "").encode(), digest_size=16).digest()
        count = len(tokens) // TOKEN_BYTES
        digests, digest, rest = self._chain(digest, tokens)
        hits = self._leading_hits(digests)
        # The last token is always computed: its logits are what the reply begins with.
        if hits and hits * self.block_tokens >= count:
            hits -= 1
        self._keep(digests)
        return CachedPrompt(
            prompt_tokens=count,
            cached_tokens=hits * self.block_tokens,
            created_tokens=(len(digests) - hits) * self.block_tokens,
            digest=digest,
            rest=rest,
        )

    def extend(self, prompt: CachedPrompt, tokens: bytes) -> None:
        """Remember what was generated after ``prompt``."""
        digests, prompt.digest, prompt.rest = self._chain(prompt.digest, prompt.rest + tokens)
        self._keep(digests)

    def clear(self) -> None:
        self._blocks.clear()

    def _chain(self, digest: bytes, tokens: bytes) -> tuple[list[bytes], bytes, bytes]:
        size = self.block_tokens * TOKEN_BYTES
        end = len(tokens) - len(tokens) % size
        digests = []
        for at in range(0, end, size):
            digest = hashlib.blake2b(digest + tokens[at : at + size], digest_size=16).digest()
            digests.append(digest)
        return digests, digest, tokens[end:]

    def _leading_hits(self, digests: Sequence[bytes]) -> int:
        for number, digest in enumerate(digests):
            if digest not in self._blocks:
                return number
        return len(digests)

    def _keep(self, digests: Sequence[bytes]) -> None:
        # From the end, so that when room is needed a prefix outlives what continues it.
        for digest in reversed(digests):
            self._blocks[digest] = None
            self._blocks.move_to_end(digest)
        while len(self._blocks) > self._max_blocks:
            self._blocks.popitem(last=False)
