from __future__ import annotations

import pytest

from onlooker.memory import EndMark, Instruction, QueryFact
from onlooker.memory.instructions import MAX_ALIASES, FoldedStanding, Instructions, same_words
from onlooker.types import InstructionId, Lifetime, LifetimeKind, Ms

pytestmark = pytest.mark.pure


def make(name: str, text: str, at: int = 0, lifetime: Lifetime | None = None) -> Instruction:
    return Instruction(InstructionId(name), text, lifetime or Lifetime(), Ms(at))


def ids(instructions: Instructions) -> list[str]:
    return list(instructions.armed)


def test_b14_several_instructions_live_side_by_side():
    some = Instructions(3)
    for n in range(3):
        assert some.arm(make(f"i{n}", f"task {n}")).replaced == ()
    assert ids(some) == ["i0", "i1", "i2"]


def test_one_too_many_takes_the_place_of_the_oldest():
    some = Instructions(2)
    for n in range(3):
        done = some.arm(make(f"i{n}", f"task {n}"))
    assert [one.instruction_id for one in done.replaced] == ["i0"]
    assert ids(some) == ["i1", "i2"]


def test_an_id_used_again_for_another_text_replaces():
    some = Instructions(2)
    some.arm(make("i", "one"))
    done = some.arm(make("i", "two"))
    assert [one.text for one in done.replaced] == ["one"]
    assert [one.text for one in some.armed.values()] == ["two"]


def test_b13_asking_the_same_again_rearms_under_the_first_id():
    some = Instructions(2)
    some.arm(make("i0", "What  now?"))
    done = some.arm(make("i9", "what now?", 7, Lifetime(LifetimeKind.ANSWERED)))
    assert (done.status, done.instruction.instruction_id) == ("rearmed", "i0")
    assert some.armed[InstructionId("i0")].at_ms == 7
    assert some.find(InstructionId("i9")) is done.instruction
    assert some.end(InstructionId("i9")) is done.instruction
    assert not some.armed
    assert not some.aliases
    again = Instructions(2)
    again.arm(make("i0", "x"))
    assert again.arm(make("i0", "x", 3)).status == "rearmed"
    assert again.aliases == {}


def test_aliases_are_bounded():
    some = Instructions(2)
    for n in range(3 * MAX_ALIASES):
        some.arm(make(f"i{n}", "same"))
    assert len(some.aliases) == MAX_ALIASES
    assert some.end(InstructionId("unknown")) is None


def test_lifetimes():
    some = Instructions(4)
    some.arm(make("a", "a", 0, Lifetime(LifetimeKind.TIME, Ms(50))))
    some.arm(make("b", "b", 0, Lifetime(LifetimeKind.TIME, Ms(40))))
    some.arm(make("c", "c", 5, Lifetime(LifetimeKind.ANSWERED)))
    some.arm(make("d", "d"))
    assert some.next_expiry_ms == 40
    assert [one.text for one in some.due(Ms(45))] == ["b"]
    assert [one.text for one in some.until_answered(Ms(5))] == ["c"]
    assert some.until_answered(Ms(4)) == ()
    assert Instructions(1).next_expiry_ms is None


def test_same_words():
    assert same_words(" Tell  me", "tell ME")
    assert not same_words("tell me", "tell us")


def test_the_fold_follows_askings_and_ends():
    fold, one = FoldedStanding(), InstructionId("i")
    fold.ask(QueryFact(one, "watch", Ms(1)))
    fold.ask(QueryFact(one, "watch", Ms(2), cut_off=True))
    assert fold.askings == {(one, 1)}
    fold.ask(QueryFact(one, "watch", Ms(3)))
    fold.end(EndMark(one, Ms(1)))  # of the asking before
    assert fold.askings == {(one, 3)}
    fold.end(EndMark(one, Ms(3)))
    fold.end(EndMark(one, Ms(3)))
    assert fold.askings == set()
    fold.ask(QueryFact(one, "watch", Ms(4)))
    fold.drop(one)
    assert fold.by_id == {}
