from __future__ import annotations

import pytest

from onlooker.memory import DelegatedFact, Memory, MemorySettings, QueryFact
from onlooker.types import (
    BoundaryReason,
    InstructionId,
    Lifetime,
    LifetimeKind,
    Ms,
    ResponseId,
    Ticket,
    TickIndex,
    Usage,
    VideoState,
)
from tests.memory.words import WORDLESS, WORDY, Talk, frame, make, say

pytestmark = pytest.mark.pure


def begin(talk: Talk, *frames: int, video: VideoState = VideoState.FRESH):
    talk.n += 1
    return talk.memory.begin_tick(TickIndex(talk.n), talk.now, [frame(n) for n in frames], video)[0]


# -- arrivals


def test_arrivals_wait_for_the_next_tick_and_are_shown_once():
    talk = Talk()
    assert len(talk.memory.staged) == 1
    tick = begin(talk, 1)
    assert tick.facts == (QueryFact(InstructionId("i0"), "watch", Ms(0)),)
    talk.ask("i1", "arrives while the tick is open")
    talk.memory.commit_tick(WORDY.silence)
    assert [f.text for f in begin(talk, 2).facts] == ["arrives while the tick is open"]
    talk.memory.commit_tick(WORDY.silence)
    assert begin(talk, 3).facts == ()


def test_a_query_that_is_too_long_is_cut_visibly():
    talk = Talk(ask="word " * 20_000)
    (one,) = talk.memory.standing
    assert one.text.endswith("word…")
    assert len(one.text) <= talk.memory.config.query_chars


def test_b23_a_delegated_answer_is_in_the_very_next_tick():
    talk = Talk()
    talk.ticks(3)
    fact = DelegatedFact(Ticket("t"), "what breed", "a tabby", talk.now, "being read aloud")
    talk.memory.add_delegated(fact)
    assert begin(talk, 9).facts == (fact,)


def test_b25_a_failed_delegation_is_told_as_well_and_long_answers_are_cut():
    talk = Talk()
    talk.tick()
    talk.memory.add_delegated(DelegatedFact(Ticket("t"), "q", "", Ms(0), failed=True), None)
    talk.memory.add_delegated(
        DelegatedFact(Ticket("u"), "q", "", Ms(0), failed=True), ResponseId("nothing to read")
    )
    talk.memory.add_delegated(DelegatedFact(Ticket("t"), "q" * 9_999, "a" * 99_999, Ms(0)))
    facts = [f for f in begin(talk, 1).facts if isinstance(f, DelegatedFact)]
    assert [f.failed for f in facts] == [True, True, False]
    assert len(facts[-1].text) <= talk.memory.config.fact_chars


def test_the_fact_of_a_query_cut_off_after_its_first_words_is_staged_again():
    talk = Talk()
    talk.tick(say("it is"), rid="r", spoken="it is")
    talk.memory.rearm_cut_off(talk.now)
    (fact,) = talk.memory.staged
    assert fact == QueryFact(InstructionId("i0"), "watch", Ms(1_000), cut_off=True)
    talk.ticks(7)
    talk.summarise()
    talk.ticks(3)
    assert talk.memory.head.count("watch") == 1


def test_only_what_still_stands_is_asked_again():
    talk = Talk()
    talk.memory.rearm_cut_off(talk.now)
    assert len(talk.memory.staged) == 1  # no tick was committed
    talk.tick()
    talk.memory.cancel(InstructionId("i0"), talk.now)
    talk.memory.rearm_cut_off(talk.now)
    assert not any(isinstance(fact, QueryFact) for fact in talk.memory.staged)


# -- ticks are transactions


def test_j4_b32_a_failed_tick_leaves_no_trace_and_its_query_is_still_fresh():
    talk = Talk()
    tick = begin(talk, 1)
    talk.ask("i1", "meanwhile")
    talk.memory.rollback_tick()
    assert talk.memory.tail == ()
    again = begin(talk, 1)
    assert again.facts[:1] == tick.facts
    assert (again.frames, again.label_ms) == (tick.frames, tick.label_ms)
    assert [fact.text for fact in again.facts] == ["watch", "meanwhile"]


def test_a_failed_ticks_picture_is_shown_by_a_tick_that_has_none():
    talk = Talk()
    begin(talk, 1)
    talk.memory.rollback_tick()
    tick = begin(talk, video=VideoState.UNCHANGED)
    assert (tick.frames, tick.video, tick.label_ms) == ((frame(1),), VideoState.FRESH, 1_000)


@pytest.mark.parametrize("video", [VideoState.NO_VIDEO, VideoState.CAMERA_OFF])
def test_c20_an_old_picture_is_never_shown_as_current(video):
    talk = Talk()
    begin(talk, 1)
    talk.memory.rollback_tick()
    tick = begin(talk, video=video)
    assert (tick.frames, tick.video, tick.label_ms) == ((), video, None)
    talk.memory.rollback_tick()
    assert begin(talk, video=VideoState.UNCHANGED).frames == ()


def test_the_newest_picture_wins_over_a_failed_ticks_one():
    talk = Talk()
    begin(talk, 1)
    talk.memory.rollback_tick()
    assert begin(talk, 2).frames == (frame(2),)


def test_a_failed_ticks_picture_does_not_outlive_a_gated_stretch():
    talk = Talk()
    begin(talk, 1)
    talk.memory.rollback_tick()
    talk.memory.cancel(InstructionId("i0"), talk.now)
    talk.memory.observe_gated([], talk.now)
    assert begin(talk).frames == ()


def test_a_boundary_crossed_by_a_failed_tick_is_crossed_once():
    talk = Talk()
    talk.ticks(8)
    talk.summarise()
    talk.ticks(2)
    _, boundary = talk.begin()
    assert boundary is not None
    talk.memory.rollback_tick()
    assert talk.begin()[1] is None


def test_misused_transactions_are_bugs():
    talk = Talk()
    with pytest.raises(AssertionError, match="no tick"):
        talk.memory.commit_tick(WORDY.silence)
    with pytest.raises(AssertionError, match="no tick"):
        talk.memory.rollback_tick()
    talk.begin()
    with pytest.raises(AssertionError, match="open already"):
        talk.begin()
    with pytest.raises(AssertionError, match="is open"):
        talk.memory.observe_gated([frame(1)], talk.now)


def test_b34_j14_labels_come_from_the_capture_clock():
    talk = Talk()
    for n, captured in enumerate((900, 1_950, 7_040)):
        tick, _ = talk.memory.begin_tick(
            TickIndex(n), Ms(captured + 60), [frame(n, captured)], VideoState.FRESH
        )
        assert tick.label_ms == captured
        talk.memory.commit_tick(WORDY.silence)


def test_j7_a_tick_without_a_picture_keeps_all_memory():
    talk = Talk()
    talk.ticks(8)
    talk.summarise()
    talk.ticks(3)
    head, before = talk.memory.head, talk.memory.tail
    talk.ask("i1", "only text")
    tick = begin(talk, video=VideoState.NO_VIDEO)
    assert tick.frames == ()
    assert talk.memory.head == head != ""
    assert talk.memory.tail[:-1] == before


def test_words_and_question_are_read_from_the_reply_when_they_are_not_given():
    talk = Talk()
    talk.tick(say("hello"))
    talk.tick(WORDY.delegate.format(note="wait", question="why"))
    talk.tick("</response> x", rid="r", spoken="x")
    read = [(tick.spoken, tick.question) for tick in talk.memory.tail]
    assert read == [("hello", ""), ("wait", "why"), ("x", "")]
    talk.tick(WORDY.silence, rid="quiet")
    talk.memory.settle(ResponseId("quiet"), 0, interrupted=True)
    assert talk.memory.tail[-1].revision == 0


# -- heard text through the facade, summaries, limits


def test_a_response_is_heard_settled_and_frozen():
    talk = Talk()
    talk.tick(say("one two"), rid="r", spoken="one two")
    rid = ResponseId("r")
    talk.memory.hear(rid, 3)
    talk.memory.settle(rid, 3, interrupted=True)
    talk.memory.freeze(rid)
    assert talk.memory.tail[-1].reply == say("one [cut]")


def test_statuses_of_summaries():
    talk = Talk()
    assert talk.memory.on_summary("chunk-1-1", "x", talk.now) == "stale"
    assert talk.memory.on_summary_failed("chunk-1-1", talk.now) == "stale"
    talk.ticks(8)
    assert talk.memory.next_summary_ms == 0
    (request,) = talk.memory.summary_requests(talk.now)
    assert talk.memory.on_summary(request.job_id, " \n", talk.now) == "staged"
    assert talk.memory.on_summary(request.job_id, "again", talk.now) == "stale"
    assert talk.memory.on_summary_failed(request.job_id, talk.now) == "stale"
    talk.ticks(3)
    assert "nothing to see" in talk.memory.head


def test_an_endless_summary_is_cut():
    talk = Talk()
    talk.ticks(8)
    (request,) = talk.memory.summary_requests(talk.now)
    talk.memory.on_summary(request.job_id, "word " * 50_000, talk.now)
    talk.ticks(3)
    assert len(talk.memory.head) < 20_000


def test_an_empty_late_summary_is_said_to_be_empty():
    talk = Talk()
    talk.ticks(8)
    (request,) = talk.memory.summary_requests(talk.now)
    talk.ticks(6)
    assert talk.memory.on_summary(request.job_id, "", talk.now) == "replaced"
    talk.memory.force_boundary(BoundaryReason.PERSONA)
    talk.tick()
    assert "nothing to see" in talk.memory.head


def test_b7_usage_corrects_the_estimate_and_limits_can_shrink():
    talk = Talk(make(MemorySettings()))
    talk.ticks(5)
    talk.begin()
    before = talk.memory.gauge().prompt_tokens
    talk.memory.on_usage(Usage(9 * before, 4), frames=6, chars=3_000)
    talk.memory.commit_tick(WORDY.silence)
    assert talk.memory.gauge().prompt_tokens >= 9 * before
    talk.memory.shrink_to(max_tokens=5_000, max_images=9)
    assert talk.memory.config.max_prompt_tokens == 5_000
    assert talk.memory.config.hard_cap_frames <= 8


def test_ids_and_lifetimes_pass_through():
    memory = make()
    memory.arm(InstructionId("i"), "a", Lifetime(), Ms(3))
    (one,) = memory.standing
    assert (one.instruction_id, one.text, one.lifetime, one.at_ms) == ("i", "a", Lifetime(), 3)


def test_a_failed_summary_is_tried_again():
    talk = Talk()
    talk.ticks(8)
    (request,) = talk.memory.summary_requests(talk.now)
    assert talk.memory.on_summary_failed(request.job_id, talk.now) == "retry"


def test_a_read_out_that_is_cut_short_adds_what_was_heard():
    talk = Talk()
    fact = DelegatedFact(Ticket("t"), "q", "so it is", Ms(0), "aloud")
    talk.memory.add_delegated(fact, ResponseId("r"))
    talk.tick()
    talk.memory.settle(ResponseId("r"), 2, interrupted=True)
    talk.memory.freeze(ResponseId("r"))
    assert [fact.text for fact in talk.memory.staged] == ["so"]  # type: ignore[union-attr]


def test_the_facade_passes_everything_on():
    talk = Talk(ask=None)
    memory = talk.memory
    assert talk.ask("empty", "") == ()
    talk.ask("i1", "a", Lifetime(LifetimeKind.TIME, Ms(1_500)))
    talk.ask("i2", "b", Lifetime(LifetimeKind.ANSWERED))
    talk.ask("i3", "c")
    assert memory.next_expiry_ms == 1_500
    talk.tick(say("one two"), rid="r", spoken="one two")
    assert [one.text for one in memory.expire(Ms(1_500))] == ["a"]
    assert [one.text for one in memory.answered(ResponseId("r"), Ms(1_600))] == ["b"]
    assert memory.cancel(InstructionId("nobody"), Ms(1_700)) is None
    assert memory.cancel(InstructionId("i3"), Ms(1_700)) is not None
    assert memory.is_gated
    for n in range(2, 9):
        memory.observe_gated([frame(n)], Ms(1_000 * n), TickIndex(n) if n % 2 else None)
    assert len(memory.tail) == 4
    again = Memory.restore(memory.snapshot(), memory.config, WORDY, Ms(9_000))
    assert again.is_gated


def test_a_gated_memory_counts_on_from_nothing():
    memory = make()
    memory.observe_gated([frame(1)], Ms(1_000))
    assert memory.tail[0].tick == 0


def test_a_query_cancelled_without_words_does_not_return_with_its_failed_tick():
    talk = Talk(make(text=WORDLESS))
    talk.begin()
    talk.memory.cancel(InstructionId("i0"), talk.now)
    talk.memory.rollback_tick()
    assert talk.memory.staged == ()


def test_a_summary_given_up_after_its_fallback_leaves_the_fallback():
    talk = Talk(make(MemorySettings(chunk_frames=10, lead=2, summary_attempts=1)))
    talk.ticks(8)
    (request,) = talk.memory.summary_requests(talk.now)
    talk.ticks(8)
    assert talk.memory.on_summary_failed(request.job_id, talk.now) == "failed"
    assert talk.memory.on_summary(request.job_id, "x", talk.now) == "stale"


def test_summaries_nobody_wants_any_more_are_thrown_away():
    talk = Talk()
    talk.ticks(8)
    store = talk.memory._store
    talk.memory.summary_requests(talk.now)
    for is_written in (True, False):
        number = store.jobs.add("block", Ms(0), Ms(1))
        (request,) = talk.memory.summary_requests(talk.now)
        store.jobs.discard(number)
        if is_written:
            assert talk.memory.on_summary(request.job_id, "x", talk.now) == "discarded"
        else:
            assert talk.memory.on_summary_failed(request.job_id, talk.now) == "stale"
        assert store.jobs.get(number) is None
    number = store.jobs.add("block", Ms(0), Ms(1))
    (request,) = talk.memory.summary_requests(talk.now)
    assert talk.memory.on_summary(request.job_id, "block", talk.now) == "staged"


# -- work, not time


def test_s4_a_tick_never_renders_the_head_nor_counts_the_chunk_again(monkeypatch):
    from onlooker.memory import budget, chunk, store

    talk = Talk(make(MemorySettings(chunk_frames=100, lead=10)))
    talk.ticks(60)
    counted: list[int] = []
    original = budget.tick_size

    def count(tick, text):
        counted.append(tick.tick)
        return original(tick, text)

    monkeypatch.setattr(chunk, "tick_size", count)
    monkeypatch.setattr(store, "tick_size", count)
    monkeypatch.setattr(store.Store, "render", None)
    talk.ticks(20)
    assert len(counted) <= 3 * 20
