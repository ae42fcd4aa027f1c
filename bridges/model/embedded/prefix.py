"""Token counts, and a prefix memory that says how much of a prompt was met before.

The eye has no tokens; it counts as a model of this kind would (four bytes of text, one 32 x 32
block of a picture) and reports the leading part of the prompt that an earlier request had too. So
the gauges that show cache reuse show the truth about the prompt's bytes.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from onlooker.bridges.model.embedded.reading import Message
from onlooker.bridges.model.embedded.sight.store import Known

_BLOCK_BYTES: Final = 64
"""Text is compared in blocks of 16 tokens, as prefix caches do."""
_BYTES_PER_TOKEN: Final = 4
_PATCH: Final = 32
"""Pixels on a side that make one token of a picture."""
MAX_BLOCKS: Final = 50_000


def prompt_units(
    messages: Sequence[Message], admitted: Mapping[str, Known]
) -> Iterator[tuple[bytes, int]]:
    """The prompt as ``(content, tokens)`` units, in order."""
    for message in messages:
        yield f"\x00{message.role}\x00".encode(), 4
        for part in message.parts:
            if part.picture is not None:
                known = admitted[part.picture.key].glance
                yield part.picture.key.encode(), picture_tokens(known.width, known.height)
                continue
            data = part.text.encode("utf-8", "surrogatepass")
            for start in range(0, len(data), _BLOCK_BYTES):
                block = data[start : start + _BLOCK_BYTES]
                yield block, -(-len(block) // _BYTES_PER_TOKEN)


def picture_tokens(width: int, height: int) -> int:
    return max(1, round(width / _PATCH)) * max(1, round(height / _PATCH))


class PrefixMemory:
    """Remembers prompt prefixes by a chain of hashes; bounded, thread-safe."""

    def __init__(self, max_blocks: int = MAX_BLOCKS) -> None:
        self._max_blocks = max_blocks
        self._met: OrderedDict[bytes, None] = OrderedDict()
        self._lock = threading.Lock()

    def meet(self, units: Sequence[tuple[bytes, int]]) -> tuple[int, int]:
        """``(prompt tokens, tokens of the prefix met before)``; remembers the prompt.

        The last unit never counts as met: a model computes at least the end of its prompt.
        """
        chain = hashlib.blake2b(digest_size=16)
        prompt = cached = 0
        is_known = True
        with self._lock:
            for number, (content, tokens) in enumerate(units):
                chain.update(len(content).to_bytes(4, "big") + content)
                is_known = self._remember(chain.digest()) and is_known
                prompt += tokens
                if is_known and number < len(units) - 1:
                    cached = prompt
            while len(self._met) > self._max_blocks:
                self._met.popitem(last=False)
        return prompt, cached

    def _remember(self, key: bytes) -> bool:
        known = key in self._met
        self._met[key] = None
        self._met.move_to_end(key)
        return known
