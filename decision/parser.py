"""Reads a model's reply as it streams: incremental, total, the same for every split.

Theory of operation. One superset grammar serves all dialects::

    reply = junk? ( silence | respond speech ( delegate question )? | delegate question ) end?
    end   = a further marker, or any chat-template token; what follows is ignored

The first marker decides, at its closing bracket and never before. Speech streams from there; white
space is held until a word follows it, and so is anything that may still become a marker. Because
a dropped marker always ends what is spoken, two harmless pieces can never join into one that acts.
Text without a marker is silence (B19), a response without words is silence (B20), and a delegated
question that was cut off is not asked (B22).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import TypeAlias

from onlooker.decision.actions import Action, ActionKind, Delegate, Respond, Silence
from onlooker.decision.markers import OPENING, Marker, Scan, scan


class Malformed(StrEnum):
    """What was wrong with a reply, for a counter. It is never an exception."""

    UNMARKED = "unmarked"
    """Text without a marker: silence."""
    LEADING_TEXT = "leading_text"
    """Text before the marker, dropped."""
    TRAILING_TEXT = "trailing_text"
    """Text after the end, dropped."""
    EXTRA_MARKER = "extra_marker"
    """A silence marker inside a response: it ends the response."""
    EMPTY_RESPONSE = "empty_response"
    """A response without words: silence."""
    EMPTY_QUESTION = "empty_question"
    """A delegation without a question: its note alone is said."""
    CUT_QUESTION = "cut_question"
    """A delegated question cut off by the token limit: not asked, its note alone is said."""


@dataclass(frozen=True, slots=True)
class ActionDecided:
    """The first marker is whole. Exactly one comes per reply.

    ``RESPOND`` means that speech follows, or may follow: it can still end as silence (no words) or
    as a delegation (a question after the note); :class:`ReplyEnded` has the last word.
    """

    kind: ActionKind


@dataclass(frozen=True, slots=True)
class SpeechText:
    """The next piece of what is to be spoken."""

    text: str


@dataclass(frozen=True, slots=True)
class QuestionText:
    """The whole delegated question; comes only when it is fit to be asked."""

    text: str


@dataclass(frozen=True, slots=True)
class ReplyEnded:
    """Always the last event."""

    action: Action
    malformed: Malformed | None = None


ParseEvent: TypeAlias = ActionDecided | SpeechText | QuestionText | ReplyEnded


class _Part(Enum):
    LEAD = auto()
    THOUGHT = auto()
    SPEECH = auto()
    QUESTION = auto()
    REST = auto()
    ENDED = auto()


class ReplyParser:
    """Parses one reply. Call :meth:`feed` with each delta, then :meth:`finish` once."""

    def __init__(self) -> None:
        self._part = _Part.LEAD
        self._held = ""
        self._space = ""
        self._said: list[str] = []
        self._asked: list[str] = []
        self._kind: ActionKind | None = None
        self._has_question = False
        self._question_closed = False
        self._malformed: Malformed | None = None
        self._events: list[ParseEvent] = []

    @property
    def kind(self) -> ActionKind | None:
        """What the first marker decided; None before it is whole."""
        return self._kind

    def feed(self, text: str) -> tuple[ParseEvent, ...]:
        """Takes the next delta (any string, also an empty one) and returns what it settled."""
        if self._part is _Part.ENDED:
            return ()
        data = self._held + text
        self._held = ""
        begin = place = 0
        while opening := OPENING.search(data, place):
            start = opening.start()
            found, place = scan(data, start)
            if found is Scan.TEXT:
                place = start + 1
                continue
            self._take(data[begin:start])
            if not isinstance(found, Marker):
                self._held = data[start:]
                return self._drain()
            self._on_marker(found)
            begin = place
        self._take(data[begin:])
        return self._drain()

    def finish(self, *, cut: bool) -> tuple[ParseEvent, ...]:
        """Ends the reply.

        Args:
            cut: The token limit ended it (``finish_reason`` is ``length``).
        """
        if self._part is _Part.ENDED:
            return ()
        self._settle_held(cut=cut)
        if self._kind is None:
            unmarked = self._malformed is not None or self._part is _Part.THOUGHT
            self._malformed = Malformed.UNMARKED if unmarked else None
            self._decide(ActionKind.SILENCE)
        action = self._action(cut=cut)
        self._part = _Part.ENDED
        self._events.append(ReplyEnded(action, self._malformed))
        return self._drain()

    def _drain(self) -> tuple[ParseEvent, ...]:
        events, self._events = tuple(self._events), []
        return events

    def _take(self, text: str) -> None:
        if not text:
            return
        match self._part:
            case _Part.SPEECH:
                if piece := self._words(text, self._said):
                    self._events.append(SpeechText(piece))
            case _Part.QUESTION:
                self._words(text, self._asked)
            case _Part.LEAD if text.strip():
                self._note(Malformed.LEADING_TEXT)
            case _Part.REST if text.strip():
                self._note(Malformed.TRAILING_TEXT)
            case _:
                pass

    def _words(self, text: str, onto: list[str]) -> str:
        """Appends ``text`` up to its last word; white space waits for the word after it."""
        text = self._space + text
        body = text.rstrip()
        self._space = text[len(body) :]
        if not onto:
            body = body.lstrip()
        if not body:
            return ""
        body = body.replace("\r\n", "\n").replace("\r", "\n")
        onto.append(body)
        return body

    def _on_marker(self, marker: Marker) -> None:
        match self._part:
            case _Part.LEAD:
                self._open(marker)
            case _Part.THOUGHT:
                if marker is Marker.THINK_CLOSE:
                    self._part = _Part.LEAD
            case _Part.SPEECH:
                self._after_speech(marker)
            case _Part.QUESTION:
                if marker is not Marker.DELEGATE or self._asked:
                    self._question_closed = True
                    self._part = _Part.REST
            case _:
                pass

    def _open(self, marker: Marker) -> None:
        match marker:
            case Marker.SILENCE:
                self._decide(ActionKind.SILENCE)
                self._part = _Part.REST
            case Marker.RESPOND:
                self._decide(ActionKind.RESPOND)
                self._part = _Part.SPEECH
            case Marker.DELEGATE:
                self._decide(ActionKind.DELEGATE)
                self._begin_question()
            case Marker.THINK_OPEN:
                self._part = _Part.THOUGHT
            case _:
                pass

    def _after_speech(self, marker: Marker) -> None:
        if marker is Marker.DELEGATE:
            self._begin_question()
        elif marker is not Marker.RESPOND or self._said:
            if marker is Marker.SILENCE:
                self._note(Malformed.EXTRA_MARKER)
            self._part = _Part.REST

    def _begin_question(self) -> None:
        self._has_question = True
        self._part = _Part.QUESTION

    def _decide(self, kind: ActionKind) -> None:
        self._kind = kind
        self._events.append(ActionDecided(kind))

    def _note(self, malformed: Malformed) -> None:
        if self._malformed is None:
            self._malformed = malformed

    def _settle_held(self, *, cut: bool) -> None:
        # A lone bracket at the end is text ("x <"); anything longer is a marker that never came.
        if len(self._held.strip()) == 1 and not cut:
            self._take(self._held)
        elif self._held and self._part is _Part.LEAD:
            self._note(Malformed.LEADING_TEXT)

    def _action(self, *, cut: bool) -> Action:
        if self._kind is ActionKind.SILENCE:
            return Silence()
        note = "".join(self._said)
        if self._has_question:
            question = _unwrapped("".join(self._asked))
            if not question:
                self._malformed = Malformed.EMPTY_QUESTION
            elif cut and not self._question_closed:
                self._malformed = Malformed.CUT_QUESTION
            else:
                self._events.append(QuestionText(question))
                return Delegate(note, question)
        elif not note:
            self._malformed = Malformed.EMPTY_RESPONSE
        return Respond(note) if note else Silence()


def _unwrapped(question: str) -> str:
    """The question itself where it came as a JSON object with the key ``query``."""
    if not question.startswith("{"):
        return question
    try:
        value = json.loads(question)
    except (ValueError, RecursionError):
        return question  # not JSON after all: it is the question, brace and all
    query = value.get("query")
    return query.strip() if isinstance(query, str) else question
