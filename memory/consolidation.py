"""When and how the head changes: two-phase close, fallback, roll-up, compaction.

Phase one (:func:`watch`): a chunk that is nearly full gets its cut and wants its summary. Phase two
(:func:`open_boundary`): before a tick opens, if the chunk is full and the summary there, or
something cannot wait, the boundary is crossed. Everything the head shows changes here and nowhere
else.
"""

from __future__ import annotations

from dataclasses import replace

from onlooker.memory import head
from onlooker.memory.budget import Size
from onlooker.memory.chunk import Cut, Fullness, Next
from onlooker.memory.entries import Boundary, Span, TailTick, tick_frames
from onlooker.memory.history import heard_form
from onlooker.memory.jobs import JobState
from onlooker.memory.prefix import seconds
from onlooker.memory.store import Store
from onlooker.types import BoundaryReason, ChunkIndex, Ms, ResponseId


def watch(store: Store, now_ms: Ms) -> None:
    """After a committed tick: fixes the cut when the chunk is nearly full."""
    tokens = store.estimator.tokens(store.size())
    chunk = store.chunk
    if chunk.cut is None and chunk.is_near(store.config, store.lead.frames, now_ms, tokens):
        fix_cut(store, len(chunk.ticks), now_ms)


def fix_cut(store: Store, count: int, now_ms: Ms) -> None:
    """Ends the summarised range after ``count`` ticks and wants their summary."""
    job = want_summary(store, store.chunk.ticks[:count])
    store.chunk.cut = Cut(count, now_ms, job)


def want_summary(store: Store, ticks: list[TailTick]) -> int | None:
    """Asks for a summary of ``ticks``; None when they hold no picture."""
    if not tick_frames(ticks):
        return None
    seen = tuple(heard_form(tick, store.replies, store.text) for tick in ticks)
    start = store.tiers.end_ms
    return store.jobs.add(
        "chunk", start, _end(start, ticks), ticks=seen, instructions=store.standing()
    )


def refresh_due(store: Store) -> None:
    """What was heard since the cut belongs in a summary that has not been asked for yet."""
    for job in store.jobs.due():
        said: dict[ResponseId | None, TailTick] = {
            tick.response_id: tick for tick in store.chunk.ticks if tick.response_id is not None
        }
        ticks = tuple(
            heard_form(said.get(tick.response_id, tick), store.replies, store.text)
            for tick in job.request.ticks
        )
        job.request = replace(job.request, ticks=ticks)


def force(store: Store, reason: BoundaryReason) -> None:
    """The next tick begins with a boundary; one that must make room is never weakened."""
    if store.forced is not BoundaryReason.FORCED:
        store.forced = reason


def open_boundary(store: Store, now_ms: Ms, frames: int) -> Boundary | None:
    """Before a tick with ``frames`` pictures opens: crosses the boundary that is due, if any."""
    reason, store.forced = store.forced, None
    if store.chunk.ring_from is not None:
        store.chunk.ring_from = None
        if reason is None and store.is_head_stale:
            reason = BoundaryReason.FIRST_QUERY
    full = _fullness(store, now_ms, frames)
    if full >= Fullness.NEAR and store.chunk.cut is None:
        fix_cut(store, _cut_count(store, full), now_ms)
    is_pressed = full is Fullness.HARD or reason is BoundaryReason.FORCED
    if reason is None and (is_pressed or (full is Fullness.FULL and is_ready(store))):
        reason = BoundaryReason.FULL
    if reason is None:
        return None
    if reason is BoundaryReason.FULL or is_pressed:
        fold_at_cut(store, now_ms)
    head.rebuild(store)
    if is_pressed:
        _compact(store, frames)
    return _report(store, reason)


def is_ready(store: Store) -> bool:
    """Whether the summary of the cut is there, not needed, or given up."""
    cut = store.chunk.cut
    job = None if cut is None else store.jobs.get(cut.job)
    return cut is not None and not (job is not None and job.is_open)


def fold_at_cut(store: Store, now_ms: Ms) -> None:
    """Folds everything before the cut; without one, all but the newest few ticks."""
    if store.chunk.cut is None and store.chunk.ticks:
        fix_cut(store, _cut_count(store, Fullness.HARD), now_ms)
    if store.chunk.cut is not None:
        if not is_ready(store):
            store.lead.widen(store.config)
        fold(store, store.chunk.cut.ticks, store.chunk.cut.job)


def fold(store: Store, count: int, job_number: int | None) -> None:
    """Moves the first ``count`` ticks of the chunk into the head's tiers."""
    start = store.tiers.end_ms
    ticks = store.chunk.take(count)
    for tick in ticks:
        store.history.fold(tick, store.replies, store.text)
    frames = tick_frames(ticks)
    end = _end(start, ticks)
    store.tiers.add(_span(store, start, end, frames, job_number))
    store.is_head_stale = True


def close_range(store: Store, end: Ms, frames: int) -> None:
    """Closes a range whose pictures are gone (restored): a visible fallback."""
    start = store.tiers.end_ms
    if frames or end > start:
        store.tiers.add(_span(store, start, max(start, end), frames, None))


def drop_from_ring(store: Store) -> None:
    """The ring is full: its oldest tick becomes part of a gap."""
    close_for_ring(store)
    gone = store.chunk.take(1)
    store.tiers.add_gap(_end(store.tiers.end_ms, gone), tick_frames(gone))
    store.is_head_stale = True


def _span(store: Store, start: Ms, end: Ms, frames: int, job_number: int | None) -> Span:
    """The closed range: its summary, or the fallback that a late summary may still replace."""
    job = store.jobs.get(job_number)
    if job is None and not frames:
        return Span("chunk", start, end, store.text.empty_summary, frames)
    is_awaited = job is not None and job.is_open
    if job is not None and not is_awaited:
        store.jobs.forget(job)
        if job.state is JobState.STAGED:
            return Span("chunk", start, end, job.text, frames)
    text = fallback_text(store, start, end, frames)
    span = Span("chunk", start, end, text, frames, True, job_number if is_awaited else None)
    store.fallbacks.append(span)
    return span


def fallback_text(store: Store, start: Ms, end: Ms, frames: int) -> str:
    """What the head says of a range that has no summary."""
    return store.text.fallback_summary.format(start=seconds(start), end=seconds(end), frames=frames)


def close_for_ring(store: Store) -> None:
    """Nobody asks any more and the ring is full: the watched chunk is closed, unseen.

    No prompt is sent while gated, so its summaries come in their own time (B9: for what was watched
    under an instruction, never for the ring).
    """
    ring = store.chunk.ring_from
    if not ring:
        return
    if store.chunk.cut is not None:
        done = store.chunk.cut.ticks
        fold(store, done, store.chunk.cut.job)
        ring -= done
    if ring > 0:
        job = want_summary(store, store.chunk.ticks[:ring])
        fold(store, ring, job)


def _fullness(store: Store, now_ms: Ms, frames: int) -> Fullness:
    return store.chunk.fullness(
        store.config, store.lead.frames, Next(now_ms, frames, _projected(store, frames))
    )


def _projected(store: Store, frames: int) -> int:
    """Estimated tokens of the prompt of a tick about to open."""
    facts = store.staging.chars(store.fact_chars, store.fact_room)
    extra = Size(frames, facts + 2 * len(store.text.time_label) + 96)
    return store.estimator.tokens(store.size() + extra)


def _cut_count(store: Store, full: Fullness) -> int:
    """Ticks before a cut that is fixed now; under pressure a few newest ticks stay in sight."""
    count = len(store.chunk.ticks)
    if full is not Fullness.HARD:
        return count
    step = store.chunk.frames_per_tick()
    keep = max(1, store.lead.frames // step)
    return max(1, count - min(keep, count // 4))


def _end(start: Ms, ticks: list[TailTick]) -> Ms:
    return max([start, *(tick.at_ms for tick in ticks)])


def _compact(store: Store, frames: int) -> None:
    """Under pressure the boundary must help: folds further until the next tick surely fits."""
    while store.chunk.ticks and _is_tight(store, frames):
        count = max(1, len(store.chunk.ticks) // 2)
        fold(store, count, want_summary(store, store.chunk.ticks[:count]))
        head.rebuild(store)


def _is_tight(store: Store, frames: int) -> bool:
    return (
        store.chunk.size.frames + frames > store.config.chunk_frames
        or _projected(store, frames) > store.config.token_watermark
    )


def _report(store: Store, reason: BoundaryReason) -> Boundary:
    store.chunk_index += 1
    store.measured_tokens = None
    missing, store.fallbacks = store.fallbacks, []
    return Boundary(
        reason=reason,
        chunk=ChunkIndex(store.chunk_index),
        carried_ticks=len(store.chunk.ticks),
        carried_frames=store.chunk.size.frames,
        head_chars=len(store.head),
        fallback=bool(missing),
        fallback_start_ms=missing[0].start_ms if missing else None,
        fallback_end_ms=missing[-1].end_ms if missing else None,
    )
