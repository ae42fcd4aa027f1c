from __future__ import annotations

import pytest

from onlooker.memory import TailTick
from onlooker.memory.jobs import MAX_JOBS, RETRY_MS, Jobs, JobState
from onlooker.types import Ms, TickIndex, VideoState
from tests.memory.words import frame

pytestmark = pytest.mark.pure

TICK = TailTick(TickIndex(1), Ms(1), Ms(1), VideoState.FRESH, (frame(1),), ())


def add(jobs: Jobs) -> int:
    return jobs.add("chunk", Ms(0), Ms(1), ticks=(TICK,))


def test_a_request_is_handed_out_once():
    jobs = Jobs(3)
    number = add(jobs)
    assert jobs.next_due_ms == 0
    (request,) = jobs.hand_out(Ms(5))
    assert (request.job_id, request.attempt) == (f"chunk-{number}-1", 1)
    assert jobs.hand_out(Ms(6)) == ()
    assert jobs.next_due_ms is None
    assert jobs.find(request.job_id) is jobs.get(number)
    assert jobs.find("chunk-9-9") is jobs.get(None) is jobs.get(99) is None


def test_b4_failures_are_retried_later_and_a_bounded_number_of_times():
    jobs = Jobs(3)
    job = jobs.get(add(jobs))
    assert job is not None
    jobs.hand_out(Ms(0))
    assert jobs.fail(job, Ms(100)) == "retry"
    assert jobs.hand_out(Ms(100 + RETRY_MS - 1)) == ()
    assert jobs.hand_out(Ms(100 + RETRY_MS))[0].attempt == 2
    assert jobs.fail(job, Ms(5_000)) == "retry"
    assert jobs.next_due_ms == 5_000 + 2 * RETRY_MS
    jobs.hand_out(Ms(20_000))
    assert jobs.fail(job, Ms(20_000)) == "failed"
    assert job.asked_ms == 0
    assert not job.is_open


def test_pictures_are_needed_while_a_summary_may_come():
    jobs = Jobs(1)
    job = jobs.get(add(jobs))
    assert job is not None
    assert jobs.frames() == {"f1"}
    jobs.hand_out(Ms(0))
    assert jobs.frames() == {"f1"}
    jobs.fail(job, Ms(1))
    assert jobs.frames() == set()


def test_discarding():
    jobs = Jobs(3)
    waiting, running = add(jobs), 0
    jobs.discard(waiting)
    assert jobs.jobs == {}
    running = add(jobs)
    jobs.hand_out(Ms(0))
    jobs.discard(running)
    job = jobs.get(running)
    assert job is not None
    assert (job.state, job.request.ticks) == (JobState.DISCARDED, ())
    jobs.forget(job)
    jobs.discard(None)
    assert jobs.jobs == {}


def test_a_server_that_never_answers_does_not_make_memory_grow():
    jobs = Jobs(3)
    for _ in range(5 * MAX_JOBS):
        number = add(jobs)
        jobs.hand_out(Ms(0))
        jobs.discard(number)
    assert len(jobs.jobs) <= MAX_JOBS
