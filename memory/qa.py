"""The Q&A history: queries, replies and delegated answers that left the tail, in order.

A query whose instruction still stands is shown by the standing section of the head instead, so that
each fact is visible once. Both bounds (count, tokens) are applied at boundaries only.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TypeAlias

from onlooker.memory.entries import DelegatedFact, HeardFact, QueryFact, TailTick
from onlooker.types import InstructionId, Ms, ResponseId


@dataclass(frozen=True, slots=True)
class QaQuery:
    """A query in the history, numbered through the session."""

    n: int
    instruction_id: InstructionId
    text: str
    at_ms: Ms

    @property
    def asking(self) -> tuple[InstructionId, Ms]:
        """Names this asking of the instruction."""
        return self.instruction_id, self.at_ms


@dataclass(frozen=True, slots=True)
class QaReply:
    """What was heard of a response; its continuation is an entry of its own."""

    response_id: ResponseId | None
    text: str
    at_ms: Ms
    question: str = ""
    """The question it delegated."""
    continued: bool = False


@dataclass(frozen=True, slots=True)
class QaDelegated:
    """A delegated answer."""

    question: str
    text: str
    at_ms: Ms
    delivery: str = ""
    failed: bool = False


QaItem: TypeAlias = QaQuery | QaReply | QaDelegated


class QaHistory:
    """Items in order of time."""

    def __init__(self) -> None:
        self.items: list[QaItem] = []
        self.asked = 0
        """Queries ever archived: the number of the last one."""

    def add_query(self, fact: QueryFact) -> None:
        """Archives a query; one asked again after a cut-off answer is there already."""
        if fact.cut_off:
            return
        self.asked += 1
        self._insert(QaQuery(self.asked, fact.instruction_id, fact.text, fact.at_ms))

    def add_reply(self, tick: TailTick, heard: str, question: str) -> None:
        """Archives what was heard of a tick's response."""
        self._insert(QaReply(tick.response_id, heard, tick.at_ms, question))

    def add_heard(self, fact: HeardFact) -> None:
        """Archives words that were heard after their response had left the chunk."""
        self._insert(QaReply(fact.response_id, fact.text, fact.at_ms, continued=True))

    def add_delegated(self, fact: DelegatedFact) -> None:
        """Archives a delegated answer."""
        self._insert(QaDelegated(fact.question, fact.text, fact.at_ms, fact.delivery, fact.failed))

    def correct(self, response_id: ResponseId, heard: str) -> None:
        """An archived reply turned out to be heard otherwise; shown from the next boundary on."""
        for place, item in enumerate(self.items):
            if isinstance(item, QaReply) and item.response_id == response_id and not item.continued:
                self.items[place] = replace(item, text=heard)

    def purge(self, response_id: ResponseId) -> None:
        """Drops a final reply of which nothing was heard. Others may still get words."""
        self.items = [
            item
            for item in self.items
            if not isinstance(item, QaReply)
            or item.response_id != response_id
            or item.text
            or item.question
        ]

    def visible(self, standing: Collection[tuple[InstructionId, Ms]]) -> list[QaItem]:
        """What the head shows: all but the askings that stand and replies not heard at all."""
        return [
            item
            for item in self.items
            if (not isinstance(item, QaQuery) or item.asking not in standing)
            and (not isinstance(item, QaReply) or item.text or item.question)
        ]

    def trim(
        self,
        standing: Collection[tuple[InstructionId, Ms]],
        *,
        entries: int,
        chars: int,
        length: Callable[[QaItem], int],
    ) -> None:
        """Forgets the oldest visible items until at most ``entries`` and ``chars`` are left."""
        seen = self.visible(standing)
        total = sum(length(item) + 1 for item in seen)
        drop: set[int] = set()
        while seen and (len(seen) > entries or total > chars):
            oldest = seen.pop(0)
            total -= length(oldest) + 1
            drop.add(id(oldest))
        self.items = [item for item in self.items if id(item) not in drop]

    def _insert(self, item: QaItem) -> None:
        insort(self.items, item, key=lambda one: one.at_ms)
