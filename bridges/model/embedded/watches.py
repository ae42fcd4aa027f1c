"""Monitors as small machines that are stepped through the prompt, tick by tick.

A watch is rebuilt for every request, sees each tick's view, and hears what was actually said in
it. So it tells of an event again and again until the words were heard, is silent from then on
while the state lasts, and tells again after the state has really ended: what it says follows from
the prompt alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from onlooker.bridges.model.embedded.views import View

Level: TypeAlias = Callable[[View, bool], bool | None]
"""Whether a state holds in a view; the flag says that it held before, which lowers the bar.
None: unknown."""
Wording: TypeAlias = Callable[[View], str]


@dataclass(frozen=True, slots=True)
class Say:
    """What a task wants to be said now."""

    text: str
    question: str = ""
    """To be delegated; the text is then its note."""


class Task(Protocol):
    """One intent at work. Step it through the ticks from the one that asked: ``watch`` each,
    then ``hear`` all that was said in it; after ``watch`` of the open tick, ``wants`` says what is
    to be said now."""

    def watch(self, view: View) -> None: ...

    def hear(self, text: str, at_ms: int | None) -> None: ...

    def wants(self, view: View) -> Say | None: ...


LEFT_AFTER_MS: Final = 1_500
"""A thing that a detector misses for less time than this has not left."""


class Onset:
    """Tells when a state begins: a thing appears, it gets dark."""

    def __init__(
        self,
        level: Level,
        wording: Wording,
        key: str,
        *,
        off_ms: int = LEFT_AFTER_MS,
        told_at_first: bool = False,
        is_on: bool = False,
        off_since_ms: int | None = None,
        again: Wording | None = None,
    ) -> None:
        self._level = level
        self._wording = wording
        self._again = again if again is not None else wording
        self._key = re.compile(key, re.IGNORECASE)
        self._off_ms = off_ms
        self._told_at_first = told_at_first
        self._told = False
        self._was_told = False
        self._is_on = is_on
        self._off_since = off_since_ms
        self._now: bool | None = None

    def watch(self, view: View) -> None:
        self._now = self._level(view, self._is_on)
        if self._now is None:
            return
        if self._now:
            if self._off_ms == 0 and not self._is_on:
                # A momentary event: what was said of the one before is no news of this one.
                self._told = False
            self._told = self._told or self._told_at_first
            self._end(view.at_ms)  # it may have been gone for long enough before it came back
            self._is_on, self._off_since = True, None
        else:
            self._off_since = view.at_ms if self._off_since is None else self._off_since
            self._end(view.at_ms)
        self._told_at_first = False

    def _end(self, at_ms: int | None) -> None:
        if at_ms is None or self._off_since is None:
            return
        if at_ms - self._off_since >= self._off_ms:
            self._is_on = self._told = False

    def hear(self, text: str, at_ms: int | None) -> None:
        if self._key.search(text):
            self._told = self._was_told = True

    def wants(self, view: View) -> Say | None:
        if not self._now or self._told:
            return None
        return Say(self._again(view) if self._was_told else self._wording(view))


class Ending:
    """Tells when a state that was seen has ended: a thing left, all movement stopped."""

    def __init__(
        self,
        level: Level,
        wording: Wording,
        key: str,
        *,
        off_ms: int = LEFT_AFTER_MS,
        seen: bool = False,
        off_since_ms: int | None = None,
    ) -> None:
        self._level = level
        self._wording = wording
        self._key = re.compile(key, re.IGNORECASE)
        self._off_ms = off_ms
        self._seen = seen
        self._off_since = off_since_ms
        self._is_due = False

    def watch(self, view: View) -> None:
        now = self._level(view, self._seen)
        if now is None or view.at_ms is None:
            return
        if now:
            self._seen, self._off_since, self._is_due = True, None, False
        elif self._seen:
            if self._off_since is None:
                self._off_since = view.at_ms
            self._is_due = view.at_ms - self._off_since >= self._off_ms

    def hear(self, text: str, at_ms: int | None) -> None:
        if self._is_due and self._key.search(text):
            self._seen = self._is_due = False

    def wants(self, view: View) -> Say | None:
        return Say(self._wording(view)) if self._is_due and view.pictures else None
