"""Makes text from users, summaries and background answers harmless inside a prompt.

Such text may hold, by accident or on purpose, our decision markers, tokens of a chat template
(which a server turns into real control tokens wherever they stand), a header of our own prompt or
a time label. Their opening bracket is replaced by a look-alike that no tokenizer gives a meaning:
people and models read the same words, and nothing acts. The replacement keeps the length, so
offsets into the text stay right.
"""

from __future__ import annotations

import re
from typing import Final

from onlooker.decision.markers import ANGLES, BLANK, DECISIONS, PIPE, SLASH, SQUARES

ANGLE_STAND_IN: Final = "\u2039"
"""Single left-pointing quotation mark."""
SQUARE_STAND_IN: Final = "\u3014"
"""Left tortoise shell bracket."""

_NAMES: Final = "|".join((*DECISIONS, "inst", "think(?:ing)?"))
_DECISION: Final = rf"{BLANK}(?:[{SLASH}]{BLANK})?(?:{_NAMES})\b"
_TIME: Final = rf"{BLANK}\d+(?:[.,]\d+)?{BLANK}s(?:ec(?:ond)?s?)?\b"
_TAG: Final = re.compile(rf"[{ANGLES}](?=[{SLASH}{PIPE}!A-Za-z_]|{_DECISION}|{_TIME})", re.I)
"""Tags and template tokens, decisions however spaced, time labels. ``5 < 10`` and ``<3`` stay."""
_SQUARE: Final = rf"[\{SQUARES}]"
_BRACKET: Final = re.compile(rf"{_SQUARE}(?={_DECISION}|(?-i:/?[A-Z][A-Z0-9_]+)[\]\uff3d])", re.I)
"""Decisions, ``[INST]`` and tokens such as ``[TOOL_CALLS]``."""

_HEADS: Final = (
    "user query|video history|q&a history|query|response|delegated answer|request|requested"
    "|said|earlier video|earlier conversation|standing requests|background answer|time"
    "|no video|camera off|unchanged"
).replace(" ", "[ ]+")
"""How the bracketed headers and labels of all dialects begin; a test holds this to them."""
_BREAKS: Final = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_SPACE: Final = rf"[^\S{_BREAKS}]*"
_HEADER: Final = re.compile(
    rf"(?:^|(?<=[{_BREAKS}]))(?P<lead>{_SPACE}(?:#\d+{_SPACE})?){_SQUARE}"
    rf"(?={BLANK}(?:{_HEADS})\b)",
    re.I,
)

_UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0e-\x1b\x7f]|[\ud800-\udfff]")


def neutralise(text: str) -> str:
    """``text`` with every control marker broken; same length, and idempotent.

    Also replaces control characters and lone surrogates, which no request body can carry.
    """
    text = _UNPRINTABLE.sub("\ufffd", text)
    text = _TAG.sub(ANGLE_STAND_IN, text)
    text = _BRACKET.sub(SQUARE_STAND_IN, text)
    return _HEADER.sub(lambda found: found["lead"] + SQUARE_STAND_IN, text)
