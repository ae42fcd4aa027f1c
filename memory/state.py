"""``Memory``: the whole memory of one session, as one pure value.

Theory of operation. Arrivals are *staged*; :meth:`Memory.begin_tick` shows them in a tick,
:meth:`Memory.commit_tick` makes that tick part of the chunk, :meth:`Memory.rollback_tick` stages
everything again. What a prompt shows is ``head`` followed by ``tail``. The head is text that was
rendered at the last boundary and stays as it is until the next one; the tail only grows in between,
except that an interruption rewrites the interrupted reply. Nothing but ``begin_tick`` crosses a
boundary, and it returns it.

No method raises on any order of valid calls, except where a transaction is misused, which is a bug
of the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from onlooker.memory import askings, consolidation, heard
from onlooker.memory.budget import clip
from onlooker.memory.config import MemoryConfig, shrunk
from onlooker.memory.entries import (
    Boundary,
    CancelFact,
    DelegatedFact,
    ExpiredFact,
    Instruction,
    QueryFact,
    SummaryRequest,
    TailTick,
)
from onlooker.memory.history import spoken_of
from onlooker.memory.jobs import Job, JobState
from onlooker.memory.replies import Reply
from onlooker.memory.snapshot import load, save
from onlooker.memory.store import Store
from onlooker.memory.views import MemoryViews
from onlooker.types import (
    BoundaryReason,
    DialectText,
    FrameRef,
    InstructionId,
    Lifetime,
    Ms,
    ResponseId,
    TickIndex,
    Usage,
    VideoState,
)


class Memory(MemoryViews):
    """What a session remembers. See the module's docstring.

    Texts handed in (queries, summaries, delegated answers) must be neutralised before: they are
    shown as they are.
    """

    def __init__(self, config: MemoryConfig, text: DialectText) -> None:
        self._store = Store(config, text)

    # -- arrivals ---------------------------------------------------------------------------

    def arm(
        self,
        instruction_id: InstructionId,
        text: str,
        lifetime: Lifetime,
        now_ms: Ms,
        *,
        urgent: bool = False,
    ) -> tuple[tuple[InstructionId, str], ...]:
        """A query: arms an instruction and stages its fact.

        Asking what already stands re-arms it under its first id (B13); the new id is then an alias
        for :meth:`cancel`. Text beyond ``config.query_chars`` is cut with a visible mark. An empty
        text arms nothing.

        Returns:
            What changed, in order: (id, ``replaced`` | ``armed`` | ``rearmed``).
        """
        store = self._seen(now_ms)
        if not text.strip():
            return ()
        words = clip(text.strip(), store.config.query_chars)
        return askings.arm(store, Instruction(instruction_id, words, lifetime, now_ms, urgent))

    def cancel(self, instruction_id: InstructionId, now_ms: Ms) -> Instruction | None:
        """The user cancelled; returns what stood, or None when nothing of that id did."""
        store = self._seen(now_ms)
        gone = store.instructions.end(instruction_id)
        if gone is not None:
            askings.end(store, gone, CancelFact(gone.instruction_id, gone.text, now_ms))
        return gone

    def expire(self, now_ms: Ms) -> tuple[Instruction, ...]:
        """Ends every instruction whose time is over; returns them."""
        store = self._seen(now_ms)
        due = store.instructions.due(now_ms)
        for one in due:
            store.instructions.end(one.instruction_id)
            askings.end(store, one, ExpiredFact(one.instruction_id, one.text, now_ms))
        return due

    @property
    def next_expiry_ms(self) -> Ms | None:
        """When :meth:`expire` has something to do; None when never."""
        return self._store.instructions.next_expiry_ms

    def answered(self, response_id: ResponseId, now_ms: Ms) -> tuple[Instruction, ...]:
        """A response was heard: ends the instructions that live until answered.

        Only those that the response could know of end: asked in its tick or before.
        """
        return askings.answered(self._seen(now_ms), response_id)

    def rearm_cut_off(self, now_ms: Ms) -> None:
        """The answer of the newest committed tick failed after its point of no return.

        Its queries that still stand are staged once more, as cut off.
        """
        store = self._seen(now_ms)
        if not store.chunk.ticks:
            return
        for fact in store.chunk.ticks[-1].facts:
            if isinstance(fact, QueryFact) and fact.instruction_id in store.instructions.armed:
                store.stage(replace(fact, at_ms=now_ms, cut_off=True))

    def add_delegated(self, fact: DelegatedFact, response_id: ResponseId | None = None) -> None:
        """A delegated answer (or its failure); name the response that reads it aloud, if any.

        A read-out that is interrupted adds its heard part as a fact, once it is frozen.
        """
        store = self._seen(fact.at_ms)
        room = store.config.fact_chars
        question = clip(fact.question, room // 4)
        store.stage(replace(fact, text=clip(fact.text, room), question=question))
        if response_id is not None and fact.text:
            heard.commit(store, Reply(response_id, fact.text), store.last_ms)

    # -- ticks ------------------------------------------------------------------------------

    def begin_tick(
        self, tick: TickIndex, now_ms: Ms, frames: Sequence[FrameRef], video: VideoState
    ) -> tuple[TailTick, Boundary | None]:
        """Opens a tick: crosses the boundary that is due, takes what is staged.

        Without ``frames`` the pictures of a rolled-back tick are shown, unless ``video`` says that
        there is none to see. Must be followed by :meth:`commit_tick` or :meth:`rollback_tick`.
        """
        store = self._seen(now_ms)
        if store.open is not None:
            raise AssertionError("a tick is open already")
        shown, video = self._pictures(tuple(frames), video)
        boundary = consolidation.open_boundary(store, now_ms, len(shown))
        facts, ends = store.staging.take(store.fact_room, store.fact_chars)
        label = shown[0].capture_ms if shown else None
        store.open = TailTick(tick, now_ms, label, video, shown, facts, ends=ends)
        store.sent = store.size()
        return store.open, boundary

    def commit_tick(
        self,
        reply: str,
        response_id: ResponseId | None = None,
        spoken: str = "",
        question: str = "",
    ) -> None:
        """The open tick becomes part of the chunk.

        Args:
            reply: Canonical assistant text, as the next prompt shows it.
            response_id: Set when it is a response whose playback will be reported
                (:meth:`hear`, :meth:`settle`, :meth:`freeze`).
            spoken: Its spoken text (a delegation's note); read from ``reply`` when empty.
            question: A delegated question; kept whatever is heard.
        """
        store = self._store
        if store.open is None:
            raise AssertionError("no tick is open")
        if not spoken and not question:
            spoken, question = spoken_of(reply, store.text)
        done = replace(
            store.open, reply=reply, response_id=response_id, spoken=spoken, question=question
        )
        store.open = None
        store.chunk.append(done)
        store.committed_frames += len(done.frames)
        if response_id is not None and spoken:
            heard.commit(store, Reply(response_id, spoken, question, reply), done.at_ms)
        consolidation.watch(store, done.at_ms)

    def rollback_tick(self) -> None:
        """The open tick failed before its point of no return: everything is staged again."""
        store = self._store
        if store.open is None:
            raise AssertionError("no tick is open")
        tick, store.open = store.open, None
        kept = []
        for fact in tick.facts:
            if isinstance(fact, QueryFact) and fact.instruction_id in store.withdrawn:
                store.history.withdraw(fact)
            else:
                kept.append(fact)
        store.staging.give_back(tuple(kept), tick.ends, tick.frames)

    def observe_gated(
        self,
        frames: Sequence[FrameRef],
        now_ms: Ms,
        tick: TickIndex | None = None,
        video: VideoState = VideoState.FRESH,
    ) -> None:
        """Nobody has asked anything: keeps the newest pictures only, calls nobody.

        Once the ring is full the chunk watched before is closed, and what leaves the ring is a gap.
        """
        store = self._seen(now_ms)
        if store.open is not None:
            raise AssertionError("a tick is open")
        store.staging.frames = ()
        if not frames:
            return
        if store.chunk.ring_from is None:
            store.chunk.ring_from = len(store.chunk.ticks)
        shown = tuple(frames)[-store.config.ring_frames :]
        last = store.chunk.ticks[-1].tick if store.chunk.ticks else TickIndex(0)
        store.chunk.append(
            TailTick(last if tick is None else tick, now_ms, shown[0].capture_ms, video, shown, (),
                     store.text.silence)
        )  # fmt: skip
        store.committed_frames += len(shown)
        while store.chunk.ring_frames() > store.config.ring_frames:
            consolidation.drop_from_ring(store)

    # -- heard text -------------------------------------------------------------------------

    def hear(self, response_id: ResponseId, heard_chars: int) -> None:
        """Playback reached ``heard_chars`` of the spoken text (monotone, clamped)."""
        heard.hear(self._store, response_id, heard_chars)

    def settle(self, response_id: ResponseId, heard_chars: int, *, interrupted: bool) -> None:
        """Playback ended there. Interrupted: may be called again until :meth:`freeze`."""
        heard.settle(self._store, response_id, heard_chars, is_interrupted=interrupted)

    def freeze(self, response_id: ResponseId) -> None:
        """The grace is over: what was heard is final."""
        heard.freeze(self._store, response_id)

    # -- summaries --------------------------------------------------------------------------

    def summary_requests(self, now_ms: Ms) -> tuple[SummaryRequest, ...]:
        """Summaries to be written now, each attempt handed out once."""
        store = self._seen(now_ms)
        consolidation.refresh_due(store)
        return store.jobs.hand_out(now_ms)

    @property
    def next_summary_ms(self) -> Ms | None:
        """When :meth:`summary_requests` has something to hand out; None when nothing waits."""
        return self._store.jobs.next_due_ms

    def on_summary(self, job_id: str, text: str, now_ms: Ms) -> str:
        """A summary arrived; it is shown from the next boundary on.

        Returns:
            ``staged``, ``replaced`` (it will take its fallback's place), ``discarded`` (its range
            was rolled up or forgotten) or ``stale`` (nobody waits for that attempt).
        """
        store = self._seen(now_ms)
        job = store.jobs.find(job_id)
        if job is None or job.state in (JobState.STAGED, JobState.DUE, JobState.FAILED):
            return "stale"
        if job.state is JobState.DISCARDED:
            store.jobs.forget(job)
            return "discarded"
        words = clip(text.strip(), store.estimator.chars(store.config.summary_max_tokens))
        self._observe_latency(job, now_ms)
        place = store.tiers.by_job(job.number)
        if place is not None:
            store.jobs.forget(job)
            store.tiers.stage_late(place, words or store.text.empty_summary)
            return "replaced"
        job.state, job.text = JobState.STAGED, words or store.text.empty_summary
        job.request = replace(job.request, ticks=(), texts=())
        return "staged"

    def on_summary_failed(self, job_id: str, now_ms: Ms) -> str:
        """A summary could not be had: ``retry``, ``failed`` (given up), ``stale``."""
        store = self._seen(now_ms)
        job = store.jobs.find(job_id)
        if job is None or job.state is not JobState.RUNNING:
            if job is not None and job.state is JobState.DISCARDED:
                store.jobs.forget(job)
            return "stale"
        status = store.jobs.fail(job, now_ms)
        place = store.tiers.by_job(job.number)
        if status == "failed" and place is not None:
            store.tiers.give_up(place)
            store.jobs.forget(job)
        return status

    # -- limits -----------------------------------------------------------------------------

    def on_usage(self, usage: Usage, *, frames: int, chars: int) -> None:
        """The server counted the newest prompt: ``frames`` pictures, ``chars`` of text."""
        store = self._store
        store.estimator.learn(
            usage.prompt_tokens, frames=frames, chars=chars, own_chars=store.sent.chars
        )
        store.measured_tokens = usage.prompt_tokens

    def shrink_to(self, *, max_tokens: int | None = None, max_images: int | None = None) -> None:
        """The server holds less than was thought; follow with :meth:`force_boundary`."""
        store = self._store
        store.config = shrunk(
            store.config,
            max_tokens=max_tokens,
            max_images=max_images,
            frame_tokens=int(store.estimator.frame_tokens),
        )
        store.lead.clamp(store.config)

    def force_boundary(self, reason: BoundaryReason) -> None:
        """The next ``begin_tick`` crosses a boundary.

        ``FORCED`` folds all but the newest ticks; every other reason folds nothing and only lets
        the head (or the caller's system message) change.
        """
        consolidation.force(self._store, reason)

    # -- snapshots -------------------------------------------------------------------------

    def snapshot(self, *, with_frames: bool = False) -> bytes:
        """Canonical JSON, without pictures a few KB; an open tick counts as staged."""
        return save(self._store, with_frames=with_frames)

    @classmethod
    def restore(cls, data: bytes, config: MemoryConfig, text: DialectText, now_ms: Ms) -> Memory:
        """A memory that goes on from a snapshot.

        Without pictures the open range gets a visible fallback and the next tick begins with a
        ``restored`` boundary. Responses that were live are settled to what was heard.

        Raises:
            RecordingError: The snapshot cannot be read.
        """
        memory = cls(config, text)
        load(memory._store, data, now_ms)
        return memory

    # -- inside -----------------------------------------------------------------------------

    def _seen(self, now_ms: Ms) -> Store:
        self._store.last_ms = max(self._store.last_ms, now_ms)
        return self._store

    def _pictures(
        self, frames: tuple[FrameRef, ...], video: VideoState
    ) -> tuple[tuple[FrameRef, ...], VideoState]:
        staging = self._store.staging
        waiting, staging.frames = staging.frames, ()
        if not frames and video in (VideoState.FRESH, VideoState.UNCHANGED) and waiting:
            frames, video = waiting, VideoState.FRESH
        return frames[-self._store.config.hard_cap_frames :], video

    def _observe_latency(self, job: Job, now_ms: Ms) -> None:
        store = self._store
        if job.request.kind == "chunk" and job.asked_ms is not None:
            pace = store.chunk.pace_ms() / store.chunk.frames_per_tick()
            store.lead.observe(now_ms - job.asked_ms, pace, store.config)
