"""An account of all that was asked and said in a session, to look for in the end.

Entries are kept in a file, not in memory, so that they do not disturb what is measured. When a
summary is asked for, the ledger looks whether the request shows what was said in its range; in
the end it says of every entry where it is now.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from onlooker.memory import Memory, QueryFact, seconds
from onlooker.memory.budget import clip
from onlooker.orchestrator import commands as c
from onlooker.orchestrator import events as e
from onlooker.orchestrator.notices import DecisionMade, InstructionChanged, SummaryChanged
from onlooker.types import DialectText, Ms, canonical_bytes

PLACES: Final = ("prompt", "summary", "fallback", "forgotten", "lost")


@dataclass(frozen=True, slots=True)
class Entry:
    """One query, or one reply."""

    kind: str
    """``query`` or ``reply``."""
    at_ms: int
    """When it was asked; of a reply, when its tick began."""
    text: str
    question: str = ""
    """What a reply delegated."""


class Ledger:
    """Written by a session as its recorder. Close it after :meth:`account`.

    Args:
        query_chars: length at which memory visibly cuts a query.
    """

    def __init__(self, query_chars: int) -> None:
        self.queries = self.replies = 0
        self.unsummarised = Counter[str]()
        """By kind: entries that the request for the summary of their range did not show."""
        self._query_chars = query_chars
        self._file = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
        self._waiting: list[Entry] = []
        """Not seen in a request for a summary yet."""
        self._range: tuple[Ms, Ms] | None = None
        """Of the chunk whose summary is about to be asked for."""
        self._last_end_ms = -1
        """End of the range before."""

    def record(self, now_ms: Ms, event: e.Event, commands: Sequence[c.Command]) -> None:
        """One step of the session."""
        for command in commands:
            if isinstance(command, c.Emit):
                self._hear(command.notice)
            elif isinstance(command, c.Summarise) and self._range is not None:
                self._check(canonical_bytes(command.messages).decode(), self._range[1])
                self._range = None

    def _hear(self, notice: object) -> None:
        match notice:
            case InstructionChanged(_, at_ms, "armed" | "rearmed", text):
                self.queries += 1
                self._add(Entry("query", at_ms, clip(text, self._query_chars)))
            case DecisionMade() if notice.text or notice.question:
                self.replies += 1
                self._add(Entry("reply", notice.at_ms, notice.text, notice.question))
            case SummaryChanged(_, _, "chunk", "requested", start_ms, end_ms, _):
                self._range = (start_ms, end_ms)
            case _:
                pass

    def _add(self, entry: Entry) -> None:
        row = [entry.kind, entry.at_ms, entry.text, entry.question]
        self._file.write(json.dumps(row) + "\n")
        self._waiting.append(entry)

    def _check(self, request: str, end_ms: int) -> None:
        """A query of a tick that failed may be shown one range later than it was asked."""
        left = [one for one in self._waiting if not (one.at_ms <= end_ms and one.text in request)]
        self.unsummarised.update(one.kind for one in left if one.at_ms <= self._last_end_ms)
        self._waiting = [one for one in left if one.at_ms > self._last_end_ms]
        self._last_end_ms = max(self._last_end_ms, end_ms)

    def account(self, memory: Memory) -> dict[str, int]:
        """Where every entry is now, by :data:`PLACES`; nothing may be recorded after it.

        ``prompt``: shown word by word in the head or the tail, or staged for the next tick.
        ``summary``, ``fallback``: in the range of a summary, or of the text that stands in for
        one. ``forgotten``: older than the window of blocks. ``lost``: nowhere.
        """
        finder = Finder(memory)
        self._file.seek(0)
        found = Counter(finder.find(Entry(*json.loads(line))) for line in self._file)
        return {place: found[place] for place in PLACES}

    def close(self) -> None:
        """The file is deleted."""
        self._file.close()


class Finder:
    """Looks for entries in a memory as it is now."""

    def __init__(self, memory: Memory) -> None:
        self._text: DialectText = memory.text
        self._head = memory.head
        self._facts = {
            (fact.at_ms, fact.text)
            for fact in (*memory.staged, *(fact for tick in memory.tail for fact in tick.facts))
            if isinstance(fact, QueryFact)
        }
        self._replies = {(tick.at_ms, tick.spoken, tick.question) for tick in memory.tail}
        self._standing = {(one.at_ms, one.text) for one in memory.standing}
        view: dict[str, Any] = memory.view()
        self._spans = [*view["long_term"], *view["mid_term"]]
        self._gaps = view["gaps"]

    def find(self, entry: Entry) -> str:
        """One of :data:`PLACES`."""
        is_shown = self._shows_query(entry) if entry.kind == "query" else self._shows_reply(entry)
        if is_shown:
            return "prompt"
        for span in self._spans:
            if (
                span["start_ms"] < entry.at_ms <= span["end_ms"]
                or entry.at_ms == 0 == span["start_ms"]
            ):
                return "fallback" if span["fallback"] else "summary"
        is_in_gap = any(start <= entry.at_ms <= end for start, end in self._gaps)
        return "forgotten" if is_in_gap else "lost"

    def _shows_query(self, entry: Entry) -> bool:
        key = (entry.at_ms, entry.text)
        if key in self._facts:
            return True
        if key in self._standing and self._text.standing_line.format(text=entry.text) in self._head:
            return True
        line = self._text.qa_query.format(n="", seconds=seconds(entry.at_ms), text=entry.text)
        return line.removeprefix("#") in self._head

    def _shows_reply(self, entry: Entry) -> bool:
        if (entry.at_ms, entry.text, entry.question) in self._replies:
            return True
        said = entry.text + (f" ({entry.question})" if entry.question else "")
        line = self._text.qa_response.format(seconds=seconds(entry.at_ms), text=said.lstrip())
        return line in self._head
