"""Control markers: how models spell decisions, and the tokens that must never be spoken.

Theory of operation. A marker is a short tag between brackets. Families differ in the bracket, in
a slash, in case and in the name; all of them are accepted here, and nothing counts as a marker
until its closing bracket is there. Every proper prefix of a marker is *viable* (:func:`scan`
answers ``PENDING`` for it), so a reader that holds back viable text sees the same markers however
the text was cut into pieces.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final


class Marker(Enum):
    """What a whole tag means."""

    SILENCE = "silence"
    RESPOND = "respond"
    DELEGATE = "delegate"
    THINK_OPEN = "think_open"
    THINK_CLOSE = "think_close"
    CONTROL = "control"
    """A token of some chat template: the model's turn is over, whatever it goes on to say."""


class Scan(Enum):
    """What :func:`scan` found where no whole tag stands."""

    PENDING = "pending"
    """What is there could still become a tag."""
    TEXT = "text"
    """An ordinary character."""


DECISIONS: Final = {
    "silence": Marker.SILENCE,
    "silent": Marker.SILENCE,
    "response": Marker.RESPOND,
    "respond": Marker.RESPOND,
    "delegation": Marker.DELEGATE,
    "delegate": Marker.DELEGATE,
}
"""Names that decide; accepted in any bracket, any case, with or without a slash or spaces."""
_ANGLE_ONLY: Final = frozenset(
    {"think", "thinking", "s", "bos", "eos", "pad", "unk", "sys"}
    | {"start_of_turn", "end_of_turn", "end_of_utterance"}
)
_SQUARE_ONLY: Final = frozenset({"inst"})
BACKGROUND_CALL: Final = "background_call"
"""``<|background_call|>``, followed by a JSON object with the question as ``query``."""

ANGLES: Final = "<\uff1c"
"""ASCII and fullwidth, which Chinese text input produces."""
SQUARES: Final = "[\uff3b\u3010"
CLOSERS: Final = dict(zip(ANGLES + SQUARES, ">\uff1e]\uff3d\u3011", strict=True))
"""Opening bracket to closing bracket."""
OPENING: Final = re.compile(rf"[{ANGLES}\{SQUARES}]")
"""Every character a tag can begin with."""
MAX_TAG_CHARS: Final = 48
"""Longest text that may be a tag; longer runs of padding make it plain text."""

BLANK: Final = r"[ \t\u3000]*"
SLASH: Final = "/\uff0f"
PIPE: Final = "|\uff5c"
_NAMED: Final = re.compile(rf"{BLANK}([{SLASH}]?){BLANK}([a-z_]*)({BLANK}[{SLASH}]?{BLANK})")
_PIPED: Final = re.compile(rf"[{PIPE}]([\w .:\u2581-]{{0,32}})([{PIPE}]?)")


def scan(text: str, start: int) -> tuple[Marker | Scan, int]:
    """What stands at ``text[start]``, an opening bracket.

    Returns:
        The marker and the index behind it, or ``PENDING``/``TEXT`` and ``start``.
    """
    closer = CLOSERS[text[start]]
    window = text[start : start + MAX_TAG_CHARS]
    end = window.find(closer)
    if end >= 0:
        marker = _whole(window[0], window[1:end].lower())
        return (Scan.TEXT, start) if marker is None else (marker, start + end + 1)
    if len(window) < MAX_TAG_CHARS and _is_viable(window[0], window[1:].lower()):
        return Scan.PENDING, start
    return Scan.TEXT, start


def _whole(opener: str, body: str) -> Marker | None:
    if body[:1] and body[0] in PIPE:
        piped = _PIPED.fullmatch(body) if opener in ANGLES else None
        if piped is None or not piped[1] or not piped[2]:
            return None
        return Marker.DELEGATE if piped[1].strip() == BACKGROUND_CALL else Marker.CONTROL
    named = _NAMED.fullmatch(body)
    if named is None:
        return None
    slash, name, _ = named.groups()
    if name in DECISIONS:
        return DECISIONS[name]
    if body.strip(SLASH) != name or name not in _names(opener):
        return None
    if name.startswith("think"):
        return Marker.THINK_CLOSE if slash else Marker.THINK_OPEN
    return Marker.CONTROL


def _is_viable(opener: str, body: str) -> bool:
    if body[:1] and body[0] in PIPE:
        return opener in ANGLES and _PIPED.fullmatch(body) is not None
    named = _NAMED.fullmatch(body)
    if named is None:
        return False
    _, name, rest = named.groups()
    if rest:
        return name in DECISIONS or name in _names(opener)
    return any(known.startswith(name) for known in (*DECISIONS, *_names(opener)))


def _names(opener: str) -> frozenset[str]:
    return _ANGLE_ONLY if opener in ANGLES else _SQUARE_ONLY
