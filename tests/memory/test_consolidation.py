from __future__ import annotations

import pytest

from onlooker.memory import Memory, MemorySettings, QueryFact
from onlooker.memory.chunk import AGE_GRACE_MS
from onlooker.memory.consolidation import close_range
from onlooker.memory.jobs import RETRY_MS
from onlooker.types import (
    BoundaryReason,
    InstructionId,
    Lifetime,
    Ms,
    ResponseId,
    ServerLimits,
    TickIndex,
    VideoState,
)
from tests.memory.words import WORDY, Talk, frame, make, say

pytestmark = pytest.mark.pure

HUNDRED = MemorySettings(chunk_frames=100, lead=10, fixed_lead=True)
IDLE = InstructionId("i0")


def near() -> Talk:
    """A chunk of ten with its cut fixed after eight ticks."""
    talk = Talk()
    talk.ticks(8)
    return talk


def gated(talk: Talk, count: int) -> None:
    for _ in range(count):
        talk.n += 1
        talk.memory.observe_gated([frame(1000 * talk.n, talk.now)], talk.now, TickIndex(talk.n))


# -- two phases


def test_the_cut_is_fixed_a_lead_early_and_ticks_go_on():
    talk = Talk()
    talk.ticks(7)
    assert talk.memory.summary_requests(talk.now) == ()
    talk.tick()
    (request,) = talk.memory.summary_requests(talk.now)
    assert (request.kind, request.attempt, request.frames) == ("chunk", 1, 8)
    assert (request.start_ms, request.end_ms) == (0, 8_000)
    assert [one.text for one in request.instructions] == ["watch"]
    assert talk.memory.summary_requests(talk.now) == ()
    assert talk.ticks(2) == []


def test_b1_summary_finishing_mid_chunk_leaves_the_head_alone():
    talk = near()
    assert talk.summarise() == ["staged"]
    head = talk.memory.head
    assert talk.tick() is None
    assert talk.memory.head == head == ""


def test_b2_b3_j2_the_boundary_waits_for_the_summary_and_carries_what_came_after_the_cut():
    talk = near()
    talk.ticks(2)  # full, no summary: no tick waits, none is blind
    assert talk.tick() is None
    talk.summarise("a cat came")
    boundary = talk.tick()
    assert boundary is not None
    assert (boundary.reason, boundary.fallback) == (BoundaryReason.FULL, False)
    assert (boundary.carried_ticks, boundary.carried_frames) == (3, 3)
    assert boundary.head_chars == len(talk.memory.head)
    assert "<0.0-8.0>\na cat came chunk-1-1" in talk.memory.head
    assert [tick.tick for tick in talk.memory.tail] == [9, 10, 11, 12]


def test_c26_the_head_changes_once_a_chunk_and_nothing_else_breaks_the_prefix():
    talk = Talk(make(HUNDRED))
    heads, crossed = {0: ""}, []
    for n in range(1, 331):
        before = talk.memory.tail
        if talk.tick() is not None:
            crossed.append(n)
        else:
            assert talk.memory.tail[: len(before)] == before
        heads[len(crossed)] = heads.get(len(crossed), talk.memory.head)
        assert talk.memory.head == heads[len(crossed)]
        talk.summarise()
    assert crossed == [101, 191, 281]
    assert len(set(heads.values())) == 4


def test_head_and_tail_never_show_a_range_twice_nor_leave_one_out():
    talk = Talk(make(HUNDRED))
    for _ in range(330):
        talk.tick()
        talk.summarise()
        spans = talk.memory.view()["mid_term"]
        covered = sum(span["frames"] for span in spans)  # type: ignore[attr-defined]
        assert covered + len(talk.memory.tail) == talk.n


# -- failures


def test_at_the_hard_cap_a_fallback_takes_the_place_and_is_reported():
    talk = near()
    talk.memory.summary_requests(talk.now)
    assert talk.ticks(5) == []
    boundary = talk.tick()
    assert boundary is not None
    assert boundary.fallback
    assert (boundary.fallback_start_ms, boundary.fallback_end_ms) == (0, 8_000)
    assert boundary.carried_frames == 5
    assert "no summary of 8 pictures" in talk.memory.head


def test_a_late_summary_replaces_its_fallback_at_the_next_boundary():
    talk = near()
    (request,) = talk.memory.summary_requests(talk.now)
    talk.ticks(6)
    assert talk.memory.on_summary(request.job_id, "late but real", talk.now) == "replaced"
    assert "no summary" in talk.memory.head
    talk.ticks(4)
    talk.summarise()
    boundary = next(iter(talk.ticks(4)))
    assert not boundary.fallback
    assert "late but real" in talk.memory.head
    assert "no summary" not in talk.memory.head


def test_b4_j1_a_failing_summariser_never_kills_a_tick_and_never_loses_a_chunk():
    talk = Talk()
    boundaries = []
    for _ in range(60):
        for request in talk.memory.summary_requests(talk.now):
            talk.memory.on_summary_failed(request.job_id, talk.now)
        boundary = talk.tick()
        boundaries += [boundary] if boundary else []
        talk.memory.integrity()
    assert len(boundaries) >= 4
    assert all(boundary.fallback for boundary in boundaries)
    assert talk.memory.head.count("no summary of") >= 4


def test_b4_a_failed_attempt_is_tried_again_after_a_pause():
    talk = near()
    (first,) = talk.memory.summary_requests(talk.now)
    assert talk.memory.on_summary_failed(first.job_id, talk.now) == "retry"
    assert talk.memory.summary_requests(talk.now) == ()
    assert talk.memory.next_summary_ms == talk.now + RETRY_MS
    (second,) = talk.memory.summary_requests(Ms(talk.now + RETRY_MS))
    assert (second.attempt, second.ticks) == (2, first.ticks)
    assert talk.memory.on_summary(first.job_id, "of the attempt given up", talk.now) == "stale"
    assert talk.memory.on_summary(second.job_id, "good", talk.now) == "staged"


def test_a_summary_given_up_does_not_wait_for_the_hard_cap():
    talk = Talk(make(MemorySettings(chunk_frames=10, lead=2, summary_attempts=1)))
    talk.ticks(8)
    (request,) = talk.memory.summary_requests(talk.now)
    assert talk.memory.on_summary_failed(request.job_id, talk.now) == "failed"
    assert talk.ticks(2) == []
    boundary = talk.tick()
    assert boundary is not None
    assert boundary.fallback
    assert talk.memory.on_summary(request.job_id, "too late", talk.now) == "stale"


def test_a_fallback_whose_summary_is_given_up_later_stays():
    talk = Talk(make(MemorySettings(chunk_frames=10, lead=2, summary_attempts=1)))
    talk.ticks(8)
    (request,) = talk.memory.summary_requests(talk.now)
    talk.ticks(8)
    assert talk.memory.on_summary_failed(request.job_id, talk.now) == "failed"
    assert talk.memory.on_summary_failed(request.job_id, talk.now) == "stale"
    assert "no summary of 8" in talk.memory.head


def test_a_chunk_without_pictures_needs_no_summariser():
    talk = Talk(make(MemorySettings(chunk_frames=10, lead=2, chunk_ticks=12)))
    talk.ticks(12, frames=0)
    assert talk.memory.summary_requests(talk.now) == ()
    boundary = talk.tick(frames=0)
    assert boundary is not None
    assert not boundary.fallback
    assert "nothing to see" in talk.memory.head


def test_the_lead_adapts_to_slow_summaries():
    talk = Talk(make(MemorySettings(chunk_frames=50)))
    assert talk.memory.gauge().lead == 5
    talk.ticks(45)
    (request,) = talk.memory.summary_requests(talk.now)
    talk.ticks(7)
    talk.memory.on_summary(request.job_id, "slow", talk.now)
    assert talk.memory.gauge().lead == 10


def test_a_missing_summary_widens_the_lead():
    talk = Talk(make(MemorySettings(chunk_frames=50)))
    talk.ticks(70)
    assert talk.memory.gauge().lead == 10


def test_provisional_words_do_not_reach_the_summariser():
    talk = Talk()
    talk.ticks(7)
    talk.tick(say("one two"), rid="r", spoken="one two")
    (request,) = talk.memory.summary_requests(talk.now)
    assert request.ticks[-1].reply == WORDY.silence
    assert talk.memory.tail[-1].reply == say("one two")


# -- other boundaries


def test_b39_a_persona_change_is_a_boundary_at_once_with_full_carry_over():
    talk = near()
    talk.summarise()
    tail = talk.memory.tail
    talk.memory.force_boundary(BoundaryReason.PERSONA)
    boundary = talk.tick()
    assert boundary is not None
    assert (boundary.reason, boundary.carried_ticks) == (BoundaryReason.PERSONA, 8)
    assert talk.memory.tail[:8] == tail
    assert talk.memory.head == ""
    boundary = talk.ticks(2)[0]
    assert (boundary.reason, boundary.fallback) == (BoundaryReason.FULL, False)


def test_a_persona_change_at_the_hard_cap_also_makes_room():
    talk = near()
    talk.ticks(5)
    talk.memory.force_boundary(BoundaryReason.PERSONA)
    boundary = talk.tick()
    assert boundary is not None
    assert (boundary.reason, boundary.carried_ticks) == (BoundaryReason.PERSONA, 5)
    assert boundary.fallback


def test_a_live_reply_does_not_hold_a_boundary_back():
    talk = Talk()
    talk.ticks(7)
    talk.tick(say("one two"), rid="r", spoken="one two")
    talk.summarise()
    talk.memory.hear(ResponseId("r"), 3)
    assert talk.ticks(3) != []
    assert "said@8.0 one\n" in talk.memory.head + "\n"


def test_a_forced_boundary_outranks_others_and_folds_all_but_the_newest():
    talk = Talk()
    talk.ticks(7)
    talk.memory.force_boundary(BoundaryReason.FORCED)
    talk.memory.force_boundary(BoundaryReason.PERSONA)
    boundary = talk.tick()
    assert boundary is not None
    assert (boundary.reason, boundary.carried_ticks) == (BoundaryReason.FORCED, 1)
    (request,) = talk.memory.summary_requests(talk.now)
    assert request.frames == 6
    assert talk.tick() is None


def test_a_forced_boundary_with_nothing_to_fold():
    talk = Talk()
    talk.memory.force_boundary(BoundaryReason.FORCED)
    boundary = talk.tick()
    assert boundary is not None
    assert not boundary.fallback


def test_c31_a_lower_image_limit_compacts_once_and_then_holds():
    talk = Talk()
    talk.ticks(9)
    talk.begin()
    talk.memory.rollback_tick()
    talk.memory.shrink_to(max_images=6)
    talk.memory.force_boundary(BoundaryReason.FORCED)
    boundary = talk.tick()
    assert boundary is not None
    assert boundary.reason is BoundaryReason.FORCED
    for _ in range(60):
        talk.tick()
        talk.summarise()
        assert sum(len(tick.frames) for tick in talk.memory.tail) <= 5
        talk.memory.integrity()


def test_compaction_goes_on_until_the_next_tick_fits():
    talk = Talk(make(HUNDRED))
    talk.ticks(95)
    talk.memory.shrink_to(max_images=5)
    talk.memory.force_boundary(BoundaryReason.FORCED)
    talk.tick()
    assert len(talk.memory.tail) <= 4


def test_an_old_chunk_is_full_and_does_not_wait_for_ever():
    talk = Talk(make(MemorySettings(chunk_frames=10, lead=2, max_age_ms=30_000)))
    talk.ticks(3)
    talk.n += 30
    assert talk.tick() is None  # full by age: the cut is fixed now
    assert len(talk.memory.summary_requests(talk.now)) == 1
    talk.n += AGE_GRACE_MS // 1_000
    boundary = talk.tick()
    assert boundary is not None
    assert (boundary.reason, boundary.fallback) == (BoundaryReason.FULL, True)


# -- gating


def test_b9_nobody_asks_so_nothing_is_summarised_and_only_the_newest_pictures_stay():
    talk = Talk(ask=None)
    gated(talk, 100)
    assert talk.memory.summary_requests(talk.now) == ()
    assert [tick.tick for tick in talk.memory.tail] == [97, 98, 99, 100]
    assert len(talk.memory.frames_in_use()) == 4
    talk.memory.integrity()


def test_b8_the_first_query_folds_the_head_once_and_the_gap_is_stated():
    talk = Talk(ask=None)
    gated(talk, 20)
    talk.ask("i1", "what is it")
    boundary = talk.tick()
    assert boundary is not None
    assert (boundary.reason, boundary.carried_frames) == (BoundaryReason.FIRST_QUERY, 4)
    assert talk.memory.head == "[Video]\n<0.0-16.0> nobody looked"
    assert talk.memory.tail[-1].facts == (QueryFact(InstructionId("i1"), "what is it", Ms(20_000)),)
    assert talk.tick() is None


def test_a_first_query_with_nothing_lost_changes_no_head():
    talk = Talk(ask=None)
    gated(talk, 3)
    talk.ask("i1", "what is it")
    assert talk.tick() is None
    assert len(talk.memory.tail) == 4


def test_a_short_pause_between_queries_keeps_the_chunk():
    talk = Talk()
    talk.ticks(5)
    tail = talk.memory.tail
    talk.memory.cancel(IDLE, talk.now)
    gated(talk, 3)
    talk.ask("i1", "again")
    assert talk.tick() is None
    assert talk.memory.tail[:5] == tail
    assert len(talk.memory.tail) == 9


def test_a_long_pause_closes_the_watched_chunk_with_a_summary_of_its_own():
    talk = near()
    talk.ticks(1)  # one tick after the cut
    talk.memory.cancel(IDLE, talk.now)
    gated(talk, 10)
    requests = talk.memory.summary_requests(talk.now)
    assert [request.frames for request in requests] == [8, 1]
    for request in requests:
        assert talk.memory.on_summary(request.job_id, f"sum {request.frames}", talk.now)
    talk.ask("i1", "again")
    boundary = talk.tick()
    assert boundary is not None
    assert boundary.reason is BoundaryReason.FIRST_QUERY
    for text in ("<0.0-8.0>\nsum 8", "<8.0-9.0>\nsum 1", "<9.0-15.0> nobody looked"):
        assert text in talk.memory.head


def test_a_pause_before_any_cut_closes_the_chunk_as_one():
    talk = Talk()
    talk.ticks(3)
    talk.memory.cancel(IDLE, talk.now)
    gated(talk, 10)
    (request,) = talk.memory.summary_requests(talk.now)
    assert (request.frames, request.end_ms) == (3, 3_000)


def test_a_pause_at_a_cut_leaves_nothing_between():
    talk = near()
    talk.summarise("whole")
    talk.memory.cancel(IDLE, talk.now)
    gated(talk, 10)
    assert talk.memory.summary_requests(talk.now) == ()
    talk.ask("i1", "again")
    talk.tick()
    assert "<0.0-8.0>\nwhole" in talk.memory.head
    assert "<8.0-14.0> nobody looked" in talk.memory.head


def test_gated_pictures_beyond_the_ring_in_one_tick():
    talk = Talk(ask=None)
    talk.memory.observe_gated([frame(n) for n in range(9)], Ms(1))
    assert [one.uuid for one in talk.memory.tail[0].frames] == ["f5", "f6", "f7", "f8"]
    talk.memory.observe_gated([], Ms(2))
    assert len(talk.memory.tail) == 1


def test_a_range_whose_pictures_are_gone_gets_a_visible_fallback():
    store = Talk().memory._store
    close_range(store, Ms(0), 0)
    assert store.tiers.spans == []
    close_range(store, Ms(5_000), 0)
    close_range(store, Ms(9_000), 4)
    assert [span.text for span in store.tiers.spans] == [
        "nothing to see", "no summary of 4 pictures",
    ]  # fmt: skip


# -- tokens


def test_b7_a_chunk_closes_early_rather_than_overflow():
    limits = ServerLimits(max_model_len=8_192, max_images=64)
    talk = Talk(make(MemorySettings(chunk_frames=12, chunk_ticks=500), limits=limits))
    for _ in range(150):
        talk.tick(say("word " * 60), rid=f"r{talk.n}", spoken="word " * 60)
        talk.memory.settle(ResponseId(f"r{talk.n - 1}"), 300, interrupted=False)
        talk.summarise()
        gauge = talk.memory.gauge()
        assert gauge.prompt_tokens <= gauge.budget_tokens
    assert talk.memory.chunk > 5


def test_b7_a_flood_of_facts_is_spread_over_ticks_and_none_is_lost():
    limits = ServerLimits(max_model_len=8_192, max_images=64)
    memory: Memory = make(MemorySettings(chunk_frames=8, lead=2), limits=limits)
    talk = Talk(memory)
    for n in range(30):
        talk.ask(f"i{n + 1}", f"q{n}z " + "blah " * 40, Lifetime())
    seen: list[str] = []
    while talk.memory.staged or not seen:
        tick, _ = talk.begin()
        seen += [f.text.split()[0] for f in tick.facts if isinstance(f, QueryFact)]
        gauge = talk.memory.gauge()
        assert gauge.prompt_tokens <= gauge.budget_tokens
        talk.memory.commit_tick(WORDY.silence)
    assert seen == ["watch", *(f"q{n}z" for n in range(30))]


def test_more_pictures_than_the_server_takes_leave_the_newest():
    talk = Talk(make(limits=ServerLimits(200_000, 14)))
    tick, _ = talk.begin(frames=20)
    assert len(tick.frames) == 13
    assert tick.frames[-1].uuid == "f1019"
    assert tick.video is VideoState.FRESH
