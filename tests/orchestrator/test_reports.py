"""What a tick tells the client when it ends."""

from __future__ import annotations

import pytest

from onlooker.decision import Delegate, Respond, Silence
from onlooker.orchestrator import notices as n
from onlooker.orchestrator.notices import DecisionSource as Source
from onlooker.orchestrator.reports import action_kind, spoken_text
from onlooker.types import BoundaryReason, Usage, VideoState
from tests.support.core_world import World, core_config

pytestmark = pytest.mark.pure


def test_actions_have_a_name_and_words() -> None:
    actions = (Silence(), Respond("Hi."), Delegate("Hm.", "Who?"))
    assert [action_kind(one) for one in actions] == ["silence", "respond", "delegate"]
    assert [spoken_text(one) for one in actions] == ["", "Hi.", "Hm."]


def test_a_decision_tells_what_was_seen_said_and_how_long_it_took() -> None:
    world = World.open(core_config(has_delegate=True))
    first = world.frame(capture_ms=40)
    world.wait(300)
    world.ask("Who is this?")
    world.wait(200)
    world.stream("[RESPOND] Hm.")
    world.wait(100)
    world.stream(" [DELEGATE] Who?")
    world.finish(usage=Usage(500, 9, 480))
    decision = world.decisions[-1]
    assert (decision.action, decision.text, decision.question) == ("delegate", "Hm.", "Who?")
    assert (decision.at_ms, decision.first_token_ms, decision.latency_ms) == (300, 200, 300)
    assert (decision.label_ms, decision.video) == (None, VideoState.FRESH)
    assert decision.frames == ()
    gated = world.decisions[0]
    assert (gated.source, gated.frames, gated.label_ms) == (Source.GATE, (first.uuid,), 40)
    gauge = world.notices(n.MemoryGauged)[-1]
    assert gauge.cached_tokens == 480
    assert not gauge.gated


def test_a_skipped_tick_without_a_picture_has_no_label() -> None:
    world = World.open()
    world.wait(0)
    assert world.decisions[-1].label_ms is None
    assert world.decisions[-1].video is VideoState.NO_VIDEO


def test_a_failed_tick_is_reported_without_a_gauge_and_its_reason_with_what_to_do() -> None:
    world = World.open()
    world.ask("Who is this?")
    world.fail("unauthorized", message="The key is wrong; set model.api_key.")
    assert world.decisions[-1].source is Source.FAILED
    assert world.notices(n.MemoryGauged) == []
    trouble = world.notices(n.Trouble)[-1]
    assert (trouble.code, trouble.message) == (
        "unauthorized",
        "The key is wrong; set model.api_key.",
    )


def test_a_boundary_is_reported_with_what_was_carried_over() -> None:
    world = World.open()
    world.ask("Watch.")
    while not world.notices(n.BoundaryCrossed):
        world.second()
        world.summarise("A cat slept.")
    (boundary,) = world.notices(n.BoundaryCrossed)
    assert boundary.reason is BoundaryReason.FULL
    assert boundary.chunk == 1
    assert not boundary.fallback
    assert boundary.head_chars == len(world.core.memory.head)
    assert boundary.carried_frames == boundary.carried_ticks >= 1


def test_the_gauge_after_a_tick_without_usage_knows_no_cached_tokens() -> None:
    world = World.open()
    world.ask("Watch.")
    world.answer()
    assert world.notices(n.MemoryGauged)[-1].cached_tokens is None


def test_the_gauge_shows_the_tokens_the_server_counted() -> None:
    world = World.open()
    world.frame()
    world.ask("tell me when a bicycle appears")
    world.answer(usage=Usage(prompt_tokens=1_234, completion_tokens=2, cached_tokens=7))
    gauge = world.notices(n.MemoryGauged)[-1]
    assert (gauge.prompt_tokens, gauge.cached_tokens) == (1_234, 7)
