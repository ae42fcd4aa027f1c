"""Snapshots: canonical JSON of a session's memory, with or without its pictures.

Values are written as objects tagged with their class; fields at their default are left out. With
pictures the chunk goes on as it was. Without, the open range is folded when it is read: its facts
and replies are kept, its pictures get a visible fallback, and the next tick begins with a
``restored`` boundary.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass, replace
from enum import Enum
from typing import Any, cast

from onlooker.errors import RecordingError
from onlooker.memory import consolidation, entries, head, heard
from onlooker.memory.chunk import Cut
from onlooker.memory.entries import GapFact, Span, TailTick, tick_frames
from onlooker.memory.jobs import Job, JobState
from onlooker.memory.qa import QaDelegated, QaQuery, QaReply
from onlooker.memory.replies import Reply
from onlooker.memory.staging import Staged
from onlooker.memory.store import Store
from onlooker.types import BoundaryReason, FrameRef, Lifetime, LifetimeKind, Ms, VideoState

VERSION = 1

_CLASSES: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        entries.QueryFact, entries.CancelFact, entries.ExpiredFact, entries.DelegatedFact,
        entries.HeardFact, GapFact, entries.EndMark, entries.Instruction, TailTick, Span,
        entries.SummaryRequest, QaQuery, QaReply, QaDelegated, Reply, Job, Cut, FrameRef, Lifetime,
    )
}  # fmt: skip
_ENUMS: dict[tuple[str, str], Callable[[str], Enum]] = {
    ("TailTick", "video"): VideoState,
    ("Lifetime", "kind"): LifetimeKind,
    ("Job", "state"): JobState,
}


def save(store: Store, *, with_frames: bool) -> bytes:
    """Writes everything; an open tick counts as staged."""
    staged, waiting = _staged(store)
    ticks = store.chunk.ticks
    state: dict[str, object] = {
        "kind": "onlooker.memory",
        "version": VERSION,
        "with_frames": with_frames,
        "chunk": store.chunk_index,
        "last_ms": store.last_ms,
        "spans": store.tiers.spans,
        "asked": store.history.qa.asked,
        "qa": store.history.qa.items,
        "folded": list(store.history.standing.by_id.values()),
        "armed": list(store.instructions.armed.values()),
        "aliases": store.instructions.aliases,
        "staged": staged,
        "replies": list(store.replies.live.values()),
        "withdrawn": store.withdrawn,
        "estimator": store.estimator.state(),
        "lead": [store.lead.frames, store.lead.latency_ms],
        "jobs_last": store.jobs.last,
        "committed_frames": store.committed_frames,
        "open_end_ms": ticks[-1].at_ms if ticks else store.tiers.end_ms,
    }
    state |= _with_frames(store, waiting) if with_frames else _without_frames(store)
    return dump(state)


def dump(state: object) -> bytes:
    """Canonical JSON."""
    return json.dumps(
        _plain(state), ensure_ascii=False, separators=(",", ":"), sort_keys=True
    ).encode()


def load(store: Store, data: bytes, now_ms: Ms) -> None:
    """Fills a fresh store from what :func:`save` wrote.

    Raises:
        RecordingError: It is no snapshot, or one of another version.
    """
    try:
        state = json.loads(data, object_hook=_value)
    except (ValueError, TypeError, KeyError) as error:
        raise RecordingError("the memory snapshot cannot be read; start a new session") from error
    if not isinstance(state, dict) or state.get("kind") != "onlooker.memory":
        raise RecordingError("this is no memory snapshot; start a new session")
    if state.get("version") != VERSION:
        raise RecordingError(
            f"the memory snapshot has version {state.get('version')}, not {VERSION}; "
            "start a new session"
        )
    try:
        _fill(store, state)
        _go_on(store, state, now_ms)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise RecordingError("the memory snapshot is incomplete; start a new session") from error


def _staged(store: Store) -> tuple[list[Staged], tuple[FrameRef, ...]]:
    if store.open is None:
        return list(store.staging.facts), store.staging.frames
    taken = [*store.open.facts, *store.open.ends, *store.staging.facts]
    return taken, store.open.frames or store.staging.frames


def _with_frames(store: Store, waiting: tuple[FrameRef, ...]) -> dict[str, object]:
    return {
        "head": store.head,
        "ticks": store.chunk.ticks,
        "cut": store.chunk.cut,
        "ring_from": store.chunk.ring_from,
        "is_head_stale": store.is_head_stale,
        "fallbacks": store.fallbacks,
        "forced": store.forced,
        "waiting": waiting,
        "jobs": list(store.jobs.jobs.values()),
        "rollup": [store.tiers.rollup_job, store.tiers.rollup_end_ms],
    }


def _without_frames(store: Store) -> dict[str, object]:
    """Ticks without a fact or a word are only counted; a staged summary is kept."""
    ticks, closed = store.chunk.ticks, None
    cut = store.chunk.cut
    job = store.jobs.get(cut.job) if cut is not None else None
    if cut is not None and job is not None and job.state is JobState.STAGED:
        gone = ticks[: cut.ticks]
        closed = Span("chunk", store.tiers.end_ms, gone[-1].at_ms, job.text, tick_frames(gone))
    return {
        "closed": closed,
        "ticks": [
            replace(tick, frames=())
            for tick in ticks
            if tick.facts or tick.ends or tick.spoken or tick.question
        ],
    }


def _fill(store: Store, state: dict[str, Any]) -> None:
    store.chunk_index = int(state["chunk"])
    store.last_ms = Ms(state["last_ms"])
    store.tiers.spans = list(state["spans"])
    store.history.qa.asked = int(state["asked"])
    store.history.qa.items = list(state["qa"])
    store.history.standing.by_id = {one.instruction_id: one for one in state["folded"]}
    store.instructions.armed = {one.instruction_id: one for one in state["armed"]}
    store.instructions.aliases = dict(state["aliases"])
    store.staging.facts = list(state["staged"])
    store.replies.live = {one.response_id: one for one in state["replies"]}
    store.withdrawn = list(state["withdrawn"])
    store.estimator.load(state["estimator"])
    store.lead.frames, store.lead.latency_ms = int(state["lead"][0]), float(state["lead"][1])
    store.jobs.last = int(state["jobs_last"])
    store.committed_frames = int(state["committed_frames"])
    for tick in state["ticks"]:
        store.chunk.append(tick)


def _go_on(store: Store, state: dict[str, Any], now_ms: Ms) -> None:
    if state["with_frames"]:
        _resume_chunk(store, state)
    for response_id in list(store.replies.live):
        heard.freeze(store, response_id)
    if not state["with_frames"]:
        _fold_open_range(store, state)
    is_late = now_ms > store.last_ms
    if is_late and state["with_frames"]:
        store.staging.facts.insert(0, GapFact(store.last_ms, now_ms))
    elif is_late:
        store.tiers.add_gap(now_ms, 0)
    store.last_ms = max(store.last_ms, now_ms)
    store.lead.clamp(store.config)


def _resume_chunk(store: Store, state: dict[str, Any]) -> None:
    store.head = str(state["head"])
    store.chunk.cut = state["cut"]
    store.chunk.ring_from = state["ring_from"]
    store.is_head_stale = bool(state["is_head_stale"])
    store.fallbacks = list(state["fallbacks"])
    store.forced = None if state["forced"] is None else BoundaryReason(state["forced"])
    store.staging.frames = tuple(state["waiting"])
    store.tiers.rollup_job, store.tiers.rollup_end_ms = state["rollup"]
    store.jobs.jobs = {job.number: job for job in state["jobs"]}
    for job in store.jobs.jobs.values():
        if job.state is JobState.RUNNING:  # whoever was writing it is gone
            job.state, job.asked_ms = JobState.DUE, None
    for job in list(store.jobs.jobs.values()):
        if job.state is JobState.DISCARDED:
            store.jobs.forget(job)


def _fold_open_range(store: Store, state: dict[str, Any]) -> None:
    store.tiers.spans = [replace(span, job=None) for span in store.tiers.spans]
    closed = state["closed"]
    if closed is not None:
        store.tiers.add(closed)
    frames = store.committed_frames - head.frames_of(store.tiers.spans)
    for tick in store.chunk.take(len(store.chunk.ticks)):
        store.history.fold(tick, store.replies, store.text)
    consolidation.close_range(store, Ms(state["open_end_ms"]), frames)
    store.forced = BoundaryReason.RESTORED


def _plain(value: object) -> object:
    if is_dataclass(value):
        tagged: dict[str, object] = {"_": type(value).__name__}
        for field in fields(value):
            one = getattr(value, field.name)
            if field.default is MISSING or one != field.default:
                tagged[field.name] = _plain(one)
        return tagged
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.value if isinstance(value, Enum) else value


def _value(plain: dict[str, Any]) -> object:
    name = plain.pop("_", None)
    if name is None:
        return plain
    values = {
        key: _ENUMS[name, key](one) if (name, key) in _ENUMS else _frozen(one)
        for key, one in plain.items()
    }
    return cast(object, _CLASSES[name](**values))


def _frozen(one: Any) -> Any:
    return tuple(_frozen(part) for part in one) if isinstance(one, list) else one
