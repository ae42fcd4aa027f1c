"""Looking at a session's memory: gauges, a plain view, and its invariants."""

from __future__ import annotations

from dataclasses import asdict

from onlooker.memory.budget import ticks_size
from onlooker.memory.entries import EndMark, MemoryGauge, Span, TailTick, tick_frames
from onlooker.memory.jobs import MAX_JOBS
from onlooker.memory.prefix import qa_text
from onlooker.memory.store import Store
from onlooker.types import ChunkIndex, FrameUuid


def gauge(store: Store) -> MemoryGauge:
    """How full memory is."""
    estimated = store.estimator.tokens(store.size())
    size = store.size()
    is_same = store.measured_tokens is not None and size == store.sent
    return MemoryGauge(
        chunk=ChunkIndex(store.chunk_index),
        chunk_ticks=len(store.chunk.ticks),
        chunk_frames=store.chunk.size.frames,
        max_frames=store.config.chunk_frames,
        lead=store.lead.frames,
        mids=len(store.tiers.of_kind("chunk")),
        blocks=len(store.tiers.of_kind("block")),
        qa_entries=len(store.visible_items()),
        prompt_tokens=store.measured_tokens or 0 if is_same else estimated,
        budget_tokens=store.config.max_prompt_tokens,
        gated=not store.instructions.armed,
    )


def frames_in_use(store: Store) -> set[FrameUuid]:
    """Every picture whose bytes may still be needed."""
    used = {frame.uuid for tick in store.chunk.ticks for frame in tick.frames}
    used |= {frame.uuid for frame in store.staging.frames}
    if store.open is not None:
        used |= {frame.uuid for frame in store.open.frames}
    return used | store.jobs.frames()


def view(store: Store) -> dict[str, object]:
    """A plain, JSON-able picture of memory."""
    ticks = [*store.chunk.ticks, *([store.open] if store.open else [])]
    return {
        "chunk": store.chunk_index,
        "head": store.head,
        "long_term": [_span_view(s) for s in store.tiers.spans if s.kind == "block"],
        "mid_term": [_span_view(s) for s in store.tiers.spans if s.kind == "chunk"],
        "gaps": [[s.start_ms, s.end_ms] for s in store.tiers.spans if s.kind == "gap"],
        "qa": [qa_text(item, store.text) for item in store.visible_items()],
        "standing": [
            {"id": one.instruction_id, "text": one.text, "at_ms": one.at_ms}
            for one in store.standing()
        ],
        "staged": [_fact_view(f) for f in store.staging.facts if not isinstance(f, EndMark)],
        "short_term": [_tick_view(tick) for tick in ticks],
        "cut_ticks": None if store.chunk.cut is None else store.chunk.cut.ticks,
        "lead": store.lead.frames,
        "gated": not store.instructions.armed,
    }


def _span_view(span: Span) -> dict[str, object]:
    return {
        "start_ms": span.start_ms, "end_ms": span.end_ms, "text": span.text,
        "frames": span.frames, "fallback": span.fallback,
    }  # fmt: skip


def _fact_view(fact: object) -> dict[str, object]:
    plain: dict[str, object] = asdict(fact)  # type: ignore[call-overload]
    return {"kind": type(fact).__name__.removesuffix("Fact").lower(), **plain}


def _tick_view(tick: TailTick) -> dict[str, object]:
    return {
        "tick": tick.tick, "at_ms": tick.at_ms, "label_ms": tick.label_ms,
        "video": tick.video.value, "frames": [frame.uuid for frame in tick.frames],
        "facts": [_fact_view(fact) for fact in tick.facts], "reply": tick.reply,
        "response_id": tick.response_id,
    }  # fmt: skip


def check(store: Store) -> None:
    """Raises AssertionError when an invariant is broken."""
    _check_spans(store)
    _check_chunk(store)
    _check_bounds(store)


def _claim(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def _check_spans(store: Store) -> None:
    end = 0
    for span in store.tiers.spans:
        _claim(span.start_ms == end, "spans are not contiguous")
        _claim(span.end_ms >= span.start_ms, "a span ends before it begins")
        _claim(span.job is None or store.jobs.get(span.job) is not None, "a job was lost")
        end = span.end_ms
    if store.chunk.ticks:
        _claim(store.chunk.ticks[0].at_ms >= end, "the tail begins inside a span")
    covered = sum(span.frames for span in store.tiers.spans)
    held = tick_frames(store.chunk.ticks)
    _claim(covered + held == store.committed_frames, "a committed picture is in no place or in two")


def _check_chunk(store: Store) -> None:
    chunk = store.chunk
    _claim(chunk.size == ticks_size(chunk.ticks, store.text), "the chunk's counters are off")
    _claim(chunk.cut is None or 0 < chunk.cut.ticks <= len(chunk.ticks), "the cut is outside")
    times = [tick.at_ms for tick in chunk.ticks]
    _claim(times == sorted(times), "ticks are out of order")
    _claim(all(tick.reply for tick in chunk.ticks), "a committed tick has no reply")


def _check_bounds(store: Store) -> None:
    _claim(len(store.instructions.armed) <= store.config.max_instructions, "too many instructions")
    _claim(len(store.jobs.jobs) <= MAX_JOBS + len(store.tiers.spans) + 2, "too many jobs")
    mids = len(store.tiers.of_kind("chunk"))
    _claim(mids <= 3 * store.config.rollup_every, "summaries are not rolled up")
    blocks = len(store.tiers.of_kind("block"))
    _claim(blocks <= store.config.block_window + 1, "too many blocks")
