"""Barge-in in two stages, by example."""

from __future__ import annotations

import pytest

from onlooker.orchestrator.bargein import (
    BargeIn,
    BargeInConfig,
    Confirmed,
    Dismissed,
    Frozen,
    OverlapPolicy,
    SignalSource,
    Suspected,
)
from onlooker.types import Ms, ResponseId, UtteranceId

pytestmark = pytest.mark.pure

R1, R2 = ResponseId("r1"), ResponseId("r2")
U1, U2 = UtteranceId("u1"), UtteranceId("u2")
VAD = SignalSource.EXTERNAL_VAD
JUDGE = SignalSource.DIALOGUE_STATE_MODEL


def speaking(config: BargeInConfig | None = None) -> BargeIn:
    machine = BargeIn(config)
    machine.on_started(R1)
    return machine


def suspected(config: BargeInConfig | None = None) -> BargeIn:
    """U1 began to speak at 1 000 ms."""
    machine = speaking(config)
    assert machine.on_speech_started(U1, VAD, Ms(1_000)) == (Suspected(R1),)
    return machine


def test_speech_over_a_response_makes_it_suspected_at_once() -> None:
    machine = suspected()
    assert machine.is_suspected
    assert machine.live == R1
    assert machine.next_timer_ms == 1_000 + 1_200


def test_speech_while_nothing_is_live_is_no_barge_in() -> None:
    machine = BargeIn()
    assert machine.on_speech_started(U1, VAD, Ms(0)) == ()
    assert machine.cancel(Ms(0)) == ()
    assert machine.confirm(SignalSource.SERVER_POLICY, Ms(0)) == ()
    assert machine.next_timer_ms is None


def test_c11_a_short_burst_is_dismissed_and_speech_goes_on() -> None:
    machine = suspected()
    assert machine.on_speech_ended(U1, 150, Ms(1_150)) == (Dismissed(R1),)
    assert machine.live == R1
    assert machine.next_timer_ms is None


def test_c11_a_longer_burst_with_an_empty_transcript_is_dismissed() -> None:
    machine = suspected()
    assert machine.on_speech_ended(U1, 800, Ms(1_800)) == ()
    assert machine.is_suspected
    assert machine.on_transcript(U1, "  ", Ms(2_100)) == (Dismissed(R1),)


def test_c11_without_an_answer_speech_goes_on_after_the_timeout() -> None:
    machine = suspected()
    machine.on_speech_ended(U1, 800, Ms(1_800))
    assert machine.next_timer_ms == 4_000
    assert machine.on_timer(Ms(3_999)) == ()
    assert machine.on_timer(Ms(4_000)) == (Dismissed(R1),)
    assert machine.next_timer_ms is None


def test_c11_one_cough_after_another_does_not_keep_the_doubt_alive() -> None:
    machine = suspected()
    machine.on_speech_ended(U1, 400, Ms(1_400))
    assert machine.on_speech_started(U2, VAD, Ms(3_900)) == ()
    assert machine.on_timer(Ms(4_000)) == (Dismissed(R1),)
    assert machine.next_timer_ms is None


def test_words_confirm() -> None:
    machine = suspected()
    machine.on_speech_ended(U1, 400, Ms(1_400))
    assert machine.on_transcript(U1, "stop", Ms(1_700)) == (Confirmed(R1),)
    assert machine.live is None
    assert not machine.is_suspected


def test_words_confirm_also_after_a_dismissal() -> None:
    machine = suspected()
    machine.on_speech_ended(U1, 200, Ms(1_200))
    assert machine.on_transcript(U1, "stop", Ms(1_500)) == (Confirmed(R1),)


def test_words_that_were_said_before_the_response_do_not_end_it() -> None:
    machine = BargeIn()
    machine.on_speech_started(U1, VAD, Ms(0))
    machine.on_started(R1)
    assert machine.on_speech_ended(U1, 5_000, Ms(900)) == ()
    assert machine.on_transcript(U1, "what is this", Ms(1_000)) == ()
    assert machine.live == R1


def test_speech_that_lasts_confirms_by_the_timer() -> None:
    machine = suspected()
    assert machine.on_timer(Ms(2_199)) == ()
    assert machine.on_timer(Ms(2_200)) == (Confirmed(R1),)


def test_speech_that_lasted_confirms_at_its_end() -> None:
    assert suspected().on_speech_ended(U1, 1_200, Ms(2_150)) == (Confirmed(R1),)


def test_without_a_recogniser_length_alone_decides() -> None:
    config = BargeInConfig(has_transcripts=False, min_speech_ms=600)
    assert suspected(config).on_speech_ended(U1, 599, Ms(1_599)) == (Dismissed(R1),)
    assert suspected(config).on_speech_ended(U1, 600, Ms(1_600)) == (Confirmed(R1),)


def test_a_second_voice_keeps_the_doubt_until_both_are_settled() -> None:
    machine = suspected()
    assert machine.on_speech_started(U2, VAD, Ms(1_100)) == ()
    assert machine.on_transcript(U1, "", Ms(1_500)) == ()
    assert machine.is_suspected
    assert machine.on_transcript(U2, "", Ms(1_600)) == (Dismissed(R1),)


def test_the_same_start_twice_is_one_utterance() -> None:
    machine = suspected()
    machine.on_speech_ended(U1, 100, Ms(1_100))
    assert machine.on_speech_started(U1, VAD, Ms(1_200)) == ()
    assert not machine.is_suspected


def test_new_speech_after_a_dismissal_is_suspected_again() -> None:
    machine = suspected()
    machine.on_speech_ended(U1, 100, Ms(1_100))
    assert machine.on_speech_started(U2, VAD, Ms(1_500)) == (Suspected(R1),)


def test_signals_about_unknown_utterances_are_not_looked_at() -> None:
    machine = speaking()
    assert machine.on_speech_ended(U1, 5_000, Ms(10)) == ()
    assert machine.on_transcript(U1, "hello", Ms(20)) == ()


def test_the_oldest_of_very_many_utterances_is_forgotten() -> None:
    machine = speaking()
    for n in range(100):
        machine.on_speech_started(UtteranceId(f"x{n}"), VAD, Ms(n))
    assert machine.on_transcript(UtteranceId("x0"), "hello", Ms(200)) == ()
    assert machine.on_transcript(UtteranceId("x99"), "hello", Ms(200)) == (Confirmed(R1),)


@pytest.mark.parametrize("source", SignalSource)
def test_each_source_counts_exactly_when_it_is_trusted(source: SignalSource) -> None:
    trusting = BargeInConfig(trusted=frozenset({source}))
    wary = BargeInConfig(trusted=frozenset(SignalSource) - {source})
    assert speaking(trusting).on_speech_started(U1, source, Ms(0)) == (Suspected(R1),)
    assert speaking(wary).on_speech_started(U1, source, Ms(0)) == ()
    assert speaking(trusting).confirm(source, Ms(0)) == (Confirmed(R1),)
    assert speaking(wary).confirm(source, Ms(0)) == ()
    for config, wanted in ((trusting, (Dismissed(R1),)), (wary, ())):
        machine = speaking(config)
        other = next(iter(config.trusted))
        machine.on_speech_started(U1, other, Ms(0))
        assert machine.dismiss(source) == wanted


def test_a_model_of_the_dialogue_may_know_an_mm_hm() -> None:
    machine = suspected()
    assert machine.dismiss(JUDGE) == (Dismissed(R1),)
    assert machine.dismiss(JUDGE) == ()
    assert machine.on_timer(Ms(2_500)) == ()
    assert machine.on_speech_ended(U1, 1_500, Ms(2_500)) == (), "however long it lasts"
    assert machine.on_transcript(U1, "stop that", Ms(2_900)) == (Confirmed(R1),)


def test_speech_that_outlasts_the_timeout_still_confirms_at_its_end() -> None:
    machine = suspected()
    machine.on_speech_ended(U1, 400, Ms(1_400))
    machine.on_speech_started(U2, VAD, Ms(3_900))
    assert machine.on_timer(Ms(4_000)) == (Dismissed(R1),)
    assert machine.on_speech_ended(U2, 1_500, Ms(5_400)) == (Confirmed(R1),)


def test_c14_the_order_of_the_client_counts_whoever_is_trusted() -> None:
    machine = speaking(BargeInConfig(trusted=frozenset(), overlap=OverlapPolicy.LISTEN_ONLY))
    assert machine.cancel(Ms(5)) == (Confirmed(R1),)
    assert machine.cancel(Ms(6)) == ()


def test_when_only_listening_speech_ends_nothing() -> None:
    machine = speaking(BargeInConfig(overlap=OverlapPolicy.LISTEN_ONLY))
    assert machine.on_speech_started(U1, VAD, Ms(0)) == ()
    assert machine.on_transcript(U1, "stop", Ms(10)) == ()
    assert machine.confirm(SignalSource.SERVER_POLICY, Ms(20)) == (Confirmed(R1),)


def test_a_flushed_response_is_frozen_after_its_grace() -> None:
    machine = speaking()
    machine.cancel(Ms(1_000))
    assert machine.in_grace == R1
    assert machine.next_timer_ms == 1_500
    assert machine.on_timer(Ms(1_499)) == ()
    assert machine.on_timer(Ms(1_500)) == (Frozen(R1),)
    assert machine.in_grace is None
    assert machine.on_timer(Ms(1_600)) == ()


def test_a_second_interruption_within_the_grace_freezes_the_first_response() -> None:
    machine = speaking()
    machine.cancel(Ms(1_000))
    machine.on_started(R2)
    assert machine.in_grace == R1
    assert machine.cancel(Ms(1_200)) == (Frozen(R1), Confirmed(R2))
    assert machine.in_grace == R2
    assert machine.next_timer_ms == 1_700


def test_a_timer_that_comes_late_settles_everything_in_order() -> None:
    machine = speaking()
    machine.cancel(Ms(0))
    machine.on_started(R2)
    machine.on_speech_started(U1, VAD, Ms(100))
    assert machine.on_timer(Ms(5_000)) == (Frozen(R1), Confirmed(R2))


def test_a_response_that_ends_by_itself_ends_the_doubt() -> None:
    machine = suspected()
    machine.on_finished()
    assert not machine.is_suspected
    assert machine.next_timer_ms is None
    assert machine.in_grace is None


def test_a_new_response_begins_without_the_doubt_of_the_old() -> None:
    machine = suspected()
    machine.on_started(R2)
    assert not machine.is_suspected
    assert machine.on_transcript(U1, "stop", Ms(2_000)) == ()
