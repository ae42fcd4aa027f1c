"""What a fake server is like; the defaults are those of the measured one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SPECIAL_TOKENS: Final = {"</silence>": 151_669, "</response>": 151_670, "</delegation>": 151_671}
"""Decision markers that the served tokenizer holds to be special, and their ids."""


@dataclass(frozen=True, slots=True)
class FakeConfig:
    model: str = "tiny"
    max_model_len: int = 16_384
    """Tokens of prompt and reply."""
    max_images: int = 120
    """Pictures in one prompt."""
    block_tokens: int = 16
    """Tokens in one block of the prefix cache."""
    max_blocks: int = 65_536
    picture_cache_bytes: int = 4 << 30
    """Of the picture cache; a 448 x 448 picture takes about 1.2 MB. 0 turns it off."""
    is_multimodal: bool = True
    api_key: str | None = None
    version: str = "0.32.0"
    special_tokens: tuple[str, ...] = tuple(SPECIAL_TOKENS)
    first_token_s: float = 0.0
    """Time to the first token."""
    token_s: float = 0.0
    """Time between tokens."""
    max_running: int | None = None
    """Requests at once; more are answered 503."""
    allowed_media_domains: tuple[str, ...] | None = None
    """As the flag of that name. The fake never fetches anything."""
    max_body_bytes: int = 128 << 20
    max_logged: int = 512
    """Requests kept in the log, the newest."""
