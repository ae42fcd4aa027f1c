"""The dialects by name, and the canonical spelling of an action."""

from __future__ import annotations

from typing import Final, assert_never

from onlooker.decision.actions import Action, Delegate, Respond, Silence
from onlooker.decision.dialect import Dialect
from onlooker.decision.generic import GENERIC
from onlooker.decision.joyvl import JOYVL
from onlooker.decision.neutral import neutralise
from onlooker.errors import ConfigError
from onlooker.types import DialectText

__all__ = ["DIALECTS", "GENERIC", "JOYVL", "canonical", "dialect", "guess_dialect", "neutralise"]

DIALECTS: Final = {one.name: one for one in (JOYVL, GENERIC)}
"""Every dialect by its name."""


def dialect(name: str) -> Dialect:
    """The dialect of that name; raises ``ConfigError`` when there is none."""
    found = DIALECTS.get(name)
    if found is None:
        raise ConfigError(f"there is no dialect {name!r}; use one of {', '.join(DIALECTS)}")
    return found


def guess_dialect(model_name: str) -> Dialect:
    """The dialect a model of that name most likely speaks."""
    name = model_name.lower()
    return JOYVL if "joyai" in name or "joyvl" in name else GENERIC


def canonical(action: Action, text: DialectText) -> str:
    """The one spelling under which ``action`` is stored and shown to the model again.

    Words are neutralised, character for character, so that nothing a model read aloud from the
    scene can act when it is sent back.
    """
    match action:
        case Silence():
            return text.silence
        case Respond(words):
            return text.respond.format(text=neutralise(words))
        case Delegate("", question):
            form = text.delegate.replace("{note} ", "")
            return form.format(question=neutralise(question))
        case Delegate(note, question):
            return text.delegate.format(note=neutralise(note), question=neutralise(question))
        case _:
            assert_never(action)
