"""Summaries on their way: requested, retried a bounded number of times, staged when they arrive.

A job names a range, not an attempt. Each attempt has an id of its own, so the answer to a given-up
attempt is stale. No answer, good, bad or missing, ever stops a tick (B4, J1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from onlooker.memory.entries import Instruction, SummaryRequest, TailTick
from onlooker.types import FrameUuid, Ms

RETRY_MS = 2_000
"""Pause before the second attempt; it doubles with each further one."""
MAX_JOBS = 24


class JobState(StrEnum):
    """Life of a job."""

    DUE = "due"
    RUNNING = "running"
    STAGED = "staged"
    FAILED = "failed"
    DISCARDED = "discarded"
    """Its range was rolled up or forgotten; an answer is thrown away."""


@dataclass(slots=True)
class Job:
    """One summary."""

    number: int
    request: SummaryRequest
    state: JobState = JobState.DUE
    not_before_ms: int = 0
    """Stream time before which it is not handed out."""
    asked_ms: Ms | None = None
    """When its first attempt was handed out."""
    text: str = ""
    """The summary, once staged."""

    @property
    def is_open(self) -> bool:
        """Whether a summary may still come."""
        return self.state in (JobState.DUE, JobState.RUNNING)


class Jobs:
    """Every summary that is wanted."""

    def __init__(self, attempts: int) -> None:
        self._attempts = attempts
        self.jobs: dict[int, Job] = {}
        self.last = 0

    def add(
        self,
        kind: str,
        start_ms: Ms,
        end_ms: Ms,
        *,
        ticks: tuple[TailTick, ...] = (),
        texts: tuple[tuple[Ms, Ms, str], ...] = (),
        instructions: tuple[Instruction, ...] = (),
    ) -> int:
        """Wants a summary; returns the job's number."""
        self.last += 1
        name = f"{kind}-{self.last}-1"
        request = SummaryRequest(name, kind, 1, start_ms, end_ms, ticks, texts, instructions)
        self.jobs[self.last] = Job(self.last, request)
        self._prune()
        return self.last

    def get(self, number: int | None) -> Job | None:
        """The job of that number, if it is still known."""
        return None if number is None else self.jobs.get(number)

    def find(self, job_id: str) -> Job | None:
        """The job whose current attempt has that id."""
        for job in self.jobs.values():
            if job.request.job_id == job_id:
                return job
        return None

    def due(self) -> list[Job]:
        """Jobs that wait to be handed out, now or later."""
        return [job for job in self.jobs.values() if job.state is JobState.DUE]

    def hand_out(self, now_ms: Ms) -> tuple[SummaryRequest, ...]:
        """Requests due at ``now_ms``, each once."""
        due = [job for job in self.due() if job.not_before_ms <= now_ms]
        for job in due:
            job.state = JobState.RUNNING
            job.asked_ms = now_ms if job.asked_ms is None else job.asked_ms
        return tuple(job.request for job in due)

    def fail(self, job: Job, now_ms: Ms) -> str:
        """An attempt failed: retry later, or give up."""
        if job.request.attempt >= self._attempts:
            job.state = JobState.FAILED
            return "failed"
        attempt = job.request.attempt + 1
        job.request = replace(
            job.request, attempt=attempt, job_id=f"{job.request.kind}-{job.number}-{attempt}"
        )
        job.state = JobState.DUE
        job.not_before_ms = now_ms + RETRY_MS * 2 ** (attempt - 2)
        return "retry"

    def discard(self, number: int | None) -> None:
        """Nobody wants that summary any more; a running attempt is remembered to be dropped."""
        job = self.get(number)
        if job is None:
            return
        if job.state is JobState.RUNNING:
            job.state = JobState.DISCARDED
            job.request = replace(job.request, ticks=(), texts=())
        else:
            del self.jobs[job.number]

    def forget(self, job: Job) -> None:
        """The job is over."""
        del self.jobs[job.number]

    @property
    def next_due_ms(self) -> Ms | None:
        """When a request that waits (a retry) may be handed out; None when none waits."""
        return min((Ms(job.not_before_ms) for job in self.due()), default=None)

    def frames(self) -> set[FrameUuid]:
        """Pictures that a retry may still need."""
        return {
            frame.uuid
            for job in self.jobs.values()
            if job.is_open
            for tick in job.request.ticks
            for frame in tick.frames
        }

    def _prune(self) -> None:
        """A server that never answers must not make memory grow."""
        over = [j.number for j in self.jobs.values() if j.state is JobState.DISCARDED]
        while len(self.jobs) > MAX_JOBS and over:
            del self.jobs[over.pop(0)]
