"""Keeps the model from saying, or asking, the same thing twice; never delays anything else.

Theory of operation. A line is compared by its normalised words with the last *fully heard* line
and with the lines fully heard within the cool-down. A genuine silence releases the last line but
not the cool-down, so a one-tick flicker or an A/B alternation does not repeat an alert (B21). A
fresh query, a forced response and a delegated answer release everything, so whatever a new trigger
asks for is never swallowed (C13). A judge holds back only text that can still become one of those
lines, and lets go at the first character that differs.
"""

from __future__ import annotations

import unicodedata
from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from onlooker.types import Ms

_SPOKEN_SIGNS: Final = frozenset("-%#&@*/\\")
"""Punctuation that changes what a line says: -3 is not 3, C# is not C."""
_KEPT_LINES: Final = 16


@lru_cache(maxsize=4096)
def _folded(char: str) -> str:
    """The character as a word holds it; a blank for one that only separates words."""
    if char in _SPOKEN_SIGNS:
        return char
    category = unicodedata.category(char)
    if category[0] in "LNM" or category in ("Sc", "Sm"):
        return char.casefold()
    return " "


def normalise(text: str) -> str:
    """Words of ``text`` in one case, one blank between them, punctuation dropped."""
    return " ".join("".join(map(_folded, text)).split())


def _could_become(words: str, text: str) -> bool:
    """Whether ``text``, continued somehow, can have exactly these words."""
    folded = "".join(map(_folded, text))
    start = " ".join(folded.split())
    if start and folded[-1] == " ":
        start += " "  # its last word is complete
    return f"{words} ".startswith(start)


class DedupJudge:
    """Judges one reply while it streams."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        self._lines = lines
        self._held = ""
        self._released = not lines

    @property
    def is_released(self) -> bool:
        """The reply is certainly new: nothing is held back any more."""
        return self._released

    def feed(self, text: str) -> str:
        """Takes the next piece and returns what may be spoken now, ``""`` while undecided."""
        if self._released:
            return text
        self._held += text
        if any(_could_become(line, self._held) for line in self._lines):
            return ""
        return self._release()

    def finish(self) -> tuple[bool, str]:
        """Ends the reply: (it is a repetition, the rest that may be spoken)."""
        if not self._released and normalise(self._held) in self._lines:
            self._held = ""
            return True, ""
        return False, self._release()

    def _release(self) -> str:
        self._released = True
        held, self._held = self._held, ""
        return held


@dataclass(frozen=True, slots=True)
class _Line:
    words: str
    at_ms: Ms


class Dedup:
    """What was said and asked lately, as far as repeating it would be a nuisance."""

    def __init__(self, *, repeat_cooldown_ms: int, delegation_cooldown_ms: int) -> None:
        self._repeat_cooldown_ms = repeat_cooldown_ms
        self._delegation_cooldown_ms = delegation_cooldown_ms
        self._last: str | None = None
        self._recent: deque[_Line] = deque(maxlen=_KEPT_LINES)
        self._asked: deque[_Line] = deque(maxlen=_KEPT_LINES)

    def open(self, now_ms: Ms) -> DedupJudge:
        """A judge for the reply that begins now."""
        lines = [] if self._last is None else [self._last]
        lines += [line.words for line in self._recent if self._is_hot(line, now_ms)]
        return DedupJudge(tuple(dict.fromkeys(lines)))

    def note_heard(self, text: str, now_ms: Ms) -> None:
        """A line was heard to its end. Lines cut short are not noted: they may be said again."""
        if words := normalise(text):
            self._last = words
            self._recent.append(_Line(words, now_ms))

    def on_silence(self) -> None:
        """The model itself chose silence: what it said before may be said again, after a while."""
        self._last = None

    def clear(self) -> None:
        """A new trigger (fresh query, forced response, delegated answer): every line is new."""
        self._last = None
        self._recent.clear()

    def is_repeat_delegation(self, question: str, now_ms: Ms) -> bool:
        """Whether this question was asked lately (B17)."""
        words = normalise(question)
        since = now_ms - self._delegation_cooldown_ms
        return any(line.words == words and line.at_ms > since for line in self._asked)

    def note_delegated(self, question: str, now_ms: Ms) -> None:
        """A question went to the background brain."""
        self._asked.append(_Line(normalise(question), now_ms))

    def clear_delegations(self) -> None:
        """The user asked something new: so may the model."""
        self._asked.clear()

    def _is_hot(self, line: _Line, now_ms: Ms) -> bool:
        return line.at_ms > now_ms - self._repeat_cooldown_ms
