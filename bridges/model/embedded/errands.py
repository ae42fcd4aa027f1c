"""What is done once: questions, reminders, delegations and refusals, as tasks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from onlooker.bridges.model.embedded import speech
from onlooker.bridges.model.embedded.language.intents import (
    AskColours,
    AskScene,
    AskTime,
    Count,
    Describe,
    Knowledge,
    Present,
    Question,
    ReadCode,
    ReadText,
    Remind,
    Scene,
    Thing,
)
from onlooker.bridges.model.embedded.monitors import BRIGHT_FROM, is_dark
from onlooker.bridges.model.embedded.views import View
from onlooker.bridges.model.embedded.watches import Say

_Wording: TypeAlias = Callable[[View], str | None]
_MAIN_COLOUR_FROM: Final = 0.15
_FORGETFUL_FROM: Final = 24


class Once:
    """Says one thing until it was heard once."""

    def __init__(
        self, wording: Callable[[View], str | None], key: str, *, question: str = ""
    ) -> None:
        self._wording = wording
        self._key = re.compile(key, re.IGNORECASE)
        self._question = question
        self.is_done = False
        self._sight: View | None = None

    def watch(self, view: View) -> None:
        if view.pictures or view.notice in ("no_video", "camera_off"):
            self._sight = view

    def hear(self, text: str, at_ms: int | None) -> None:
        if self._key.search(text) or (self._question and self._question in text):
            self.is_done = True

    def wants(self, view: View) -> Say | None:
        # A tick that brings a query and no picture is answered from the newest picture.
        text = None if self.is_done else self._wording(self._sight or view)
        return Say(text, self._question) if text is not None else None


class Timer:
    """Confirms a reminder, then reminds once. The confirmation is also how a later prompt knows
    when the time began, after the query itself has gone into the head."""

    def __init__(self, remind: Remind, markers: Sequence[str], asked_ms: int | None) -> None:
        about = speech.clean(remind.about, markers)[: speech.MAX_QUOTE].strip()
        self._after_ms = remind.after_ms
        self._confirm = speech.reminder_set(remind.after_ms, about)
        self._remind = speech.reminder_due(remind.after_ms, about)
        self._asked_ms = asked_ms
        self._now_ms = asked_ms
        self._is_confirmed = False
        self.is_done = False

    def watch(self, view: View) -> None:
        if view.at_ms is not None:
            self._now_ms = view.at_ms
            self._asked_ms = view.at_ms if self._asked_ms is None else self._asked_ms

    def hear(self, text: str, at_ms: int | None) -> None:
        if self._confirm in text and not self._is_confirmed:
            self._is_confirmed = True
            self._asked_ms = at_ms if self._asked_ms is None else self._asked_ms
        if self._remind in text:
            self.is_done = True

    def wants(self, view: View) -> Say | None:
        if self.is_done:
            return None
        is_timed = self._asked_ms is not None and self._now_ms is not None
        if is_timed and (self._now_ms or 0) - (self._asked_ms or 0) >= self._after_ms:
            return Say(self._remind)
        return None if self._is_confirmed else Say(self._confirm)


def look_up(knowledge: Knowledge, markers: Sequence[str]) -> Once:
    """A question for the background brain, delegated once (B17)."""
    quote = speech.quoted(knowledge.question, markers)
    note = speech.looking_up(quote)
    question = speech.clean(knowledge.question, markers)
    return Once(lambda _: note, re.escape(note), question=question)


def refuse(sentence: str, quote: str) -> Once:
    return Once(lambda _: sentence, speech.refused_key(quote))


def answer(question: Question, markers: Sequence[str]) -> Once:
    """The task of one question about the view."""
    wording, key = _answer(question, markers)
    if isinstance(question, AskTime):
        return Once(wording, key)
    return Once(lambda view: _seen(view, wording), f"{key}|{re.escape(speech.NO_PICTURE)}")


def _seen(view: View, wording: _Wording) -> str | None:
    """Nothing before the first picture, and a plain word when the camera gives none."""
    if not view.pictures:
        return speech.NO_PICTURE if view.notice in ("no_video", "camera_off") else None
    return wording(view)


def _answer(question: Question, markers: Sequence[str]) -> tuple[_Wording, str]:
    """How a question is answered, and how its answer is recognised."""
    match question:
        case Describe():
            return describe, speech.DESCRIBED_KEY
        case Count(thing):
            return _counting(thing, speech.count_of), speech.count_key(thing)
        case Present(thing):
            return _counting(thing, speech.presence), speech.presence_key(thing)
        case ReadText():
            return lambda view: _read(view, markers), speech.TEXT_KEY
        case ReadCode():
            return lambda view: _codes(view, markers), speech.CODE_KEY
        case AskScene(scene):
            key = "|".join(re.escape(sentence) for sentence in speech.SCENE_ANSWERS[scene])
            return lambda view: _scene(scene, view), key
        case AskColours():
            return _colours_answer(question)
        case AskTime():
            return _elapsed, speech.TIME_KEY


def _counting(thing: Thing, say: Callable[[Thing, int], str]) -> _Wording:
    def wording(view: View) -> str | None:
        count = view.count(thing)
        return None if count is None else say(thing, count)

    return wording


def _elapsed(view: View) -> str | None:
    return None if view.at_ms is None else speech.time_told(view.at_ms)


def _read(view: View, markers: Sequence[str]) -> str | None:
    if view.texts is None:
        return None
    return speech.text_read(view.texts, markers) if view.texts else speech.NO_TEXT


def _codes(view: View, markers: Sequence[str]) -> str | None:
    if view.codes is None:
        return None
    return speech.code_read(view.codes, markers) if view.codes else speech.NO_CODE


def _scene(scene: Scene, view: View) -> str:
    states = {
        Scene.MOVES: view.change is not None and view.change.is_moving,
        Scene.DARK: bool(is_dark(view)),
        Scene.BRIGHT: (view.luma or 0.0) >= BRIGHT_FROM,
    }
    yes, no = speech.SCENE_ANSWERS[scene]
    return yes if states[scene] else no


def _colours_answer(question: AskColours) -> tuple[_Wording, str]:
    thing = question.thing
    if thing is None:
        return lambda view: speech.main_colours(main_colours(view)), speech.COLOURS_KEY
    return (
        lambda view: speech.colours_of_thing(thing, view.colours_of(thing)),
        speech.colours_of_thing_key(thing),
    )


def main_colours(view: View) -> list[str]:
    shares = view.colours or {}
    main = [name for name, share in shares.items() if share >= _MAIN_COLOUR_FROM]
    return main[:3] or list(shares)[:1]


def describe(view: View) -> str:
    """Everything the eye can tell of a view, in three short sentences."""
    luma = view.luma or 0.0
    light = (
        "dark" if is_dark(view) else "bright" if luma >= BRIGHT_FROM else "neither dark nor bright"
    )
    moving = "Something is moving." if _scene(Scene.MOVES, view).startswith("Yes") else ""
    scene = f"It is {light}, mostly {speech.listed(main_colours(view))}. {moving}"
    return speech.described(view.things(), scene).strip()


def is_settled(heard: int) -> bool:
    """Whether an errand that only the head knows of must be taken as done long ago.

    With so many later replies in the Q&A history its own reply may have been trimmed from it, and
    saying it again would be a fault that comes back at every trim.
    """
    return heard >= _FORGETFUL_FROM
