"""The fold (S2): what the events before the cut amount to.

Ticks that leave the chunk are folded in order: queries, replies and delegated answers become Q&A
items, what stands is tracked, and the pictures become a span of :class:`Tiers`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from onlooker.memory.entries import (
    CancelFact,
    DelegatedFact,
    ExpiredFact,
    Fact,
    GapFact,
    HeardFact,
    QueryFact,
    TailTick,
)
from onlooker.memory.instructions import FoldedStanding
from onlooker.memory.qa import QaHistory
from onlooker.memory.replies import Replies, canonical_heard
from onlooker.types import DialectText, InstructionId


class History:
    """Folded Q&A and folded standing instructions."""

    def __init__(self) -> None:
        self.qa = QaHistory()
        self.standing = FoldedStanding()

    def fold(self, tick: TailTick, replies: Replies, text: DialectText) -> None:
        """Takes in one tick that leaves the chunk."""
        for fact in tick.facts:
            self._fold_fact(fact)
        for mark in tick.ends:
            self.standing.end(mark)
        self._fold_reply(tick, replies, text)

    def _fold_fact(self, fact: Fact) -> None:
        match fact:
            case QueryFact():
                self.qa.add_query(fact)
                self.standing.ask(fact)
            case CancelFact() | ExpiredFact():
                self.standing.drop(fact.instruction_id)
            case DelegatedFact():
                self.qa.add_delegated(fact)
            case HeardFact():
                self.qa.add_heard(fact)
            case GapFact():
                pass  # lies inside the range that is folded
            case _:
                assert_never(fact)

    def _fold_reply(self, tick: TailTick, replies: Replies, text: DialectText) -> None:
        live = replies.get(tick.response_id)
        if live is not None:
            heard, question = replies.archive(live, text.interrupted_mark), live.question
        else:
            heard, question = tick.spoken, tick.question
        if heard or question:
            self.qa.add_reply(tick, heard, question)

    def withdraw(self, fact: QueryFact) -> None:
        """A query leaves the tail because its cancellation has no words (joyvl)."""
        self.qa.add_query(fact)

    def drop(self, instruction_id: InstructionId) -> None:
        """A cancelled instruction leaves the standing section at this boundary."""
        self.standing.drop(instruction_id)


def heard_form(tick: TailTick, replies: Replies, text: DialectText) -> TailTick:
    """``tick`` with a provisional reply cut to what was heard, for whoever summarises it."""
    live = replies.get(tick.response_id)
    return tick if live is None else replace(tick, reply=canonical_heard(live, text))


def spoken_of(reply: str, text: DialectText) -> tuple[str, str]:
    """Text (or note) and question of a canonical reply; two empty strings for silence."""
    if reply == text.silence:
        return "", ""
    before, _, rest = text.delegate.partition("{note}")
    between, _, after = rest.partition("{question}")
    if reply.startswith(before) and between in reply[len(before) :]:
        note, _, question = reply[len(before) :].partition(between)
        return note, question.removesuffix(after)
    before, _, after = text.respond.partition("{text}")
    return reply.removeprefix(before).removesuffix(after), ""
