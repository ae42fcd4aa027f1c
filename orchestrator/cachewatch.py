"""Notices when the engine's prefix cache does nothing for us (C30)."""

from __future__ import annotations

from typing import Final

from onlooker.decision import BuiltPrompt
from onlooker.types import Usage

PATIENCE_TICKS: Final = 20
MESSAGE: Final = (
    f"The server reused nothing of the last {PATIENCE_TICKS} prompts although most of each was "
    "unchanged; start it with --enable-prefix-caching, and route a session to one engine."
)


class CacheWatch:
    """Counts prompts that should have hit the cache and did not."""

    def __init__(self) -> None:
        self._cold = 0
        self._is_reported = False

    def is_cold(self, prompt: BuiltPrompt, usage: Usage) -> bool:
        """Take one finished call; True once, when the cache has been of no use for long.

        Prompts that are mostly new, and servers that do not count cached tokens, tell nothing.
        """
        if usage.cached_tokens is None or 2 * prompt.new_bytes > prompt.chars:
            return False
        if usage.cached_tokens > 0:
            self._cold, self._is_reported = 0, False
            return False
        self._cold += 1
        if self._cold < PATIENCE_TICKS or self._is_reported:
            return False
        self._is_reported = True
        return True
