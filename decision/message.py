"""Canonical bytes of messages: each is serialised once, pictures stay references.

Canonical JSON is ``json.dumps(..., ensure_ascii=False, separators=(",", ":"))`` with ``role``
before ``content``. A user message's content is a list of parts, every other one's a string. A
picture part is ``{"type":"image_url","image_url":null,"uuid":"<sha256>"}``, where a ``FrameRef``
segment stands for the ``null``. A list begins with its system message, so every later one brings
its comma along.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from onlooker.types import FrameRef, Segment, Segments

OPEN_USER: Final = b',{"role":"user","content":['
_CLOSE_USER: Final = b"]}"
_OPEN_PICTURE: Final = b'{"type":"image_url","image_url":'
_OPEN_LIST: Final = b'[{"role":"system","content":'
_OPEN_REPLY: Final = b',{"role":"assistant","content":'
CLOSE_LIST: Final = b"]"


def quoted(text: str) -> bytes:
    """``text`` as canonical JSON. What UTF-8 cannot carry (a lone surrogate) becomes ``?``."""
    return json.dumps(text, ensure_ascii=False).encode("utf-8", errors="replace")


def system_message(text: str) -> bytes:
    """Opens the list."""
    return _OPEN_LIST + quoted(text) + b"}"


def assistant_message(text: str) -> bytes:
    """A reply as it was delivered, in canonical spelling."""
    return _OPEN_REPLY + quoted(text) + b"}"


def text_part(text: str) -> bytes:
    """One text part of a user message."""
    return b'{"type":"text","text":' + quoted(text) + b"}"


@dataclass(frozen=True, slots=True)
class UserMessage:
    """One user message, serialised."""

    segments: Segments
    """The first is :data:`OPEN_USER` alone, so that a head can be put behind it."""
    chars: int
    """Characters of its texts."""
    size_bytes: int
    """Length in canonical form."""


def user_message(items: Iterable[str | FrameRef]) -> UserMessage:
    """Serialises texts and pictures, in order."""
    segments: list[Segment] = [OPEN_USER]
    literal = b""
    chars = 0
    for item in items:
        comma = b"," if literal else b""
        if isinstance(item, str):
            literal += comma + text_part(item)
            chars += len(item)
        else:
            segments += [literal + comma + _OPEN_PICTURE, item]
            literal = b',"uuid":' + quoted(item.uuid) + b"}"
    segments.append(literal + _CLOSE_USER)
    return UserMessage(tuple(segments), chars, canonical_size(segments))


def canonical_size(segments: Iterable[Segment]) -> int:
    """Length of :func:`onlooker.types.canonical_bytes`, without building it."""
    return sum(4 if isinstance(one, FrameRef) else len(one) for one in segments)
