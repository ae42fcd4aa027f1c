"""What is said, what of it was heard, and what an interruption leaves, by example."""

from __future__ import annotations

from typing import Any

import pytest

from onlooker.decision import GENERIC
from onlooker.orchestrator import commands as c
from onlooker.orchestrator import events as e
from onlooker.orchestrator import notices as n
from onlooker.orchestrator.bargein import BargeInConfig, SignalSource
from onlooker.orchestrator.core import SessionCore
from onlooker.orchestrator.turn import Phase
from onlooker.types import Epoch, Lifetime, LifetimeKind, Ms, ResponseId, UtteranceId
from tests.support.core_world import World, core_config, replies_of

pytestmark = pytest.mark.pure

TWENTY = " ".join(f"w{i}" for i in range(1, 21)) + "."
U = UtteranceId("u")


def voiced(**fields: Any) -> World:
    """A world with a voice; nothing is heard until the client says so."""
    return World.open(core_config(has_voice=True, **fields), writes_text=False)


def speaking(text: str = TWENTY, **fields: Any) -> World:
    """Its first answer has sound, 100 ms a word, all of it sent and none acknowledged."""
    world = voiced(**fields)
    world.frame()
    world.ask("Tell me.")
    world.say(text)
    world.voice()
    return world


def next_replies(world: World) -> list[str]:
    """The assistant messages of the next prompt."""
    world.frame()
    world.wait(1000 - world.now % 1000)
    return replies_of(world.last_prompt)


# -- heard words ----------------------------------------------------------------------------------


def test_c1_after_a_barge_in_the_prompt_holds_what_was_played_and_no_more() -> None:
    world = speaking()
    world.play(500)
    world.barge_in()
    assert next_replies(world)[0] == "[RESPOND] w1 w2 w3 w4 w5 —"
    assert "w6" not in world.prompt


def test_c2_without_word_timings_the_words_are_counted_in_proportion_and_rounded_down() -> None:
    world = voiced()
    world.ask("Tell me.")
    world.say("abcd efgh ijkl mnop.")
    (clause,) = world.spoken
    world.send(e.ClauseSpoken(clause.response_id, clause.epoch, clause.clause, 2000))
    world.send(e.OutputSent(clause.response_id, clause.epoch, 2000))
    world.play(1390)
    world.send(e.ResponseCancelled())
    assert next_replies(world)[0] == "[RESPOND] abcd efgh —"


def test_c3_if_a_word_was_played_the_history_keeps_that_part_marked() -> None:
    world = speaking()
    world.play(1200)
    world.barge_in()
    (reply,) = next_replies(world)[:1]
    assert reply.startswith("[RESPOND] w1 ")
    assert reply.endswith("w12 —")
    assert world.ended[-1].status == "cancelled"
    assert world.ended[-1].heard.endswith("w12")


def test_c5_interrupted_before_the_first_sound_nothing_was_said_and_roles_alternate() -> None:
    world = speaking()
    world.barge_in()
    assert next_replies(world)[0] == GENERIC.text.silence
    assert "w1" not in world.prompt
    assert world.ended[-1].heard == ""


def test_c6_an_ack_for_a_superseded_response_is_ignored_and_counted() -> None:
    world = speaking()
    old = world.last_response
    world.play(300)
    world.barge_in()
    world.wait(600)
    world.say("New.")
    world.voice()
    world.send(e.PlaybackAck(old.response_id, 2000))
    world.send(e.PlaybackTruncated(old.response_id, 100))
    world.send(e.OutputSent(old.response_id, old.epoch, 2000))
    world.send(e.PlaybackAck(ResponseId("never"), 5))
    assert world.stale()[-4:] == ["ack", "ack", "output", "ack"]
    world.play()
    assert world.ended[-1].heard == "New."
    assert "w4" not in str(world.core.memory.view())


def test_c8_c9_at_a_barge_in_all_output_dies_in_the_same_step() -> None:
    world = voiced()
    world.ask("Tell me.")
    world.begin_saying("One two three. Four five six. Seven")
    first = world.last_response
    assert world.call is not None
    late = world.call.call_id
    commands = world.send(e.ResponseCancelled())
    kinds = [type(one) for one in commands if not isinstance(one, c.Emit)]
    assert kinds == [c.AbortModel, c.FlushOutput]
    flush = world.of(c.FlushOutput)[0]
    assert flush.epoch > first.epoch
    assert flush.response_id == first.response_id
    for event in (
        e.ModelDelta(late, " eight nine."),
        e.ModelDone(late, "stop"),
        e.ClauseSpoken(first.response_id, first.epoch, 0, 300),
    ):
        assert not [one for one in world.send(event) if not isinstance(one, c.Emit)]
    assert world.stale() == ["model", "model", "output"]
    spoken = [one for one in world.of(c.Speak) if one.epoch < flush.epoch]
    assert spoken == world.of(c.Speak)


def test_grace_a_later_ack_grows_a_truncate_shrinks_and_then_it_is_frozen() -> None:
    world = speaking()
    world.play(300)
    world.send(e.ResponseCancelled())
    world.wait(200)
    name = world.last_response.response_id
    world.play(600)
    assert next(iter(world.core.memory.tail)).reply == "[RESPOND] w1 w2 w3 w4 w5 w6 —"
    world.send(e.PlaybackTruncated(name, 400))
    assert next(iter(world.core.memory.tail)).reply == "[RESPOND] w1 w2 w3 w4 —"
    world.play(1500)
    assert next(iter(world.core.memory.tail)).reply == "[RESPOND] w1 w2 w3 w4 —"
    assert world.core.has_unsettled_response
    world.wait(300)
    assert not world.core.has_unsettled_response
    stale = len(world.stale())
    world.play(2000)
    world.send(e.PlaybackTruncated(name, 0))
    assert len(world.stale()) == stale + 2
    assert next_replies(world)[0] == "[RESPOND] w1 w2 w3 w4 —"


def test_grace_only_the_unheard_words_go() -> None:
    world = speaking()
    world.play(2000)
    assert next_replies(world)[0] == f"[RESPOND] {TWENTY}"
    assert world.ended[-1].status == "completed"
    assert world.ended[-1].heard == TWENTY


def test_a_truncate_of_the_live_response_is_the_end_of_it() -> None:
    world = speaking()
    world.play(900)
    world.send(e.PlaybackTruncated(world.last_response.response_id, 400))
    assert world.ended[-1].status == "cancelled"
    assert world.of(c.FlushOutput)
    assert next_replies(world)[0] == "[RESPOND] w1 w2 w3 w4 —"


def test_a_response_live_over_a_boundary_is_archived_in_two_parts_and_no_word_is_lost() -> None:
    world = speaking()
    world.play(500)
    for _ in range(14):
        world.second()
        world.summarise()
    assert world.notices(n.BoundaryCrossed)
    head = world.core.memory.head
    assert "w5" in head
    assert "w6" not in world.prompt
    world.play(2000)
    world.second()
    assert "w6" in world.shown
    assert world.shown.count("w20") == 1
    assert "w5 " not in world.shown
    for word in range(1, 21):
        assert sum(text.split().count(f"w{word}") for text in texts(world)) <= 1


def texts(world: World) -> list[str]:
    return [world.prompt.replace("\\n", " ").replace('"', " ").replace(".", " ")]


def test_c1_without_a_voice_what_was_written_was_heard() -> None:
    world = World.open(writes_text=False)
    world.ask("Tell me.")
    world.begin_saying("One two three")
    reply = world.last_response
    world.send(e.TextWritten(reply.response_id, reply.epoch, 8))
    world.send(e.ResponseCancelled())
    assert next_replies(world)[0] == "[RESPOND] One two —"


# -- barge-in -------------------------------------------------------------------------------------


def test_c11_a_cough_pauses_the_output_and_it_goes_on_from_what_was_played() -> None:
    world = speaking()
    world.play(300)
    world.send(e.SpeechStarted(U))
    assert [type(one) for one in world.commands[-2:]] == [c.PauseOutput, c.Emit]
    world.wait(150)
    world.send(e.SpeechEnded(U, 150))
    (resumed,) = world.of(c.ResumeOutput)
    assert resumed.from_ms == 300
    assert resumed.epoch == world.last_response.epoch
    assert [b.stage for b in world.notices(n.BargeInChanged)] == ["suspected", "dismissed"]
    world.play()
    assert world.ended[-1].status == "completed"


def test_c11_speech_without_words_resumes_within_the_timeout_whatever_is_missing() -> None:
    world = speaking()
    world.send(e.SpeechStarted(U))
    world.wait(800)
    world.send(e.SpeechEnded(U, 800))
    assert not world.of(c.ResumeOutput)
    world.send(e.TranscriptArrived(U, "  "))
    assert len(world.of(c.ResumeOutput)) == 1
    world.send(e.SpeechStarted(UtteranceId("v")))
    world.send(e.SpeechEnded(UtteranceId("v"), 800))
    world.wait(3000)
    assert len(world.of(c.ResumeOutput)) == 2
    assert not world.of(c.FlushOutput)


def test_speech_that_lasts_confirms_by_itself() -> None:
    world = speaking()
    world.answer()
    world.send(e.SpeechStarted(U))
    world.wait(1199)
    assert not world.of(c.FlushOutput)
    world.wait(1)
    assert len(world.of(c.FlushOutput)) == 1


def test_speech_of_a_source_nobody_trusts_is_not_looked_at() -> None:
    trusted = frozenset({SignalSource.CLIENT_EVENT})
    world = speaking(barge_in=BargeInConfig(trusted=trusted))
    world.send(e.SpeechStarted(U))
    world.wait(5000)
    assert not world.of(c.PauseOutput)


def test_what_was_said_during_the_response_becomes_a_request() -> None:
    world = speaking()
    world.play(300)
    world.barge_in("What is that?")
    assert "What is that?" in world.shown
    assert world.decisions[-1].trigger == "query" or world.call is not None


def test_a_transcript_that_comes_twice_is_one_request() -> None:
    world = voiced()
    world.barge_in("What is that?")
    world.answer()
    world.send(e.TranscriptArrived(U, "What is that?"))
    assert world.stale() == ["transcript"]
    assert world.call is None


def test_c14_cancel_then_ask_gives_one_live_response_and_both_are_answered_in_order() -> None:
    world = speaking()
    world.play(200)
    world.send(e.ResponseCancelled(world.last_response.response_id))
    world.ask("Go on.")
    world.send(e.ResponseCancelled())
    world.ask("Go on, please.")
    world.answer()
    world.say("Three four.")
    started = world.notices(n.ResponseStarted)
    assert len(started) == 2
    assert [one.response_id for one in world.ended] == [started[0].response_id]
    world.voice()
    world.play()
    assert [one.status for one in world.ended] == ["cancelled", "completed"]


def test_c14_a_cancel_of_another_response_changes_nothing() -> None:
    world = speaking()
    world.send(e.ResponseCancelled(ResponseId("other")))
    assert world.stale() == ["cancel"]
    assert not world.of(c.FlushOutput)


def test_every_response_has_a_strictly_greater_epoch_and_no_id_comes_twice() -> None:
    world = voiced()
    world.ask("Tell me.")
    for number in range(6):
        world.say(f"Line {number}.")
        world.voice()
        world.play() if number % 2 else world.send(e.ResponseCancelled())
        world.wait(600)
        world.ask(f"More {number}.")
    started = world.notices(n.ResponseStarted)
    assert len({one.response_id for one in started}) == len(started) == 6
    epochs = [one.epoch for one in started]
    assert epochs == sorted(set(epochs))


def test_a_restored_session_goes_on_above_its_old_epochs() -> None:
    old = speaking("One two.")
    old.play()
    snapshot = old.core.memory.snapshot()
    config = core_config(has_voice=True, first_epoch=7)
    memory = type(old.core.memory).restore(snapshot, config.memory, config.dialect.text, Ms(5_000))
    world = World(SessionCore(config, memory), now=5000, writes_text=False)
    world.send(e.SessionOpened())
    world.wait(0)
    world.say("Three.")
    assert world.last_response.epoch == 8
    assert world.last_response.response_id not in {old.last_response.response_id}


# -- the synthesiser ------------------------------------------------------------------------------


def test_a_synthesiser_that_fails_ends_that_response_and_nothing_else() -> None:
    world = speaking()
    world.play(300)
    reply = world.last_response
    world.send(e.ClauseFailed(reply.response_id, reply.epoch, "tts_down", "No voice now."))
    assert world.troubles() == ["tts_down"]
    assert world.ended[-1].status == "failed"
    assert world.ended[-1].heard == "w1 w2 w3"
    assert world.of(c.FlushOutput)
    assert next_replies(world)[0] == "[RESPOND] w1 w2 w3 —"


def test_a_late_failure_of_the_synthesiser_is_dropped() -> None:
    world = speaking()
    reply = world.last_response
    world.send(e.ClauseFailed(reply.response_id, Epoch(99), "tts_down", "No voice now."))
    world.send(e.ResponseCancelled())
    world.send(e.ClauseFailed(reply.response_id, reply.epoch, "tts_down", "No voice now."))
    assert world.stale() == ["output", "output"]
    assert world.troubles() == []


def test_a_synthesiser_that_fails_while_the_model_speaks_lets_the_tick_end() -> None:
    world = voiced()
    world.ask("Tell me.")
    world.begin_saying("One two three, four five six. And")
    world.voice()
    world.play(200)
    reply = world.last_response
    world.send(e.ClauseFailed(reply.response_id, reply.epoch, "tts_down", "No voice now."))
    assert not world.of(c.AbortModel)
    world.stream(" more.")
    world.finish()
    assert [one.status for one in world.ended] == ["failed"]
    assert world.core.memory.tail[-1].reply == "[RESPOND] One two —"
    world.play(300)
    assert world.core.memory.tail[-1].reply == "[RESPOND] One two three, —", "in its grace"
    world.wait(1000)
    assert replies_of(world.last_prompt)[0] == "[RESPOND] One two three, —"


def test_a_synthesiser_that_fails_leaves_the_waiting_response_alone() -> None:
    world = speaking(queue_while_speaking=True)
    world.frame()
    world.wait(1000)
    world.say("Seven.")
    reply = world.last_response
    world.send(e.ClauseFailed(reply.response_id, reply.epoch, "tts_down", "No voice now."))
    world.wait(600)
    world.voice()
    world.play()
    assert [one.text for one in world.ended] == [TWENTY, "Seven."]
    assert world.ended[-1].heard == "Seven."


def test_an_interrupted_response_takes_the_waiting_one_with_it() -> None:
    world = speaking(queue_while_speaking=True)
    world.frame()
    world.wait(1000)
    world.say("Seven.")
    world.send(e.ResponseCancelled())
    world.wait(2000)
    assert len(world.notices(n.ResponseStarted)) == 1
    assert "Seven." not in str(world.core.memory.view())


def test_a_waiting_response_whose_call_is_in_flight_dies_with_the_live_one() -> None:
    world = speaking(queue_while_speaking=True)
    world.frame()
    world.wait(1000)
    world.begin_saying("Seven eight")
    world.send(e.ResponseCancelled())
    assert world.of(c.AbortModel)
    world.wait(1000)
    assert len(world.notices(n.ResponseStarted)) == 1
    assert "Seven" not in world.prompt


def test_a_synthesiser_that_fails_long_before_the_model_ends_leaves_what_was_heard() -> None:
    world = voiced()
    world.ask("Tell me.")
    world.begin_saying("One two three, four five six. And")
    world.voice()
    world.play(200)
    reply = world.last_response
    world.send(e.ClauseFailed(reply.response_id, reply.epoch, "tts_down", "No voice now."))
    world.wait(600)
    assert not world.core.has_unsettled_response
    world.finish()
    world.second()
    assert replies_of(world.last_prompt)[0] == "[RESPOND] One two —"


def test_an_urgent_answer_pre_empts_and_any_other_is_dropped() -> None:
    world = speaking()
    world.play(300)
    world.ask("And?")
    world.say("No.")
    assert world.decisions[-1].source is n.DecisionSource.BUSY
    world.ask("Is that smoke?", urgent=True)
    world.say("Smoke!")
    assert [one.status for one in world.ended] == ["cancelled"]
    assert world.notices(n.BargeInChanged)[-1].stage == "confirmed"
    world.voice()
    world.play()
    assert world.ended[-1].heard == "Smoke!"


def test_where_our_own_policy_is_not_trusted_an_urgent_answer_has_to_wait_too() -> None:
    trusted = frozenset({SignalSource.CLIENT_EVENT})
    world = speaking(barge_in=BargeInConfig(trusted=trusted))
    world.ask("Is that smoke?", urgent=True)
    world.say("Smoke!")
    assert world.ended == []
    assert world.decisions[-1].source is n.DecisionSource.BUSY


def test_one_response_may_wait_and_not_two() -> None:
    world = speaking(queue_while_speaking=True)
    for number in range(2):
        world.ask(f"And {number}?")
        world.say(f"Line {number}.")
    assert world.decisions[-1].source is n.DecisionSource.BUSY
    world.play()
    world.voice()
    world.play()
    assert [one.text for one in world.ended] == [TWENTY, "Line 0."]


# -- reading aloud --------------------------------------------------------------------------------


def reading(text: str = "Ada Lovelace it is.") -> World:
    """A delegated answer that is being read out."""
    world = voiced(has_delegate=True)
    world.frame()
    world.ask("Who is this?")
    world.delegate("Who is on the picture?", note="Let me see.")
    world.voice()
    world.play()
    world.deliver(text)
    world.voice()
    return world


def test_a_delegated_answer_is_read_out_as_a_response_of_its_own() -> None:
    world = reading()
    assert world.last_response.trigger == "delegation"
    world.play()
    assert world.ended[-1].heard == "Ada Lovelace it is."
    assert "Delivery: being read aloud" in world.shown


def test_a_read_aloud_that_is_interrupted_adds_its_heard_part_as_a_fact() -> None:
    world = reading()
    world.answer()
    world.play(200)
    world.send(e.ResponseCancelled())
    world.wait(500)
    world.wait(500)
    assert "[Said since] Ada Lovelace —" in world.shown
    world.answer()
    world.wait(3000)
    assert world.prompt.count("[Said since]") == 1


def test_a_read_aloud_nobody_heard_adds_no_fact() -> None:
    world = reading()
    world.answer()
    world.send(e.ResponseCancelled())
    world.wait(1000)
    assert "[Said since]" not in world.prompt


def test_a_read_aloud_waits_until_nobody_speaks_and_the_grace_is_over() -> None:
    world = speaking(has_delegate=True, queue_while_speaking=True)
    world.ask("Who is this?")
    world.delegate("Who is on the picture?", note="Let me see.")
    world.send(e.SpeechStarted(U))
    world.deliver("Ada Lovelace.")
    world.send(e.TranscriptArrived(U, "Stop."))
    assert len(world.notices(n.ResponseStarted)) == 1
    world.wait(499)
    assert len(world.notices(n.ResponseStarted)) == 1
    world.wait(1)
    assert world.last_response.trigger == "delegation"


def test_while_the_user_speaks_a_read_aloud_waits_for_the_end_of_it() -> None:
    world = voiced(has_delegate=True)
    world.ask("Who is this?")
    world.answer("[DELEGATE] Who is on the picture?")
    world.send(e.SpeechStarted(U))
    world.deliver("Ada Lovelace.")
    assert world.notices(n.ResponseStarted) == []
    world.send(e.SpeechEnded(U, 400))
    assert world.last_response.trigger == "delegation"


def test_a_signal_of_an_unknown_source_is_an_error_and_interrupts_nothing() -> None:
    world = voiced()
    world.ask("What is this?")
    world.say("A bicycle.")
    commands = world.send(e.SpeechStarted(U, source="a_cat"))
    assert [one.code for one in world.notices(n.Trouble)] == ["unknown_signal_source"]
    assert not any(isinstance(one, c.PauseOutput) for one in commands)
    world.voice()
    world.play()
    assert world.notices(n.ResponseEnded)[-1].status == "completed"


def test_an_end_of_speech_that_never_comes_does_not_silence_us_for_good() -> None:
    world = voiced(has_delegate=True)
    world.ask("Who is this?")
    world.answer("[DELEGATE] Who is on the picture?")
    for number in range(40):
        world.send(e.SpeechStarted(UtteranceId(f"lost{number}")))
    world.deliver("Ada Lovelace.")
    world.wait(29_000)
    assert world.notices(n.ResponseStarted) == []
    world.wait(1_000)
    assert world.last_response.trigger == "delegation"


# -- the end --------------------------------------------------------------------------------------


def test_a_delegated_answer_that_was_heard_ends_an_instruction_until_answered() -> None:
    world = World.open(core_config(has_delegate=True))
    world.frame()
    world.ask("Who is this?", lifetime=Lifetime(LifetimeKind.ANSWERED))
    world.delegate("Who is on the picture?", note="Let me see.")
    assert not world.core.memory.is_gated
    world.deliver("Ada Lovelace.")
    assert world.core.memory.is_gated
    assert world.notices(n.InstructionChanged)[-1].status == "answered"


def test_an_answered_instruction_ends_when_the_answer_was_heard() -> None:
    world = voiced()
    name = world.ask("What is this?", lifetime=Lifetime(LifetimeKind.ANSWERED))
    world.say("A bicycle.")
    world.voice()
    assert not world.core.memory.is_gated
    world.play()
    assert world.core.memory.is_gated
    changed = world.notices(n.InstructionChanged)
    assert [(one.instruction_id, one.status) for one in changed] == [
        (name, "armed"),
        (name, "answered"),
    ]


def test_an_answer_that_was_cut_in_on_leaves_its_instruction_standing() -> None:
    world = voiced()
    world.ask("What is this?", lifetime=Lifetime(LifetimeKind.ANSWERED))
    world.say("A bicycle, red.")
    world.voice()
    world.play(100)
    world.send(e.ResponseCancelled())
    assert not world.core.memory.is_gated


def test_an_answer_that_broke_off_leaves_its_instruction_standing() -> None:
    world = World.open()
    world.ask("What is this?", lifetime=Lifetime(LifetimeKind.ANSWERED))
    world.begin_saying("A bicycle")
    world.fail("stream_cut")
    assert world.ended[-1].status == "failed"
    assert not world.core.memory.is_gated
    world.wait(1000)
    assert "was cut off" in world.shown
    world.say("A bicycle, red.")
    assert world.core.memory.is_gated


def test_closing_settles_the_live_response_to_what_was_heard() -> None:
    world = speaking()
    world.play(300)
    world.send(e.SessionClosed())
    assert world.ended[-1].heard == "w1 w2 w3"
    assert world.core.memory.tail[-1].reply == "[RESPOND] w1 w2 w3 —"
    assert world.commands[-1] == c.Close("client")
    assert not world.core.has_unsettled_response


def test_closing_in_the_grace_freezes_what_was_heard() -> None:
    world = speaking()
    world.play(300)
    world.send(e.ResponseCancelled())
    world.send(e.SessionClosed())
    assert not world.core.has_unsettled_response


def test_closing_when_nothing_was_ever_said() -> None:
    world = voiced()
    world.send(e.SessionClosed())
    assert world.ended == []
    assert world.commands[-1] == c.Close("client")


def test_phase_and_epoch_can_be_looked_at() -> None:
    world = speaking()
    speech = world.core._speech
    phases = [speech.phase]
    assert speech.epoch == world.last_response.epoch
    world.send(e.SessionClosed())
    phases.append(speech.phase)
    assert phases == [Phase.RESPONDING, Phase.CLOSED]
