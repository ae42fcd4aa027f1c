"""From a glance to a model call, by example."""

from __future__ import annotations

import pytest

from onlooker.orchestrator import events as e
from onlooker.orchestrator import notices as n
from onlooker.types import BoundaryReason
from tests.support.core_world import World, core_config, prompt_of, text_of

pytestmark = pytest.mark.pure


def test_each_call_has_an_id_of_its_own_and_the_deadline_of_its_tick() -> None:
    world = World.open(core_config(tick_deadline_ms=4_000))
    world.ask("Watch.")
    world.wait(500)
    world.fail("server_error")
    first, second = world.calls
    assert first.call_id != second.call_id
    assert first.deadline_ms == second.deadline_ms == 4_000
    assert (first.fresh_connection, second.fresh_connection) == (False, True)


def test_nothing_of_an_earlier_call_counts_in_the_next() -> None:
    world = World.open()
    world.ask("Watch.")
    world.stream("[RESP")
    world.fail("server_error")
    world.stream("OND] Half a marker.")
    world.finish()
    assert world.decisions[-1].source is n.DecisionSource.MALFORMED


def test_the_system_message_changes_with_the_boundary_in_one_step() -> None:
    world = World.open()
    world.ask("Watch.")
    world.answer()
    world.send(e.PersonaChanged("other", "You are somebody else."))
    world.send(e.PersonaChanged("third", "You are a third."))
    world.second()
    assert prompt_of(world.last_prompt)[0]["content"] == "You are a third."
    assert [b.reason for b in world.notices(n.BoundaryCrossed)] == [BoundaryReason.PERSONA]
    world.second()
    assert len(world.notices(n.BoundaryCrossed)) == 1


def test_a_persona_change_and_a_refusal_of_length_in_one_tick_are_one_boundary_each() -> None:
    world = World.open()
    world.ask("Watch.")
    world.answer()
    world.send(e.PersonaChanged("other", "You are somebody else."))
    world.frame()
    world.wait(1000)
    world.fail("context_exceeded", limit=4_000)
    assert [b.reason for b in world.notices(n.BoundaryCrossed)] == [
        BoundaryReason.PERSONA,
        BoundaryReason.FORCED,
    ]
    assert "somebody else" in text_of(world.last_prompt)
