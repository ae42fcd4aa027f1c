"""What can be asked of the eye: a closed union of small values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Compare(StrEnum):
    AT_LEAST = "at_least"
    AT_MOST = "at_most"
    EXACTLY = "exactly"


class Scene(StrEnum):
    """States of the whole picture that can be watched for or asked about."""

    MOVES = "moves"
    STILL = "still"
    CUT = "cut"
    DARK = "dark"
    BRIGHT = "bright"


@dataclass(frozen=True, slots=True)
class Thing:
    name: str
    """A COCO class."""
    colour: str | None = None


# -- monitors: told whenever the event happens -------------------------------------------


@dataclass(frozen=True, slots=True)
class Appears:
    things: tuple[Thing, ...]
    """Any one of them is enough."""


@dataclass(frozen=True, slots=True)
class Leaves:
    thing: Thing


@dataclass(frozen=True, slots=True)
class Returns:
    thing: Thing


@dataclass(frozen=True, slots=True)
class Reaches:
    """A number of things in view at once."""

    thing: Thing
    n: int
    compare: Compare


@dataclass(frozen=True, slots=True)
class SceneBecomes:
    scene: Scene


@dataclass(frozen=True, slots=True)
class ColourSeen:
    colour: str


@dataclass(frozen=True, slots=True)
class TextSeen:
    words: str | None
    """Normalised words to find, or None for any text."""


@dataclass(frozen=True, slots=True)
class CodeSeen:
    """A QR code comes into view."""


# -- questions: answered once -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Describe:
    pass


@dataclass(frozen=True, slots=True)
class Count:
    thing: Thing


@dataclass(frozen=True, slots=True)
class Present:
    thing: Thing


@dataclass(frozen=True, slots=True)
class ReadText:
    pass


@dataclass(frozen=True, slots=True)
class ReadCode:
    pass


@dataclass(frozen=True, slots=True)
class AskScene:
    scene: Scene


@dataclass(frozen=True, slots=True)
class AskColours:
    thing: Thing | None


@dataclass(frozen=True, slots=True)
class AskTime:
    pass


@dataclass(frozen=True, slots=True)
class Remind:
    """Told once, ``after_ms`` after the query."""

    after_ms: int
    about: str
    """What to remind of, in the user's words; may be empty."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """A question for someone who knows things."""

    question: str


@dataclass(frozen=True, slots=True)
class Unservable:
    """Anything else."""

    query: str


Monitor: TypeAlias = (
    Appears | Leaves | Returns | Reaches | SceneBecomes | ColourSeen | TextSeen | CodeSeen
)
Question: TypeAlias = (
    Describe | Count | Present | ReadText | ReadCode | AskScene | AskColours | AskTime
)
Intent: TypeAlias = Monitor | Question | Remind | Knowledge | Unservable

OBJECTS = (Appears, Leaves, Returns, Reaches, Count, Present)
"""Intents that cannot be served without the object detector (so also ``AskColours(thing)``)."""
TEXT = (TextSeen, ReadText)
"""Intents that cannot be served without the text reader."""
CODES = (CodeSeen, ReadCode)


def needs_objects(intent: Intent) -> bool:
    return isinstance(intent, OBJECTS) or (
        isinstance(intent, AskColours) and intent.thing is not None
    )


def needs_text(intent: Intent) -> bool:
    return isinstance(intent, TEXT)


def needs_codes(intent: Intent) -> bool:
    return isinstance(intent, CODES)
