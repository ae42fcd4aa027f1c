"""Queries and how they end: what arrives from users, as facts and marks for the tail."""

from __future__ import annotations

from onlooker.memory import consolidation, head
from onlooker.memory.entries import (
    CancelFact,
    EndMark,
    ExpiredFact,
    Instruction,
    QueryFact,
)
from onlooker.memory.store import Store
from onlooker.types import BoundaryReason, InstructionId, Ms, ResponseId


def arm(store: Store, new: Instruction) -> tuple[tuple[InstructionId, str], ...]:
    """Arms an instruction and stages its query, after the end of what it replaces."""
    armed = store.instructions.arm(new)
    for old in armed.replaced:
        if store.text.cancel_is_boundary:
            store.stage(EndMark(old.instruction_id, old.at_ms))
        else:
            store.stage(CancelFact(old.instruction_id, old.text, new.at_ms))
    now = armed.instruction
    store.stage(QueryFact(now.instruction_id, now.text, now.at_ms))
    replaced = [(old.instruction_id, "replaced") for old in armed.replaced]
    return (*replaced, (now.instruction_id, armed.status))


def end(store: Store, gone: Instruction, fact: CancelFact | ExpiredFact) -> None:
    """An instruction was cancelled or is over: a fact, or a boundary where there are no words."""
    if not store.text.cancel_is_boundary:
        store.stage(fact)
        return
    for query in store.staging.withdraw(gone.instruction_id):
        store.history.withdraw(query)
    if head.is_shown(store, gone.instruction_id):
        store.withdrawn.append(gone.instruction_id)
        consolidation.force(store, BoundaryReason.CANCELLED)


def answered(store: Store, response_id: ResponseId) -> tuple[Instruction, ...]:
    """Ends the instructions that live until answered and that the response could know of."""
    place = store.chunk.find(response_id)
    if place is not None and store.chunk.ticks[place].question:
        return ()  # a note is not the answer
    decided_ms = store.replies.times.get(response_id, Ms(-1))
    unseen = _askings_after(store, place)
    ended = tuple(
        one
        for one in store.instructions.until_answered(decided_ms)
        if (one.instruction_id, one.at_ms) not in unseen
    )
    marks = tuple(EndMark(one.instruction_id, one.at_ms) for one in ended)
    for one in ended:
        store.instructions.end(one.instruction_id)
    if place is not None:
        store.chunk.mark(place, marks)
    else:
        for mark in marks:
            store.stage(mark)
    return ended


def _askings_after(store: Store, place: int | None) -> set[tuple[InstructionId, Ms]]:
    """Askings that a response in tick ``place`` cannot have seen."""
    later = [] if place is None else store.chunk.ticks[place + 1 :]
    facts = [fact for tick in later for fact in tick.facts]
    facts += store.open.facts if store.open is not None else ()
    return {
        (fact.instruction_id, fact.at_ms)
        for fact in (*facts, *store.staging.facts)
        if isinstance(fact, QueryFact) and not fact.cut_off
    }
