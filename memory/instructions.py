"""Standing instructions, seen twice: as they are now, and as the frozen head tells them.

``Instructions`` is what is armed at this moment. ``FoldedStanding`` is the fold of the events up to
the cut (S2): what is asked, cancelled or answered later is told by the tail.
"""

from __future__ import annotations

from dataclasses import dataclass

from onlooker.memory.entries import EndMark, Instruction, QueryFact
from onlooker.types import InstructionId, Lifetime, LifetimeKind, Ms

MAX_ALIASES = 64


@dataclass(frozen=True, slots=True)
class Armed:
    """What :meth:`Instructions.arm` did."""

    instruction: Instruction
    status: str
    """``armed`` or ``rearmed``."""
    replaced: tuple[Instruction, ...] = ()


def same_words(one: str, other: str) -> bool:
    """Whether two queries ask the same (case and spacing aside)."""
    return " ".join(one.casefold().split()) == " ".join(other.casefold().split())


class Instructions:
    """The armed instructions in the order they were first asked, at most ``limit``."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.armed: dict[InstructionId, Instruction] = {}
        self.aliases: dict[InstructionId, InstructionId] = {}
        """Ids under which a standing instruction was asked again."""

    def arm(self, new: Instruction) -> Armed:
        """Adds ``new``, re-arms the one it repeats, or lets it take the place of the oldest."""
        for old in self.armed.values():
            if same_words(old.text, new.text):
                return self._rearm(old, new)
        replaced = [self.armed.pop(new.instruction_id)] if new.instruction_id in self.armed else []
        while len(self.armed) >= self.limit:
            replaced.append(self.armed.pop(next(iter(self.armed))))
        self._forget_aliases()
        self.armed[new.instruction_id] = new
        return Armed(new, "armed", tuple(replaced))

    def _rearm(self, old: Instruction, new: Instruction) -> Armed:
        again = Instruction(old.instruction_id, new.text, new.lifetime, new.at_ms, new.urgent)
        self.armed[old.instruction_id] = again
        if new.instruction_id != old.instruction_id:
            self.aliases[new.instruction_id] = old.instruction_id
            if len(self.aliases) > MAX_ALIASES:
                self.aliases.pop(next(iter(self.aliases)))
        return Armed(again, "rearmed")

    def find(self, instruction_id: InstructionId) -> Instruction | None:
        """The armed instruction of that id, also under an id it was asked again with."""
        known = self.aliases.get(instruction_id, instruction_id)
        return self.armed.get(known) or self.armed.get(instruction_id)

    def end(self, instruction_id: InstructionId) -> Instruction | None:
        """Disarms; None when it does not stand."""
        found = self.find(instruction_id)
        if found is not None:
            del self.armed[found.instruction_id]
            self._forget_aliases()
        return found

    def due(self, now_ms: Ms) -> tuple[Instruction, ...]:
        """Those whose time is over at ``now_ms``."""
        return tuple(
            one
            for one in self.armed.values()
            if one.lifetime.until_ms is not None and one.lifetime.until_ms <= now_ms
        )

    @property
    def next_expiry_ms(self) -> Ms | None:
        """Earliest end of a lifetime; None when none is timed."""
        ends = [o.lifetime.until_ms for o in self.armed.values() if o.lifetime.until_ms is not None]
        return min(ends, default=None)

    def until_answered(self, before_ms: Ms) -> tuple[Instruction, ...]:
        """Those that end with an answer, asked no later than ``before_ms``."""
        return tuple(
            one
            for one in self.armed.values()
            if one.lifetime.kind is LifetimeKind.ANSWERED and one.at_ms <= before_ms
        )

    def _forget_aliases(self) -> None:
        self.aliases = {new: old for new, old in self.aliases.items() if old in self.armed}


class FoldedStanding:
    """What stands according to the events folded into the head."""

    def __init__(self) -> None:
        self.by_id: dict[InstructionId, Instruction] = {}

    def ask(self, fact: QueryFact) -> None:
        """A query was folded; asking again moves an instruction's place in time only."""
        if fact.cut_off:  # the same asking once more; it may even have ended since
            return
        self.by_id[fact.instruction_id] = Instruction(
            fact.instruction_id, fact.text, Lifetime(), fact.at_ms
        )

    def drop(self, instruction_id: InstructionId) -> None:
        """A cancellation or expiry was folded."""
        self.by_id.pop(instruction_id, None)

    def end(self, mark: EndMark) -> None:
        """An asking ended; a later asking of the same instruction goes on."""
        known = self.by_id.get(mark.instruction_id)
        if known is not None and known.at_ms <= mark.asked_ms:
            del self.by_id[mark.instruction_id]

    @property
    def askings(self) -> set[tuple[InstructionId, Ms]]:
        """Names of the askings that the standing section shows."""
        return {(one.instruction_id, one.at_ms) for one in self.by_id.values()}
