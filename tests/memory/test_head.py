from __future__ import annotations

from dataclasses import replace

import pytest

from onlooker.memory import MemorySettings
from onlooker.memory.head import frames_of
from onlooker.types import BoundaryReason, InstructionId, ResponseId, ServerLimits
from tests.memory.words import WORDLESS, WORDY, Talk, make, say

pytestmark = pytest.mark.pure

QUICK = MemorySettings(
    chunk_frames=10, lead=2, hard_cap_frames=13, rollup_every=2, block_window=3, block_trim=2,
)  # fmt: skip


def chunks(talk: Talk, count: int, *, kinds: tuple[str, ...] = ("chunk", "block")) -> None:
    """Closes ``count`` chunks, answering the requests of these kinds."""
    until = talk.memory.chunk + count
    while talk.memory.chunk < until:
        talk.tick()
        for request in talk.memory.summary_requests(talk.now):
            if request.kind in kinds:
                talk.memory.on_summary(request.job_id, f"{request.job_id}.", talk.now)
        talk.memory.integrity()


def counts(talk: Talk) -> tuple[int, int]:
    gauge = talk.memory.gauge()
    return gauge.mids, gauge.blocks


def test_summaries_roll_up_at_a_boundary_and_not_before():
    talk = Talk(make(QUICK))
    chunks(talk, 2)
    assert counts(talk) == (2, 0)
    assert "block" not in talk.memory.head  # requested and answered already
    chunks(talk, 1)
    assert counts(talk) == (1, 1)
    assert "block-3-1." in talk.memory.head


def test_a_block_is_written_from_its_summaries_and_ranges():
    talk = Talk(make(QUICK))
    chunks(talk, 2, kinds=("chunk",))
    (job,) = [job for job in talk.memory._store.jobs.jobs.values() if job.request.kind == "block"]
    assert [(start, end) for start, end, _ in job.request.texts] == [(0, 8_000), (8_000, 16_000)]


def test_b5_a_roll_up_that_never_comes_gets_a_fallback_that_keeps_the_words():
    talk = Talk(make(QUICK))
    chunks(talk, 4, kinds=("chunk",))
    assert counts(talk) == (2, 1)
    block = talk.memory._store.tiers.spans[0]
    assert block.fallback
    assert block.text == "chunk-1-1. chunk-2-1."


def test_a_late_block_replaces_its_fallback():
    talk = Talk(make(QUICK))
    chunks(talk, 2, kinds=("chunk",))
    job = next(j for j in talk.memory._store.jobs.jobs.values() if j.request.kind == "block")
    chunks(talk, 2, kinds=("chunk",))
    assert talk.memory.on_summary(job.request.job_id, "the whole story", talk.now) == "replaced"
    assert "the whole story" not in talk.memory.head
    chunks(talk, 1)
    assert "the whole story" in talk.memory.head


def test_b5_a_roll_up_that_is_given_up_gets_its_fallback_at_the_next_boundary():
    talk = Talk(make(MemorySettings(chunk_frames=10, lead=2, rollup_every=2, summary_attempts=1)))
    for _ in range(40):
        talk.tick()
        for request in talk.memory.summary_requests(talk.now):
            if request.kind == "chunk":
                talk.memory.on_summary(request.job_id, "s", talk.now)
            else:
                assert talk.memory.on_summary_failed(request.job_id, talk.now) == "failed"
    assert counts(talk)[0] <= 2
    assert counts(talk)[1] >= 1


def test_b5_without_any_summariser_tiers_stay_bounded():
    talk = Talk(make(QUICK))
    chunks(talk, 40, kinds=())
    assert counts(talk)[0] <= 4
    assert counts(talk)[1] <= 3
    assert "nobody looked" in talk.memory.head  # what was forgotten is stated
    assert len(talk.memory._store.jobs.jobs) < 30


def test_a_summary_of_a_rolled_up_range_is_thrown_away():
    talk = Talk(make(QUICK))
    jobs: list[str] = []
    while talk.memory.chunk < 5:
        talk.tick()
        jobs += [r.job_id for r in talk.memory.summary_requests(talk.now) if r.kind == "chunk"]
    assert talk.memory.on_summary(jobs[0], "far too late", talk.now) == "discarded"
    assert talk.memory.on_summary(jobs[0], "far too late", talk.now) == "stale"
    assert talk.memory.on_summary_failed(jobs[1], talk.now) == "stale"
    assert talk.memory._store.jobs.find(jobs[1]) is None


def test_the_window_is_trimmed_several_blocks_at_once():
    talk = Talk(make(QUICK))
    seen = set()
    starts = set()
    for _ in range(40):
        chunks(talk, 1)
        seen.add(counts(talk)[1])
        starts.add(talk.memory.head.splitlines()[1])
    assert seen == {0, 1, 2, 3}
    assert len(starts) < 14  # the first bytes of the head rarely move


def test_a_gap_between_summaries_is_told_to_who_rolls_them_up():
    talk = Talk(make(QUICK))
    chunks(talk, 1)
    talk.memory._store.tiers.add_gap(talk.memory._store.tiers.end_ms, 0)
    talk.memory._store.tiers.add_gap(talk.memory._store.chunk.ticks[0].at_ms, 0)
    chunks(talk, 1, kinds=("chunk",))
    job = next(j for j in talk.memory._store.jobs.jobs.values() if j.request.kind == "block")
    assert "nobody looked" in job.request.texts[1][2]


def test_j3_a_head_that_outgrows_its_share_forgets_the_oldest_and_says_so():
    limits = ServerLimits(max_model_len=4_096, max_images=64)
    settings = MemorySettings(
        chunk_frames=5, lead=1, hard_cap_frames=6, frame_tokens=100, summary_max_tokens=400,
        rollup_every=4,
    )  # fmt: skip
    talk = Talk(make(settings, limits=limits))
    for _ in range(80):
        talk.tick()
        for request in talk.memory.summary_requests(talk.now):
            talk.memory.on_summary(request.job_id, "long " * 400, talk.now)
        talk.memory.integrity()
        config = talk.memory.config
        assert talk.memory._store.estimator.text_tokens(len(talk.memory.head)) <= (
            config.head_tokens + 2
        )
    assert "nobody looked" in talk.memory.head


def test_j3_q_and_a_gives_way_when_the_head_is_too_long_even_so():
    talk = Talk(make(MemorySettings(chunk_frames=10, lead=2)))
    for n in range(8):
        talk.tick(say("word " * 90), rid=f"r{n}", spoken="word " * 90)
        talk.memory.settle(ResponseId(f"r{n}"), 450, interrupted=False)
    talk.summarise()
    talk.memory.shrink_to(max_tokens=2_000)
    talk.memory.force_boundary(BoundaryReason.FORCED)
    talk.tick()
    assert len(talk.memory.head) < 8 * 450
    assert talk.memory.gauge().qa_entries < 8
    gauge = talk.memory.gauge()
    assert gauge.prompt_tokens <= gauge.budget_tokens


def test_j3_both_tiers_at_once_forget_summaries_before_blocks_are_written():
    talk = Talk(make(QUICK))
    chunks(talk, 3, kinds=("chunk", "block"))
    store = talk.memory._store
    assert counts(talk) == (1, 1)
    store.config = replace(store.config, head_tokens=35)
    talk.memory.force_boundary(BoundaryReason.PERSONA)
    talk.tick()
    assert counts(talk) == (1, 0)
    assert "<0.0-16.0> nobody looked" in talk.memory.head


def test_without_words_a_cancelled_query_moves_from_the_tail_to_the_history():
    talk = Talk(make(text=WORDLESS))
    talk.ticks(2)
    talk.memory.cancel(InstructionId("i0"), talk.now)
    talk.tick()
    assert talk.memory.tail[0].facts == ()
    assert "asked@0.0 watch" in talk.memory.head


def test_the_newest_summary_is_kept_and_q_and_a_gives_way_to_it():
    talk = Talk(make(QUICK))
    for n in range(3):
        talk.tick(say(f"answer {n} " * 20), rid=f"r{n}", spoken=f"answer {n} " * 20)
        talk.memory.settle(ResponseId(f"r{n}"), 999, interrupted=False)
    chunks(talk, 1)
    store = talk.memory._store
    store.config = replace(store.config, head_tokens=200)
    talk.memory.force_boundary(BoundaryReason.PERSONA)
    talk.tick()
    assert "chunk-1-1." in talk.memory.head
    assert talk.memory.gauge().qa_entries == 1
    store.config = replace(store.config, head_tokens=1)
    talk.memory.force_boundary(BoundaryReason.PERSONA)
    talk.tick()
    assert "chunk-1-1." in talk.memory.head
    assert talk.memory.gauge().qa_entries == 0


def test_forgetting_a_summary_gives_up_the_roll_up_that_would_hold_it():
    talk = Talk(make(QUICK))
    chunks(talk, 2, kinds=("chunk",))
    store = talk.memory._store
    assert store.tiers.rollup_job is not None
    store.config = replace(store.config, head_tokens=35)
    talk.memory.force_boundary(BoundaryReason.PERSONA)
    talk.tick()
    talk.memory.integrity()
    assert store.tiers.rollup_job is None
    assert counts(talk) == (1, 0)
    assert talk.memory.head.splitlines()[1] == "<0.0-8.0> nobody looked"


def test_pictures_of_spans():
    talk = Talk(make(QUICK))
    chunks(talk, 3)
    assert frames_of(talk.memory._store.tiers.spans) == 24
    assert WORDY.video_history_header in talk.memory.head
