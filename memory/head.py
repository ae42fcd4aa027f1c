"""Renders the head anew: the only place where what the head shows is decided.

Called at boundaries only. In this order: cancelled queries leave, late summaries and blocks take
their places, what exceeds a bound is forgotten, and the text is made to fit its share.
"""

from __future__ import annotations

from dataclasses import replace

from onlooker.memory.budget import clip
from onlooker.memory.entries import QueryFact, Span
from onlooker.memory.jobs import JobState
from onlooker.memory.prefix import seconds
from onlooker.memory.store import Store
from onlooker.types import InstructionId


def rebuild(store: Store) -> None:
    """One head change: everything folded so far, within bounds."""
    _withdraw(store)
    store.replies.on_head_rendered()
    store.tiers.adopt_late()
    _roll_up(store)
    for span in store.tiers.trim_window():
        store.jobs.discard(span.job)
    config = store.config
    store.trim_qa(config.qa_entries, store.estimator.chars(config.qa_tokens))
    _fit_head(store)


def _withdraw(store: Store) -> None:
    """Queries cancelled without words leave the tail for the history (joyvl)."""
    for gone in store.withdrawn:
        store.history.drop(gone)
        for place, tick in enumerate(store.chunk.ticks):
            mine = [f for f in tick.facts if isinstance(f, QueryFact) and f.instruction_id == gone]
            if mine:
                rest = tuple(fact for fact in tick.facts if fact not in mine)
                store.chunk.replace_facts(place, replace(tick, facts=rest))
                for fact in mine:
                    store.history.withdraw(fact)
    store.withdrawn.clear()


def is_shown(store: Store, instruction_id: InstructionId) -> bool:
    """Whether a prompt may have shown an instruction: head, tail or open tick."""
    ticks = [*store.chunk.ticks, *([store.open] if store.open else [])]
    return instruction_id in store.history.standing.by_id or any(
        isinstance(fact, QueryFact) and fact.instruction_id == instruction_id
        for tick in ticks
        for fact in tick.facts
    )


def _roll_up(store: Store) -> None:
    """Adopts the block that was written, or its fallback when it is overdue; wants the next."""
    tiers = store.tiers
    job = store.jobs.get(tiers.rollup_job)
    if job is not None and not job.is_open:
        _finish_block(store, tiers.rollup_spans())
    elif (spans := tiers.rollup_overdue()) is not None:
        _finish_block(store, tiers.rollup_spans() if tiers.rollup_job else spans)
    due = tiers.rollup_due()
    if due is not None:
        texts = tuple((s.start_ms, s.end_ms, _span_words(store, s)) for s in due)
        number = store.jobs.add(
            "block", due[0].start_ms, due[-1].end_ms, texts=texts, instructions=store.standing()
        )
        tiers.start_rollup(number, due)


def _finish_block(store: Store, spans: list[Span]) -> None:
    job = store.jobs.get(store.tiers.rollup_job)
    is_written = job is not None and job.state is JobState.STAGED
    is_awaited = job is not None and job.is_open
    for span in spans:
        store.jobs.discard(span.job)
    if job is not None and is_written:
        text = job.text
    else:
        share = store.estimator.chars(store.config.summary_max_tokens) // len(spans)
        text = " ".join(clip(_span_words(store, span), share) for span in spans)
    if job is not None and not is_awaited:
        store.jobs.forget(job)
    block = Span(
        "block", spans[0].start_ms, spans[-1].end_ms, text, frames_of(spans), not is_written,
        job.number if job is not None and is_awaited else None,
    )  # fmt: skip
    store.tiers.finish_rollup(spans, block)


def frames_of(spans: list[Span]) -> int:
    """Pictures in ``spans``."""
    return sum(span.frames for span in spans)


def _span_words(store: Store, span: Span) -> str:
    if span.kind != "gap":
        return span.text
    return store.text.gap.format(start=seconds(span.start_ms), end=seconds(span.end_ms))


def _fit_head(store: Store) -> None:
    """Renders the head within its share of the budget: oldest spans go first, then old Q&A."""
    store.head = store.render()
    limit = store.estimator.chars(store.config.head_tokens)
    while len(store.head) > limit and _forget_oldest(store):
        store.head = store.render()
    room = limit
    while len(store.head) > limit and store.visible_items():
        room //= 2
        store.trim_qa(store.config.qa_entries, room)
        store.head = store.render()
    store.is_head_stale = False


def _forget_oldest(store: Store) -> bool:
    """Forgets the oldest span unless it is the only one."""
    if sum(span.kind != "gap" for span in store.tiers.spans) < 2:
        return False
    for span in store.tiers.forget_oldest():
        store.jobs.discard(span.job)
        if span.kind == "chunk" and store.tiers.rollup_job is not None:
            store.jobs.discard(store.tiers.rollup_job)
            store.tiers.drop_rollup()
    return True
