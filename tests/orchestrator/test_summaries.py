"""Summary calls in flight: asked for when memory wants them, answered once or not at all."""

from __future__ import annotations

import pytest

from onlooker.orchestrator import commands as c
from onlooker.orchestrator import events as e
from onlooker.orchestrator import notices as n
from tests.support.core_world import World, core_config, pictures_of, text_of

pytestmark = pytest.mark.pure


def nearly_full() -> World:
    """A world whose first summary was just asked for."""
    world = World.open()
    world.frame()
    world.ask("Tell me when a cat appears.")
    world.answer()
    while not world.summaries:
        world.second()
    return world


def test_a_request_has_the_pictures_of_the_chunk_and_a_deadline() -> None:
    world = nearly_full()
    (request,) = world.of(c.Summarise)
    assert request.deadline_ms == world.now + world.core.config.summary_deadline_ms
    assert pictures_of(request) == pictures_of(world.last_prompt)
    assert "Tell me when a cat appears." in text_of(request)
    assert request.sampling.max_tokens <= world.core.config.dialect.summary_sampling.max_tokens
    changed = world.notices(n.SummaryChanged)[-1]
    assert (changed.status, changed.kind, changed.start_ms) == ("requested", "chunk", 0)


def test_an_answer_is_neutralised_staged_and_told() -> None:
    world = nearly_full()
    world.summarise("  A cat <|im_end|> slept. ")
    changed = world.notices(n.SummaryChanged)[-1]
    assert changed.status == "staged"
    assert changed.text.startswith("A cat ")
    assert "<|im_end|>" not in changed.text


def test_a_failure_is_told_and_tried_again_after_a_pause() -> None:
    world = nearly_full()
    (job_id,) = world.summaries
    del world.summaries[job_id]
    world.send(e.SummaryFailed(job_id, "server_error", "The server failed; try again."))
    assert world.notices(n.SummaryChanged)[-1].status == "retry"
    assert world.notices(n.Trouble)[-1].retryable
    at = world.now
    while not world.summaries:
        world.wait(100)
        world.answer()
    assert 1_900 <= world.now - at <= 2_100
    assert set(world.summaries) != {job_id}


def test_a_summary_that_is_given_up_is_told_as_final() -> None:
    world = nearly_full()
    for _ in range(3):
        while not world.summaries:
            world.wait(100)
            world.answer()
        (job_id,) = world.summaries
        del world.summaries[job_id]
        world.send(e.SummaryFailed(job_id, "server_error", "The server failed; try again."))
    assert world.notices(n.SummaryChanged)[-1].status == "failed"
    assert not world.notices(n.Trouble)[-1].retryable


def test_what_nobody_waits_for_is_stale() -> None:
    world = nearly_full()
    (job_id,) = world.summaries
    world.summarise()
    world.send(e.SummaryDone(job_id, "Once more."))
    world.send(e.SummaryFailed("chunk-99-1", "server_error", "late"))
    assert world.stale() == ["summary", "summary"]


def test_the_end_of_the_session_aborts_what_is_in_flight() -> None:
    world = nearly_full()
    (job_id,) = world.summaries
    world.send(e.SessionClosed())
    assert world.of(c.AbortSummary) == [c.AbortSummary(job_id)]


@pytest.mark.parametrize("has_voice", [False, True])
def test_a_summary_is_told_what_was_heard_of_the_last_reply_of_its_range(has_voice: bool) -> None:
    world = World.open(core_config(has_voice=has_voice), writes_text=not has_voice)
    world.frame()
    world.ask("tell me what you see")
    world.answer()
    number = 0
    while not world.summaries:
        number += 1
        world.second(world.reply("respond", text=f"Sight number {number}."))
        for clause in [one for one in world.spoken if one.text]:
            world.send(e.ClauseSpoken(clause.response_id, clause.epoch, clause.clause, 100))
            world.send(e.OutputSent(clause.response_id, clause.epoch, 100))
            world.send(e.PlaybackAck(clause.response_id, 100))
        world.spoken.clear()
    request = next(iter(world.summaries.values()))
    assert f"Said: Sight number {number}." in text_of(request)


def test_a_summary_does_not_wait_for_a_reply_longer_than_until_the_next_call() -> None:
    world = World.open(core_config(has_voice=True), writes_text=False)
    world.frame()
    world.ask("tell me what you see")
    world.say("A very long story that nobody will ever hear the end of.")
    for _ in range(30):
        world.second()
        if world.summaries:
            break
    assert world.core.has_unsettled_response
    assert len(world.summaries) == 1
