"""Reads and writes one dialect, from its words alone (:class:`onlooker.types.DialectText`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from onlooker.types import DialectText

_FIELD: Final = re.compile(r"\{(\w+)[^{}]*\}")
_NUMERIC: Final = frozenset({"seconds", "start", "end", "n", "frames"})


@dataclass(frozen=True, slots=True)
class Template:
    """A ``str.format`` template that can also be read backwards."""

    text: str
    pattern: re.Pattern[str]
    opening: str
    """The constant text before the first field; may be empty."""

    @classmethod
    def of(cls, template: str) -> Template:
        pieces = _FIELD.split(template.strip())
        pattern = "".join(
            _constant(piece) if i % 2 == 0 else _field(piece) for i, piece in enumerate(pieces)
        )
        return cls(template, re.compile(pattern, re.DOTALL), pieces[0].strip())

    def read(self, text: str) -> dict[str, str] | None:
        """The fields of ``text``, or None when it was not made from this template."""
        found = self.pattern.fullmatch(text.strip())
        return {k: v.strip() for k, v in found.groupdict().items()} if found else None


def _constant(piece: str) -> str:
    """Exact, but lenient in the spaces next to a field: an empty field may have taken one along."""
    bare = piece.strip()
    if not bare:
        return r"\s*" if piece else ""
    before, after = piece[: len(piece) - len(piece.lstrip())], piece[len(piece.rstrip()) :]
    return (r"\s*" if before else "") + re.escape(bare) + (r"\s*" if after else "")


def _field(name: str) -> str:
    return rf"(?P<{name}>\d+(?:\.\d+)?)" if name in _NUMERIC else rf"(?P<{name}>.*?)"


class ReplyKind(StrEnum):
    SILENCE = "silence"
    RESPOND = "respond"
    DELEGATE = "delegate"


@dataclass(frozen=True, slots=True)
class Reply:
    """An assistant message, understood."""

    kind: ReplyKind
    text: str = ""
    """What was said (for a delegation: the note)."""
    question: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A recognised stretch of text: which template it came from, and its fields."""

    kind: str
    fields: dict[str, str]


_FACTS: Final = (
    "time_label", "cancelled_line", "expired_line", "delegated_line",
    "delegated_failed_line", "heard_line", "gap", "qa_query", "qa_response",
    "no_video", "camera_off", "unchanged", "range_label",
)  # fmt: skip
"""Fields of ``DialectText`` that can stand on a line of their own."""


class Dialect:
    """The words of one dialect, compiled once."""

    def __init__(self, words: DialectText) -> None:
        self.words = words
        self._lines = {name: Template.of(getattr(words, name)) for name in _FACTS}
        self._respond = Template.of(words.respond)
        self._delegate = Template.of(words.delegate)
        self.standing_line = Template.of(words.standing_line)
        self._cut_off = Template.of(words.cut_off_line)
        self.markers = _markers(words)
        self._headers = {
            words.video_history_header: "history",
            words.qa_history_header: "qa",
            words.standing_header: "standing",
            words.query_header: "query",
        }
        self._header = _header_pattern(self._headers)
        openings = {template.opening for template in self._lines.values()} - {""}
        self._openings = tuple(sorted(openings))

    # -- reading ---------------------------------------------------------------------------

    def sections(self, text: str) -> Iterator[tuple[str, str]]:
        """Cuts a text part at the dialect's headers: ``(kind, body)`` with kinds ``plain``,
        ``history``, ``qa``, ``standing`` and ``query``."""
        marks = list(self._header.finditer(text))
        lead = text[: marks[0].start()] if marks else text
        if lead.strip():
            yield "plain", lead
        ends = [mark.start() for mark in marks[1:]] + [len(text)]
        for mark, end in zip(marks, ends, strict=False):
            yield self._headers[mark[1]], text[mark.end() : end]

    def read_reply(self, text: str) -> Reply:
        """An assistant message in canonical form; anything else counts as silence."""
        text = text.strip()
        if fields := self._delegate.read(text):
            return Reply(ReplyKind.DELEGATE, fields["note"], fields["question"])
        if text == self.words.silence.strip():
            return Reply(ReplyKind.SILENCE)
        if fields := self._respond.read(text):
            return Reply(ReplyKind.RESPOND, fields["text"])
        return Reply(ReplyKind.SILENCE)

    def read_line(self, text: str) -> Line | None:
        """The one fact, label or notice that ``text`` is; None for anything else."""
        if not self.opens_line(text.lstrip()):
            return None
        for kind, template in self._lines.items():
            if template.opening and (fields := template.read(text)) is not None:
                return Line(kind, fields)
        return None

    def read_query(self, text: str) -> str:
        """The words of a query, without the remark that its answer was cut off."""
        fields = self._cut_off.read(text)
        return fields["text"] if fields else text.strip()

    def opens_line(self, text: str) -> bool:
        """Whether ``text`` begins as a fact, a label or a notice does."""
        return text.startswith(self._openings)

    # -- writing ---------------------------------------------------------------------------

    @property
    def silence(self) -> str:
        return self.words.silence

    def respond(self, text: str) -> str:
        return self.words.respond.format(text=text)

    def delegate(self, note: str, question: str) -> str:
        return self.words.delegate.format(note=note, question=question)

    def teaches_replies(self, system: str) -> bool:
        """Whether ``system`` names any of the reply forms, as that of a tick does."""
        return any(marker in system for marker in self.markers)

    def teaches_delegation(self, system: str) -> bool:
        """False when ``system`` teaches how to speak but not how to delegate (a persona that
        must answer by itself)."""
        speaking = _FIELD.split(self.words.respond)[0].strip()
        between = _FIELD.split(self.words.delegate)[2].strip()
        if not (speaking and between) or speaking not in system:
            return True
        # Personas spell the marker with or without its slash (B18).
        name = re.search(r"\w+", between)
        spelling = rf"[<\[]\s*/?\s*{name[0]}\s*[>\]]" if name else re.escape(between)
        return re.search(spelling, system, re.IGNORECASE) is not None


def _header_pattern(headers: Iterable[str]) -> re.Pattern[str]:
    known = sorted((header for header in headers if header.strip()), key=len, reverse=True)
    forms = "|".join(re.escape(header) for header in known) or r"(?!)"
    return re.compile(rf"^({forms})[^\S\n]*(?:\n|$)", re.MULTILINE)


def _markers(words: DialectText) -> tuple[str, ...]:
    """The constant pieces of the reply forms: what must never be part of spoken text."""
    forms = (words.silence, words.respond, words.delegate)
    pieces = {piece.strip() for form in forms for piece in _FIELD.split(form)[::2]}
    return tuple(sorted((piece for piece in pieces if piece), key=len, reverse=True))
