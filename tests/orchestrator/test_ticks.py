"""The tick as a transaction, by example: what it takes, what it gives back, when it begins."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from onlooker.decision import GENERIC, JOYVL, Dialect, GateConfig
from onlooker.orchestrator import commands as c
from onlooker.orchestrator import events as e
from onlooker.orchestrator import notices as n
from onlooker.orchestrator.notices import DecisionSource as Source
from onlooker.types import BoundaryReason, Usage, VideoState
from tests.support.core_world import World, core_config, pictures_of, replies_of, users_of

pytestmark = pytest.mark.pure

HEADER = GENERIC.text.query_header


def asked(question: str = "What is this?", **fields: Any) -> World:
    """A world whose first question is in flight, with one picture."""
    world = World.open(core_config(**fields))
    world.frame()
    world.ask(question)
    assert world.call is not None
    return world


# -- the transaction ------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["server_error", "bridge_unavailable", "bridge_protocol_error"])
def test_b32_j4_a_failed_tick_leaves_no_user_message_and_the_query_is_still_fresh(
    code: str,
) -> None:
    world = asked()
    while world.call is not None:
        world.fail(code)
    assert world.decisions[-1].source is Source.FAILED
    world.frame()
    world.wait(1000)
    users = users_of(world.last_prompt)
    assert len(users) == 1, "the failed tick left its user message behind"
    assert users[0].startswith(HEADER)
    assert "What is this?" in users[0]
    assert replies_of(world.last_prompt) == []


def test_b32_the_picture_of_a_failed_tick_is_shown_unless_a_newer_one_came() -> None:
    world = asked()
    first = world.calls[0]
    world.fail("bridge_unavailable")
    world.wait(1000)
    assert pictures_of(world.last_prompt) == pictures_of(first)
    world.fail("bridge_unavailable")
    newer = world.frame()
    world.wait(1000)
    assert pictures_of(world.last_prompt) == [newer.uuid]
    world.answer()
    assert world.decisions[-1].frames_dropped == 1


def test_a_rolled_back_picture_is_not_shown_once_the_camera_is_off() -> None:
    world = asked()
    world.send(e.CameraSwitched(on=False))
    world.fail("bridge_unavailable")
    world.wait(1000)
    assert pictures_of(world.last_prompt) == []
    assert GENERIC.text.camera_off in world.shown


def test_b32_a_forced_query_is_still_forced_after_its_tick_failed() -> None:
    world = World.open(core_config(has_structured_outputs=True))
    world.ask("Say something.", forced=True)
    forced = world.last_prompt.sampling
    assert forced.regex == GENERIC.forced_regex
    world.fail("bridge_unavailable")
    world.wait(1000)
    assert world.last_prompt.sampling == forced
    world.answer()
    world.wait(1000)
    assert world.last_prompt.sampling.regex == GENERIC.regex


def test_a_query_whose_tick_failed_is_not_swallowed_by_the_cool_down() -> None:
    world = asked(gates=GateConfig(response_cooldown_ms=5_000))
    world.say("A bicycle.")
    world.wait(500)
    world.ask("And now?")
    world.fail("bridge_unavailable")
    world.wait(1000)
    assert world.call is not None, "the cool-down took the fresh query"
    assert "And now?" in world.shown


def test_failure_after_the_point_of_no_return_keeps_what_was_said_and_asks_again() -> None:
    world = asked("Describe it.")
    world.begin_saying("A red bicycle leans on a wall")
    world.fail("stream_cut")
    assert world.decisions[-1].action == "respond"
    assert world.decisions[-1].source is Source.FAILED
    assert world.ended[-1].status == "failed"
    assert world.ended[-1].heard == "A red bicycle leans on a wall"
    assert len(world.calls) == 1, "nothing is tried again after the point of no return"
    world.frame()
    world.wait(1000)
    assert replies_of(world.last_prompt) == ["[RESPOND] A red bicycle leans on a wall"]
    assert "Describe it.\n(The answer to this was cut off." in world.shown


def test_a_deadline_after_the_point_of_no_return_asks_again_as_well() -> None:
    world = asked("Describe it.", tick_deadline_ms=1500)
    world.begin_saying("A red bicycle")
    world.wait(1500)
    assert world.of(c.AbortModel)
    assert world.troubles() == ["bridge_timeout"]
    world.frame()
    world.wait(500)
    assert "was cut off" in world.shown


def test_a_query_that_no_longer_stands_is_not_asked_again() -> None:
    world = World.open()
    name = world.ask("Describe it.")
    world.begin_saying("A red bicycle")
    world.send(e.InstructionCancelled(name))
    world.ask("Something else.")
    world.fail("stream_cut")
    assert "was cut off" not in world.shown
    assert "[Request cancelled] Describe it." in world.shown


# -- recoveries -----------------------------------------------------------------------------------


def test_at_most_four_requests_a_tick_and_one_recovery_per_reason() -> None:
    world = asked()
    for code in ("server_error", "cache_miss", "stream_cut"):
        world.fail(code)
        assert world.call is not None
        assert world.call.fresh_connection
    world.fail("context_exceeded")
    assert world.call is None, "a fifth request"
    assert len(world.calls) == 4
    assert world.decisions[-1].source is Source.FAILED
    assert world.troubles() == ["context_exceeded"]


def test_the_same_reason_twice_fails_the_tick() -> None:
    world = asked()
    world.fail("server_error")
    world.fail("server_error")
    assert world.call is None
    assert len(world.calls) == 2
    assert world.calls[0].messages == world.calls[1].messages


@pytest.mark.parametrize("code", ["unauthorized", "model_not_found", "bridge_timeout"])
def test_what_asking_again_cannot_help_is_not_asked_again(code: str) -> None:
    world = asked()
    world.fail(code)
    assert len(world.calls) == 1
    assert world.troubles() == [code]


def test_a_failure_that_stays_is_told_once_until_it_is_over() -> None:
    world = asked()
    for _ in range(3):
        world.fail("bridge_unavailable")
        world.wait(1000)
    world.answer()
    world.wait(1000)
    world.fail("bridge_unavailable")
    assert world.troubles() == ["bridge_unavailable"] * 2


@pytest.mark.parametrize(("code", "limit"), [("context_exceeded", 4_000), ("too_many_images", 6)])
def test_c31_b7_a_refusal_of_length_leads_to_one_compaction_and_one_retry(
    code: str, limit: int
) -> None:
    world = asked()
    for _ in range(8):
        world.second()
    world.frame()
    world.wait(1000 - world.now % 1000)
    world.fail(code, limit=limit)
    forced = [b for b in world.notices(n.BoundaryCrossed) if b.reason is BoundaryReason.FORCED]
    assert len(forced) == 1
    assert len(pictures_of(world.calls[-1])) < len(pictures_of(world.calls[-2]))
    assert pictures_of(world.calls[-1])[-1] == pictures_of(world.calls[-2])[-1]
    calls = len(world.calls)
    world.fail(code, limit=limit)
    assert world.call is None, "an endless loop of compactions"
    assert len(world.calls) == calls
    world.second()
    assert world.decisions[-1].source is Source.MODEL


def test_c22_a_picture_the_server_refuses_is_never_stored_nor_sent_again() -> None:
    world = asked()
    bad = pictures_of(world.last_prompt)[0]
    world.fail("bad_image")
    assert world.troubles() == ["bad_image"]
    assert pictures_of(world.last_prompt) == [], "the refused picture was sent again"
    assert "What is this?" in world.shown
    world.answer()
    for _ in range(3):
        world.second()
        assert bad not in pictures_of(world.last_prompt)
    assert len(pictures_of(world.last_prompt)) == 3


def test_c22_a_refused_picture_does_not_come_back_when_the_retry_fails_too() -> None:
    world = asked()
    bad = pictures_of(world.last_prompt)[0]
    world.fail("bad_image")
    world.fail("bridge_unavailable")
    world.wait(1000)
    assert bad not in pictures_of(world.last_prompt)
    assert "What is this?" in world.shown


def test_c22_where_a_tick_needs_a_picture_a_refused_one_ends_it() -> None:
    world = World.open(core_config(JOYVL))
    bad = world.frame()
    world.ask("What is this?")
    world.fail("bad_image")
    assert world.call is None
    assert world.decisions[-1].source is Source.FAILED
    good = world.frame()
    world.wait(1000)
    assert pictures_of(world.last_prompt) == [good.uuid]
    assert "What is this?" in world.shown
    assert bad.uuid not in world.core.held_frames


def test_a_failure_at_the_deadline_is_not_recovered() -> None:
    world = asked(tick_deadline_ms=600)
    world.now = 600
    world.fail("server_error")
    assert world.call is None


def test_c35_no_word_of_an_error_reaches_prompt_memory_or_speech() -> None:
    world = asked(has_delegate=True)
    for code in ("server_error", "bad_image", "context_exceeded", "unauthorized"):
        world.fail(code)
        world.answer()
        world.frame()
        world.wait(1000)
    world.begin_saying("A bicycle")
    world.fail("stream_cut")
    for _ in range(3):
        world.second()
    assert "ERRTEXT" not in world.prompt
    assert "ERRTEXT" not in str(world.core.memory.view())
    assert all("ERRTEXT" not in d.text for d in world.notices(n.ResponseDelta))


# -- time -----------------------------------------------------------------------------------------


def test_b33_c17_a_slow_model_makes_ticks_coalesce_and_sees_the_newest_picture() -> None:
    world = asked()
    world.answer()
    for second in range(1, 40):
        for _ in range(5):
            world.wait(200)
            world.frame()
        if second % 3 == 0:
            world.answer()
    ages = [
        decision.at_ms - decision.label_ms
        for decision in world.decisions
        if decision.label_ms is not None
    ]
    assert max(ages) <= 2000
    assert sum(d.frames_dropped for d in world.decisions) > 100
    assert sum(d.slots_missed for d in world.decisions) >= 24
    assert len(world.core.held_frames) <= 40 + 8
    starts = [call.deadline_ms for call in world.calls]
    assert len(starts) == len(set(starts)), "a burst after an overrun"


def test_b33_a_tick_that_never_ends_is_aborted_at_its_deadline() -> None:
    world = asked(tick_deadline_ms=3_000)
    world.wait(2_999)
    assert world.call is not None
    world.wait(1)
    assert world.of(c.AbortModel) == [c.AbortModel(world.calls[0].call_id)]
    assert world.decisions[0].source is Source.FAILED
    world.wait(1_000)
    assert "What is this?" in world.shown


def test_c19_after_an_overrun_the_next_slot_is_taken_and_there_is_no_burst() -> None:
    world = asked()
    world.answer()
    begun = []
    for _ in range(60):
        world.wait(1000)
        world.frame()
        calls = len(world.calls)
        if world.call is None:
            world.wait(1000 - world.now % 1000)
        if len(world.calls) > calls:
            begun.append(world.now)
            world.wait(1400)
            world.answer()
    assert all(at % 1000 == 0 for at in begun), "the grid moved"
    assert all(b - a >= 2000 for a, b in pairwise(begun))


def test_b34_j14_time_labels_come_from_the_capture_clock() -> None:
    world = World.open()
    world.ask("Watch.")
    world.answer()
    for capture in (400, 3_250, 9_060):
        world.frame(capture_ms=capture)
        world.wait(1000)
        world.answer()
    labels = [user.splitlines()[0] for user in users_of(world.last_prompt)[-3:]]
    assert labels == ["[Time 0.4 s]", "[Time 3.3 s]", "[Time 9.1 s]"]


def test_c20_no_video_camera_off_and_an_old_picture_are_three_different_things() -> None:
    world = asked()
    world.answer()
    world.wait(1000)
    assert world.call is None, "a slot between two pictures shows nothing new"
    world.wait(2000)
    assert world.call is not None
    assert GENERIC.text.no_video in world.shown
    assert pictures_of(world.last_prompt) == pictures_of(world.calls[0])
    world.answer()
    world.send(e.CameraSwitched(on=False))
    world.wait(1000)
    assert GENERIC.text.camera_off in world.shown
    world.answer()
    assert world.decisions[-1].video is VideoState.CAMERA_OFF


def test_c20_joyvl_skips_ticks_without_video_and_says_so() -> None:
    world = World.open(core_config(JOYVL))
    world.frame()
    world.ask("Watch.")
    world.answer()
    calls = len(world.calls)
    world.wait(5000)
    assert len(world.calls) == calls
    assert {d.source for d in world.decisions[-4:]} == {Source.NO_PICTURE}


def test_joyvl_lets_a_query_wait_for_the_picture_it_needs() -> None:
    world = World.open(core_config(JOYVL))
    world.ask("What is this?")
    assert world.call is None
    world.wait(700)
    assert world.call is None
    world.frame()
    assert world.call is not None
    assert "What is this?" in world.shown
    world.answer()
    assert world.decisions[-1].trigger == "query"


def test_joyvl_keeps_the_trigger_over_slots_without_a_picture() -> None:
    world = World.open(core_config(JOYVL))
    world.ask("What is this?")
    world.wait(2500)
    world.frame()
    world.answer()
    assert world.decisions[-1].trigger == "query"


def test_j7_a_query_without_a_picture_keeps_the_whole_memory() -> None:
    world = asked()
    for _ in range(4):
        world.second()
    seen = pictures_of(world.last_prompt)
    world.ask("What did you see?")
    assert world.call is not None
    assert pictures_of(world.last_prompt) == seen
    assert "What did you see?" in world.shown
    assert "[Time" in world.shown


# -- triggers -------------------------------------------------------------------------------------


def test_a_trigger_during_a_call_begins_the_next_tick_at_once() -> None:
    world = asked()
    world.ask("And that?")
    assert len(world.calls) == 1
    world.answer()
    assert len(world.calls) == 2
    assert "And that?" in world.shown
    assert "What is this?" not in world.shown


def test_c13_three_triggers_in_one_turn_get_one_reply() -> None:
    world = asked()
    for words in ("And that?", "And there?", "Well?"):
        world.ask(words)
    world.say("A bicycle.")
    world.say("A bicycle.")
    assert world.call is None
    assert len(world.notices(n.ResponseStarted)) == 1
    assert world.decisions[-1].source is Source.DEDUP


def test_c13_a_new_trigger_is_not_held_back_by_the_last_answer() -> None:
    world = asked()
    world.say("A bicycle.")
    world.ask("What is this?")
    world.say("A bicycle.")
    assert len(world.notices(n.ResponseStarted)) == 2


def test_a_trigger_that_came_while_the_slot_was_taken_is_named() -> None:
    world = asked()
    world.answer()
    world.frame()
    world.wait(1000)
    world.answer()
    assert [d.trigger for d in world.decisions] == ["query", "cadence"]


def test_a_trigger_waits_for_the_end_of_the_call_and_keeps_its_name() -> None:
    world = asked()
    world.ask("And that?")
    world.wait(1000)
    world.answer()
    world.answer()
    assert [d.trigger for d in world.decisions] == ["query", "query"]
    assert world.decisions[-1].slots_missed == 2


def test_the_end_of_the_source_waits_for_the_call_in_flight() -> None:
    world = asked()
    world.send(e.SourceEnded())
    assert world.call is not None
    world.answer()
    assert world.commands[-1] == c.Close("source_ended")


def test_closing_between_two_ticks_aborts_nothing() -> None:
    world = asked()
    world.answer()
    world.send(e.SessionClosed())
    assert not world.of(c.AbortModel)


def test_a_new_persona_begins_with_the_next_tick() -> None:
    world = asked()
    world.send(e.PersonaChanged("other", "You are somebody else."))
    world.answer()
    world.second()
    assert "somebody else" in world.prompt


# -- gates ----------------------------------------------------------------------------------------


def test_b9_while_nobody_asked_there_is_no_call_and_no_summary() -> None:
    world = World.open()
    for _ in range(60):
        world.frame()
        world.wait(1000)
    assert world.calls == []
    assert world.summaries == {}
    assert {d.source for d in world.decisions} == {Source.GATE}
    assert len(world.core.held_frames) <= 8 + 12


def test_the_cool_down_commits_its_tick_as_silence() -> None:
    world = asked(gates=GateConfig(response_cooldown_ms=2_500))
    world.say("A bicycle.")
    for _ in range(2):
        world.second()
    assert [d.source for d in world.decisions[-2:]] == [Source.COOLDOWN] * 2
    world.second()
    assert world.decisions[-1].source is Source.MODEL
    assert replies_of(world.last_prompt) == ["[RESPOND] A bicycle.", "[SILENCE]", "[SILENCE]"]


def test_a_model_that_may_speak_unasked_needs_no_input_to_do_so() -> None:
    world = World.open(core_config(gates=GateConfig(force_silence_until_query=False)))
    world.wait(0)
    world.say("Hello.")
    assert world.ended[-1].status == "completed"


def test_the_last_instruction_gone_closes_the_gate_again() -> None:
    world = World.open()
    name = world.ask("Watch.")
    world.answer()
    world.send(e.InstructionCancelled(name))
    calls = len(world.calls)
    for _ in range(3):
        world.second()
    assert len(world.calls) == calls
    assert world.decisions[-1].source is Source.GATE


# -- decisions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["I see a bicycle.", "<html>502</html>", "[", "</", "null"])
def test_b19_unmarked_output_is_silent_and_counted(text: str) -> None:
    world = asked()
    world.answer(text)
    assert world.decisions[-1].action == "silence"
    assert world.decisions[-1].source is Source.MALFORMED
    assert world.notices(n.ResponseStarted) == []
    world.second()
    assert replies_of(world.last_prompt)[0] == GENERIC.text.silence


def test_c32_empty_output_is_silence_by_the_model() -> None:
    world = asked()
    world.answer("")
    assert world.decisions[-1].source is Source.MODEL
    assert world.last_prompt.sampling.skip_special_tokens is False


def test_b20_a_response_without_words_is_silence() -> None:
    world = asked()
    world.answer("[RESPOND]")
    assert world.decisions[-1].action == "silence"
    assert world.notices(n.ResponseStarted) == []


def test_b21_alternating_lines_and_a_flicker_do_not_repeat_an_alert() -> None:
    world = asked("Tell me when a cat appears.")
    said = []
    for text in ("A cat!", "It left.", "A cat!", "", "A cat!", "It left."):
        world.second(world.reply("respond", text=text) if text else None)
        said.append(world.decisions[-1].action)
    assert said == ["respond", "respond", "silence", "silence", "silence", "silence"]


def test_b22_a_delegated_question_that_was_cut_off_is_not_asked() -> None:
    world = asked(has_delegate=True)
    world.answer(world.reply("delegate", note="A moment.", question="Who bui"), finish="length")
    assert world.jobs == {}
    assert world.decisions[-1].action == "respond"
    assert world.decisions[-1].text == "A moment."


def test_b17_a_question_the_model_keeps_delegating_is_one_job() -> None:
    world = asked(has_delegate=True)
    for _ in range(5):
        world.second(world.reply("delegate", note="Let me see.", question="Who is this?"))
    assert len(world.of(c.StartDelegation)) == 1
    world.ask("Who is this now?")
    world.delegate("Who is this?")
    assert len(world.of(c.StartDelegation)) == 2


def test_a_delegation_without_a_note_is_remembered_by_its_question_alone() -> None:
    world = asked(has_delegate=True)
    world.answer("[DELEGATE] Who is this?")
    assert world.notices(n.ResponseStarted) == []
    world.second()
    assert replies_of(world.last_prompt)[0] == "[RESPOND] [DELEGATE] Who is this?"
    assert world.core.memory.tail[0].question == "Who is this?"
    assert world.core.memory.tail[0].spoken == ""


def test_text_streams_from_the_marker_on() -> None:
    world = asked()
    world.stream("[RESP")
    assert world.notices(n.ResponseStarted) == []
    world.stream("OND] A bi")
    world.stream("cycle leans")
    assert [d.text for d in world.notices(n.ResponseDelta)] == ["A bi", "cycle leans"]
    world.finish()
    assert world.decisions[-1].text == "A bicycle leans"


def test_a_late_answer_is_dropped_and_counted() -> None:
    world = asked(tick_deadline_ms=500)
    late = world.call
    assert late is not None
    world.wait(500)
    world.send(e.ModelDelta(late.call_id, "[RESPOND] Late."))
    world.send(e.ModelDone(late.call_id, "stop"))
    world.send(e.ModelFailed(late.call_id, "server_error", "ERRTEXT", retryable=True))
    assert world.stale() == ["model"] * 3
    assert world.notices(n.ResponseStarted) == []


@pytest.mark.parametrize("dialect", [GENERIC, JOYVL])
def test_c14_a_cancel_before_the_response_was_created_still_cancels(dialect: Dialect) -> None:
    world = World.open(core_config(dialect, has_delegate=True))
    world.frame()
    world.ask("What is this?")
    world.send(e.ResponseCancelled())
    world.answer(world.reply("delegate", note="A bicycle.", question="Whose?"))
    assert world.notices(n.ResponseStarted) == []
    assert world.jobs == {}
    assert world.decisions[-1].action == "silence"
    assert world.stale() == []
    world.ask("And now?")
    world.frame() if world.call is None else None
    world.say("A bicycle.")
    assert len(world.notices(n.ResponseStarted)) == 1


def test_a_cancel_with_nothing_to_cancel_is_counted() -> None:
    world = asked()
    world.answer()
    world.send(e.ResponseCancelled())
    assert world.stale() == ["cancel"]


def test_usage_reaches_memory_and_the_report() -> None:
    world = asked()
    world.answer(usage=Usage(prompt_tokens=777, completion_tokens=5, cached_tokens=400))
    assert world.decisions[-1].usage == Usage(777, 5, 400)
    assert world.notices(n.MemoryGauged)[-1].prompt_tokens in range(777, 800)
    assert world.notices(n.MemoryGauged)[-1].cached_tokens == 400


# -- busy -----------------------------------------------------------------------------------------


def speaking(**fields: Any) -> World:
    """A world whose first answer is being heard, with the next call in flight."""
    world = World.open(core_config(has_voice=True, **fields), writes_text=False)
    world.frame()
    world.ask("Tell me all.")
    world.say("One two three four five six.")
    world.voice()
    world.play(200)
    world.frame()
    world.wait(1000)
    assert world.call is not None
    return world


def test_a_new_response_while_one_is_live_is_dropped_and_committed_as_silence() -> None:
    world = speaking()
    world.say("Seven.")
    assert world.decisions[-1].source is Source.BUSY
    assert len(world.notices(n.ResponseStarted)) == 1
    world.frame()
    world.wait(1000)
    assert replies_of(world.last_prompt)[-1] == GENERIC.text.silence


def test_a_busy_reply_whose_call_failed_may_speak_when_the_floor_is_free() -> None:
    world = speaking()
    world.begin_saying("Seven.")
    world.fail("server_error")
    world.play()
    assert world.ended[-1].status == "completed"
    world.say("Seven.")
    assert world.decisions[-1].source is Source.MODEL
    assert len(world.notices(n.ResponseStarted)) == 2


def test_queue_while_speaking_lets_one_wait_and_only_one() -> None:
    world = speaking(queue_while_speaking=True)
    world.say("Seven.")
    assert world.decisions[-1].action == "respond"
    world.frame()
    world.wait(1000)
    world.say("Eight.")
    assert world.decisions[-1].source is Source.BUSY
    world.play()
    assert [r.trigger for r in world.notices(n.ResponseStarted)] == ["query", "cadence"]
    world.voice()
    world.play()
    assert [r.heard for r in world.ended] == ["One two three four five six.", "Seven."]


def test_an_urgent_answer_pre_empts_the_live_response() -> None:
    world = speaking()
    world.answer()
    world.ask("Is that smoke?", urgent=True)
    world.say("Yes, smoke!")
    assert [r.status for r in world.ended] == ["cancelled"]
    assert world.ended[0].heard == "One two"
    first, second = world.notices(n.ResponseStarted)
    assert second.epoch > first.epoch + 1
    assert world.of(c.FlushOutput)[0].epoch > first.epoch


def test_an_urgent_query_stays_urgent_when_its_tick_failed() -> None:
    world = speaking()
    world.answer()
    world.ask("Is that smoke?", urgent=True)
    world.fail("bridge_unavailable")
    world.wait(1000)
    world.say("Yes, smoke!")
    assert len(world.notices(n.ResponseStarted)) == 2


def test_a_barge_in_aborts_the_call_and_rolls_its_tick_back() -> None:
    world = speaking()
    world.send(e.ResponseCancelled())
    assert world.of(c.AbortModel)
    assert world.decisions[-1].source is Source.ABORTED
    world.wait(1000)
    assert len(users_of(world.last_prompt)) == 2


def test_a_barge_in_into_the_answer_being_generated_keeps_its_heard_part() -> None:
    world = World.open(core_config(has_voice=True), writes_text=False)
    world.ask("Tell me all.")
    world.begin_saying("One two three, four five six. And")
    world.voice()
    world.play(200)
    world.send(e.ResponseCancelled())
    assert world.of(c.AbortModel)
    assert world.decisions[-1].source is Source.ABORTED
    assert world.decisions[-1].action == "respond"
    world.wait(1000)
    assert replies_of(world.last_prompt) == ["[RESPOND] One two —"]
    assert "was cut off" not in world.shown, "the user stopped it: it is not asked again"
