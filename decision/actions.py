"""What a tick can come to: silence, a response, or a delegated question."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, assert_never


class ActionKind(StrEnum):
    """Outcome of a decision."""

    SILENCE = "silence"
    RESPOND = "respond"
    DELEGATE = "delegate"


@dataclass(frozen=True, slots=True)
class Silence:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class Respond:
    """Say ``text``."""

    text: str
    """Never empty, no control marker in it, no space around it."""


@dataclass(frozen=True, slots=True)
class Delegate:
    """Say ``note`` and hand ``question`` to the background brain."""

    note: str
    """May be empty: then nothing is said."""
    question: str
    """Never empty."""


Action: TypeAlias = Silence | Respond | Delegate


def kind_of(action: Action) -> ActionKind:
    """The kind of ``action``."""
    match action:
        case Silence():
            return ActionKind.SILENCE
        case Respond():
            return ActionKind.RESPOND
        case Delegate():
            return ActionKind.DELEGATE
        case _:
            assert_never(action)
