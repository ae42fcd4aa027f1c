"""Builds the watches for the monitors: when each state holds, and how it is told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from onlooker.bridges.model.embedded import speech
from onlooker.bridges.model.embedded.language.intents import (
    Appears,
    CodeSeen,
    ColourSeen,
    Compare,
    Leaves,
    Monitor,
    Reaches,
    Returns,
    Scene,
    SceneBecomes,
    TextSeen,
    Thing,
)
from onlooker.bridges.model.embedded.record import Before, before
from onlooker.bridges.model.embedded.views import View
from onlooker.bridges.model.embedded.watches import LEFT_AFTER_MS, Ending, Level, Onset, Task

DARK_BELOW: Final = 60.0
"""Mean brightness of 255."""
_DARK_UNTIL: Final = 75.0
BRIGHT_FROM: Final = 150.0
_BRIGHT_UNTIL: Final = 130.0
_LIT_FROM: Final = 90.0
"""Bright enough for someone who saw it dark before."""
COLOUR_FROM: Final = 0.04
"""Share of the picture."""
_STILL_AFTER_MS: Final = 1_500
_LIGHT_AFTER_MS: Final = 1_000
_MOVING_UNTIL_MS: Final = 2_000


def watches_for(monitor: Monitor, markers: Sequence[str], history: str) -> list[Task]:
    """The tasks of one monitor. ``history`` is what the head tells of the video before the
    prompt's own pictures; empty for a query that came with or after them."""
    match monitor:
        case Appears(things):
            return [_appears(thing, before(history, thing.name)) for thing in things]
        case Leaves(thing):
            return [_leaves(thing, before(history, thing.name))]
        case Returns(thing):
            return [_returns(thing, before(history, thing.name))]
        case Reaches():
            return [_reaches(monitor)]
        case SceneBecomes(scene):
            return [_scene(scene)]
        case ColourSeen(colour):
            return [_colour(colour)]
        case TextSeen(words):
            return [_text(words, markers)]
        case CodeSeen():
            return [
                Onset(
                    lambda view, _: None if view.codes is None else bool(view.codes),
                    lambda view: speech.code_read(view.codes or (), markers),
                    speech.CODE_KEY,
                )
            ]


def _present(thing: Thing) -> Level:
    def level(view: View, held: bool) -> bool | None:
        count = view.count(thing, held=held)
        return None if count is None else count > 0

    return level


def _appears(thing: Thing, was: Before) -> Task:
    return Onset(
        _present(thing),
        lambda view: speech.appeared(thing, view.count(thing) or 0),
        speech.appeared_key(thing),
        is_on=was.in_view,
        off_since_ms=was.off_since_ms,
        again=lambda view: speech.appeared_again(thing, view.count(thing) or 0),
    )


def _leaves(thing: Thing, was: Before) -> Task:
    off_since = was.off_since_ms
    just_left = off_since is not None and was.end_ms - off_since < LEFT_AFTER_MS
    return Ending(
        _present(thing),
        lambda _: speech.left(thing),
        speech.left_key(thing),
        seen=was.in_view or just_left,
        off_since_ms=off_since if just_left else None,
    )


def _returns(thing: Thing, was: Before) -> Task:
    return Onset(
        _present(thing),
        lambda _: speech.returned(thing),
        speech.returned_key(thing),
        told_at_first=True,
        is_on=was.in_view,
        off_since_ms=was.off_since_ms,
    )


def _reaches(monitor: Reaches) -> Task:
    thing, n = monitor.thing, monitor.n

    def level(view: View, held: bool) -> bool | None:
        count = view.count(thing)
        if count is None:
            return None
        match monitor.compare:
            case Compare.AT_LEAST:
                return count >= n
            case Compare.AT_MOST:
                return count <= n
            case Compare.EXACTLY:
                return count == n

    return Onset(
        level,
        lambda view: speech.count_of(thing, view.count(thing) or 0),
        speech.count_key(thing),
    )


def _scene(scene: Scene) -> Task:
    told, key = speech.BECAME[scene], re.escape(speech.BECAME[scene])
    match scene:
        case Scene.MOVES:
            return Onset(_moves, lambda _: told, key, off_ms=_MOVING_UNTIL_MS)
        case Scene.STILL:
            return Ending(_moves, lambda _: told, key, off_ms=_STILL_AFTER_MS)
        case Scene.CUT:
            return Onset(_cuts, lambda _: told, key, off_ms=0)
        case Scene.DARK:
            return Onset(is_dark, lambda _: told, key, off_ms=_LIGHT_AFTER_MS)
        case Scene.BRIGHT:
            return Onset(_Brightens(), lambda _: told, key, off_ms=_LIGHT_AFTER_MS)


def _moves(view: View, held: bool) -> bool | None:
    change = view.change
    return None if change is None else change.is_moving


def _cuts(view: View, held: bool) -> bool | None:
    change = view.change
    return None if change is None else change.cut


def is_dark(view: View, held: bool = False) -> bool | None:
    luma = view.luma
    return None if luma is None else luma < (_DARK_UNTIL if held else DARK_BELOW)


class _Brightens:
    """Bright, or clearly lit after it was dark."""

    def __init__(self) -> None:
        self._was_dark = False

    def __call__(self, view: View, held: bool) -> bool | None:
        if view.luma is None:
            return None
        self._was_dark = self._was_dark or view.luma < DARK_BELOW
        least = _BRIGHT_UNTIL if held else BRIGHT_FROM
        return view.luma >= (_LIT_FROM if self._was_dark else least)


def _colour(colour: str) -> Task:
    def level(view: View, held: bool) -> bool | None:
        shares = view.colours
        least = COLOUR_FROM / 2 if held else COLOUR_FROM
        return None if shares is None else shares.get(colour, 0.0) >= least

    told = speech.colour_seen(colour)
    return Onset(level, lambda _: told, re.escape(told))


def _text(words: str | None, markers: Sequence[str]) -> Task:
    def level(view: View, held: bool) -> bool | None:
        if view.texts is None:
            return None
        return bool(view.texts) if words is None else words in plain_text(view.texts)

    return Onset(level, lambda view: speech.text_read(view.texts or (), markers), speech.TEXT_KEY)


def plain_text(lines: Sequence[str]) -> str:
    """Text in view as it is compared with a user's words."""
    return " ".join(re.sub(r"[^\w\s.]", " ", " ".join(lines).lower()).split())
