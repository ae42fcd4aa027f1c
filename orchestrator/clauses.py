"""Cuts streaming text into clauses, so that speech starts before the text ends.

Theory of operation. The cuts are a function of the whole text alone: a place is decided only once
the characters its rule looks at are there, so any division of the text into pieces gives the same
clauses (C38's kind). A rule looks at the characters before the place, at the closing marks and
blanks after it, and at the first character of what follows; a clause is therefore out when the
next one begins, which in practice is the next piece the model sends. Every clause keeps its span
in the text: spans follow one another without gaps, blanks belong to the clause before them.

There are three kinds of places. After the end of a sentence a cut is always made. At a comma one
is made when the clause is long, in the first clause already when it is a few words long: the
first sound counts. When a clause grows beyond its limit without any mark, it is cut between words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["Clause", "ClauseConfig", "ClauseSegmenter", "is_wide"]


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of a response that is spoken at once."""

    text: str
    """Exactly the text of its span, blanks at its ends included."""
    start: int
    """First character, counted from the start of the response's text."""
    end: int
    """One past its last character."""


@dataclass(frozen=True, slots=True)
class ClauseConfig:
    """Lengths in *weight*: 1 for a character, 3 for a wide (CJK) one, near equal in speech."""

    first_soft: int = 10
    """The first clause may end at a comma from here."""
    soft: int = 60
    """Later clauses may end at a comma from here."""
    first_limit: int = 60
    """The first clause is cut between words from here."""
    limit: int = 180
    """Later clauses are cut between words from here."""


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# The full-width marks below are meant; they only look like their narrow kin.
_WIDE_ENDERS: Final = frozenset("。！？｡")  # noqa: RUF001
_WIDE_COMMAS: Final = frozenset("，；：、")  # noqa: RUF001
_CLOSERS: Final = frozenset("\"')]}»”’」』）】》〉*_`")  # noqa: RUF001
_OPENERS: Final = "\"'([{«“‘*_"  # noqa: RUF001
_COMMAS: Final = frozenset(",;:")
_STRONG: Final = frozenset(".!?…") | _WIDE_ENDERS
_TITLES: Final = _words("mr mrs ms dr prof st sgt capt lt")
"""Never the end of a sentence."""
_COUNTED: Final = _words(
    "no nos fig figs vol ch sec pp art nr jan feb mar apr jun jul aug sep sept oct nov dec"
)
"""Not the end of a sentence when a digit follows."""
_INSIDE: Final = _words("etc inc ltd co corp jr sr vs approx cf al ca a.m p.m")
"""Not the end of a sentence when it goes on in lower case."""
_DOTTED: Final = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}|[^\W\d_]")
"""An abbreviation with dots inside, or an initial; the last dot is the one in question."""
_WORD_MAX: Final = 24
"""No abbreviation is longer; keeps the look back short."""


def is_wide(char: str) -> bool:
    """True for a character of a script that is written without blanks between words."""
    return (
        "\u3040" <= char <= "\u30ff"
        or "\u3400" <= char <= "\u4dbf"
        or "\u4e00" <= char <= "\u9fff"
        or "\uf900" <= char <= "\ufaff"
        or "\U00020000" <= char <= "\U0003ffff"
    )


class ClauseSegmenter:
    """Segments one response. Feed it the text as it comes, then :meth:`finish` it once."""

    __slots__ = ("_config", "_first", "_has_words", "_pending", "_scanned", "_start", "_weight")

    def __init__(self, config: ClauseConfig | None = None) -> None:
        self._config = config or ClauseConfig()
        self._pending = ""
        self._start = 0
        self._first = True
        self._restart()

    def feed(self, text: str) -> tuple[Clause, ...]:
        """Take more text; returns the clauses that are whole now."""
        self._pending += text
        clauses: list[Clause] = []
        while (cut := self._next_cut()) is not None:
            clauses.append(self._cut(cut))
        return tuple(clauses)

    def finish(self) -> tuple[Clause, ...]:
        """The text is over; returns its last clause, if any text that is not blank is left."""
        return (self._cut(len(self._pending)),) if self._pending.strip() else ()

    def _cut(self, at: int) -> Clause:
        clause = Clause(self._pending[:at], self._start, self._start + at)
        self._pending = self._pending[at:]
        self._start = clause.end
        self._first = False
        self._restart()
        return clause

    def _restart(self) -> None:
        self._scanned = 0
        self._weight = 0
        self._has_words = False

    def _next_cut(self) -> int | None:
        """Scan on from where the last scan stopped; None until more text comes."""
        text = self._pending
        while self._scanned < len(text):
            at = self._scanned
            end = self._end_of_place(at)
            if end == len(text):
                return None  # what follows decides
            self._note(text[at:end])
            self._scanned = end
            if self._has_words and self._is_cut(at, end):
                return end
        return None

    def _end_of_place(self, at: int) -> int:
        """One past the marks, closing marks and blanks that belong to the character at ``at``."""
        text, end = self._pending, at + 1
        if text[at] in _STRONG:
            while end < len(text) and (text[end] in _STRONG or text[end] in _CLOSERS):
                end += 1
        while end < len(text) and text[end].isspace():
            end += 1
        return end

    def _note(self, piece: str) -> None:
        for char in piece:
            self._weight += 3 if is_wide(char) else 1
            self._has_words = self._has_words or char.isalnum()

    def _is_cut(self, at: int, end: int) -> bool:
        """Whether a clause ends at ``end``, given the place that began at ``at``."""
        text = self._pending
        marks = text[at:end].rstrip()
        follower = text[end]
        has_gap = len(marks) < end - at
        if "\n" in text[at:end]:
            return True
        if text[at] in _STRONG:
            is_wide_end = any(mark in _WIDE_ENDERS for mark in marks)
            return is_wide_end or (has_gap and not self._goes_on(at, marks, follower))
        config = self._config
        if self._is_comma(at, has_gap, follower):
            return self._weight >= (config.first_soft if self._first else config.soft)
        is_between = has_gap or (is_wide(text[at]) and is_wide(follower))
        return is_between and self._weight >= (config.first_limit if self._first else config.limit)

    def _is_comma(self, at: int, has_gap: bool, follower: str) -> bool:
        char = self._pending[at]
        if char in _WIDE_COMMAS:
            is_in_number = at > 0 and self._pending[at - 1].isdigit() and follower.isdigit()
            return not is_in_number
        return char in _COMMAS and has_gap

    def _goes_on(self, at: int, marks: str, follower: str) -> bool:
        """True when a dot with a blank after it does not end the sentence."""
        if marks[0] != "." or "." in marks[1:]:
            return False
        before = self._pending[max(0, at - _WORD_MAX) : at]
        word = before.split()[-1].lstrip(_OPENERS) if before.strip() else ""
        lowered = word.lower()
        if lowered in _INSIDE:
            return follower.islower()
        if lowered in _COUNTED:
            return follower.isdigit()
        is_list_number = word.isdigit() and self._pending[:at].strip() == word
        is_abbreviation = _DOTTED.fullmatch(word) is not None and not is_wide(word)
        return is_list_number or is_abbreviation or lowered in _TITLES
