from __future__ import annotations

import pytest

from onlooker.memory import CancelFact, EndMark, QueryFact
from onlooker.memory.staging import Staging
from onlooker.types import InstructionId, Ms
from tests.memory.words import frame

pytestmark = pytest.mark.pure

ONE = InstructionId("i")
ASK = QueryFact(ONE, "what", Ms(1))
STOP = CancelFact(ONE, "what", Ms(2))
MARK = EndMark(ONE, Ms(1))


def length(fact) -> int:
    return 10


def staged(*facts) -> Staging:
    staging = Staging()
    for fact in facts:
        staging.add(fact)
    return staging


def test_facts_are_taken_in_order_and_marks_beside_them():
    staging = staged(ASK, MARK, STOP)
    assert staging.take(100, length) == ((ASK, STOP), (MARK,))
    assert staging.facts == []


def test_what_does_not_fit_waits_in_order_and_the_first_always_fits():
    staging = staged(ASK, STOP, MARK)
    assert staging.chars(length, 5) == 10
    assert staging.take(5, length) == ((ASK,), ())
    assert staging.facts == [STOP, MARK]
    assert staging.chars(length, 5) == 10


def test_the_very_same_asking_is_one():
    assert staged(ASK, ASK, STOP, STOP).facts == [ASK, STOP, STOP]


def test_a_rolled_back_tick_comes_before_what_arrived_meanwhile():
    staging = staged(ASK)
    facts, ends = staging.take(100, length)
    staging.add(STOP)
    staging.give_back(facts, ends, (frame(1),))
    assert staging.facts == [ASK, STOP]
    assert staging.frames == (frame(1),)
    staging.give_back((), (), ())
    assert staging.frames == (frame(1),)


def test_withdrawing_leaves_the_rest():
    other = QueryFact(InstructionId("other"), "x", Ms(1))
    staging = staged(ASK, other, STOP, MARK)
    assert staging.withdraw(ONE) == [ASK]
    assert staging.facts == [other, STOP, MARK]
    assert staging.chars(length, 100) == 20
