from __future__ import annotations

from dataclasses import replace

import pytest

from onlooker.memory import CancelFact, QueryFact
from onlooker.memory.store import MAX_STAGED
from onlooker.types import InstructionId, Lifetime, LifetimeKind, Ms
from tests.memory.words import WORDLESS, Talk, make, say

pytestmark = pytest.mark.pure


def flood(talk: Talk, count: int, *, same: bool = False, name: str = "") -> None:
    """So many queries between two ticks, a millisecond apart."""
    for n in range(count):
        talk.memory.arm(
            InstructionId(name or f"f{n}"), "same" if same else f"text {n}", Lifetime(),
            Ms(talk.now + n),
        )  # fmt: skip


@pytest.mark.parametrize("same", [False, True])
def test_a_flood_between_two_ticks_is_bounded_and_what_stands_is_still_shown(same):
    talk = Talk()
    talk.tick()
    flood(talk, 50 * MAX_STAGED, same=same)
    assert len(talk.memory.staged) <= MAX_STAGED + 1
    assert len(talk.memory._store.history.qa.items) <= talk.memory.config.qa_entries
    talk.tick()
    shown = {fact.text for fact in talk.memory.tail[-1].facts if isinstance(fact, QueryFact)}
    assert {one.text for one in talk.memory.standing if one.text != "watch"} <= shown


def test_a_flood_of_a_dialect_without_words():
    talk = Talk(make(text=WORDLESS))
    talk.tick()
    flood(talk, 10 * MAX_STAGED)
    talk.tick()
    assert len(talk.memory._store.staging.facts) == 0
    assert talk.memory.tail[-1].facts[-1].text == talk.memory.standing[0].text  # type: ignore[union-attr]


def test_a_flood_does_not_swallow_the_end_of_what_a_prompt_has_shown():
    talk = Talk()
    talk.tick()
    talk.begin()
    flood(talk, MAX_STAGED, name="other")
    talk.memory.cancel(InstructionId("i0"), talk.now)
    flood(talk, 3 * MAX_STAGED, name="other")
    assert next(f.text for f in talk.memory.staged if isinstance(f, CancelFact)) == "watch"


def test_a_flood_spares_a_query_that_was_cut_off_while_it_stands():
    talk = Talk()
    talk.tick()
    talk.memory.rearm_cut_off(talk.now)
    flood(talk, 3 * MAX_STAGED, same=True)
    assert talk.memory.staged[0] == QueryFact(InstructionId("i0"), "watch", Ms(1_000), True)
    talk.memory.cancel(InstructionId("i0"), talk.now)
    flood(talk, 3 * MAX_STAGED, same=True)
    assert not any(isinstance(f, QueryFact) and f.cut_off for f in talk.memory.staged)


def test_times_that_end_in_a_flood():
    talk = Talk(ask=None)
    for n in range(MAX_STAGED + 2):
        until = Lifetime(LifetimeKind.TIME, Ms(n))
        talk.memory.arm(InstructionId(f"f{n}"), f"text {n}", until, Ms(n))
        talk.memory.expire(Ms(n + 1))
    assert len(talk.memory.staged) <= MAX_STAGED + 1


def test_items_are_measured_as_the_head_shows_them():
    talk = Talk()
    talk.tick(say("yes"))
    talk.ticks(7)
    talk.summarise()
    talk.ticks(3)
    store = talk.memory._store
    (item,) = store.visible_items()
    assert store.qa_chars(item) == len("said@1.0 yes")
    assert store.render() == talk.memory.head
    store.trim_qa(0, 0)
    assert store.visible_items() == []


def test_sizes_of_head_tail_and_open_tick():
    talk = Talk()
    store = talk.memory._store
    empty = store.size()
    talk.begin()
    assert (store.size() - empty).frames == 1
    assert store.sent == store.size()
    assert store.fact_room > 1_000
    assert replace(store.config) == talk.memory.config
