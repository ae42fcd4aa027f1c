"""Arrivals that wait for the next tick: facts in order, and the pictures of a failed tick.

A tick is a transaction: what it took comes back, in order, before what arrived meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable

from onlooker.memory.entries import EndMark, Fact, QueryFact
from onlooker.types import FrameRef, InstructionId

Staged = Fact | EndMark


class Staging:
    """Facts and pictures that no committed tick holds yet."""

    def __init__(self) -> None:
        self.facts: list[Staged] = []
        self.frames: tuple[FrameRef, ...] = ()

    def add(self, fact: Staged) -> None:
        """Something arrived. The very same asking twice is one."""
        if isinstance(fact, QueryFact) and fact in self.facts:
            return
        self.facts.append(fact)

    def take(
        self, room_chars: int, length: Callable[[Fact], int]
    ) -> tuple[tuple[Fact, ...], tuple[EndMark, ...]]:
        """Takes facts in order while they fit (the first always does); the rest waits."""
        facts: list[Fact] = []
        ends: list[EndMark] = []
        taken = 0
        for fact in self.facts:
            if isinstance(fact, EndMark):
                ends.append(fact)
            else:
                room_chars -= length(fact)
                if facts and room_chars < 0:
                    break
                facts.append(fact)
            taken += 1
        self.facts = self.facts[taken:]
        return tuple(facts), tuple(ends)

    def give_back(
        self, facts: tuple[Fact, ...], ends: tuple[EndMark, ...], frames: tuple[FrameRef, ...]
    ) -> None:
        """A tick was rolled back."""
        self.facts = [*facts, *ends, *self.facts]
        if frames:
            self.frames = frames

    def withdraw(self, instruction_id: InstructionId) -> list[QueryFact]:
        """Removes an instruction's queries; returns them."""
        gone = [
            fact
            for fact in self.facts
            if isinstance(fact, QueryFact) and fact.instruction_id == instruction_id
        ]
        self.facts = [fact for fact in self.facts if fact not in gone]
        return gone

    def chars(self, length: Callable[[Fact], int], limit: int) -> int:
        """Characters the next tick would take, at most ``limit`` beyond its first fact."""
        total = 0
        for fact in self.facts:
            if not isinstance(fact, EndMark):
                size = length(fact)
                if total and total + size > limit:
                    break
                total += size
        return total
