from __future__ import annotations

from dataclasses import replace

import pytest

from onlooker.memory.chunk import Cut
from onlooker.memory.entries import Span
from onlooker.memory.inspection import frames_in_use, gauge, view
from onlooker.types import InstructionId, Ms
from tests.memory.words import Talk, frame

pytestmark = pytest.mark.pure


def closed() -> Talk:
    """One summary, three ticks."""
    talk = Talk()
    talk.ticks(8)
    talk.summarise()
    talk.ticks(3)
    talk.memory.integrity()
    return talk


def lose_frames(store):
    store.chunk.take(1)


def miscount(store):
    store.chunk.size = store.chunk.size + store.chunk.size


def cut_outside(store):
    store.chunk.cut = Cut(99, Ms(0), None)


def hole(store):
    store.tiers.spans[0] = replace(store.tiers.spans[0], start_ms=Ms(5))


def backwards(store):
    store.tiers.spans[0] = replace(store.tiers.spans[0], end_ms=Ms(-1))


def lost_job(store):
    store.tiers.spans[0] = replace(store.tiers.spans[0], job=99)


def overlap(store):
    store.tiers.spans.append(Span("chunk", Ms(8_000), Ms(99_000), "x", 0))


def shuffled(store):
    store.chunk.ticks.reverse()


def mute(store):
    store.chunk._put(0, replace(store.chunk.ticks[0], reply=""))


def crowd(store):
    for n in range(9):
        one = replace(store.standing()[0], instruction_id=InstructionId(f"x{n}"))
        store.instructions.armed[one.instruction_id] = one


def many_jobs(store):
    for _ in range(60):
        store.jobs.add("chunk", Ms(0), Ms(1))


def empty_spans(kind, count):
    def do(store):
        end = store.tiers.end_ms
        store.tiers.spans += [Span(kind, end, end, "x", 0)] * count

    return do


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (lose_frames, "in no place"), (miscount, "counters"), (cut_outside, "cut"),
        (hole, "not contiguous"), (backwards, "ends before"), (lost_job, "job was lost"),
        (overlap, "inside a span"), (shuffled, "out of order|inside"), (mute, "no reply"),
        (crowd, "instructions"), (many_jobs, "jobs"), (empty_spans("chunk", 20), "not rolled up"),
        (empty_spans("block", 20), "too many blocks"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)  # fmt: skip
def test_a_broken_invariant_is_named(harm, reason):
    talk = closed()
    harm(talk.memory._store)
    with pytest.raises(AssertionError, match=reason):
        talk.memory.integrity()


def test_pictures_in_use_are_those_of_tail_open_tick_failed_tick_and_summary():
    talk = Talk()
    talk.ticks(8)
    store = talk.memory._store
    assert len(frames_in_use(store)) == 8
    talk.begin()
    assert len(frames_in_use(store)) == 9
    talk.memory.rollback_tick()
    assert len(frames_in_use(store)) == 9
    talk.ticks(6)
    assert len(talk.memory.tail) < 14  # the fallback took their place
    assert {one.uuid for tick in talk.memory.tail for one in tick.frames} < frames_in_use(store)


def test_gauge_and_view_follow_the_parts():
    talk = closed()
    store = talk.memory._store
    assert (gauge(store).mids, gauge(store).blocks, gauge(store).chunk) == (1, 0, 1)
    store.tiers.add_gap(Ms(8_500), 0)
    assert view(store)["gaps"] == [[8_000, 8_500]]
    talk.begin()
    talk.ask("i1", "waits")
    assert view(store)["staged"] == [
        {"kind": "query", "instruction_id": "i1", "text": "waits", "at_ms": 12_000,
         "cut_off": False}
    ]  # fmt: skip
    assert len(view(store)["short_term"]) == len(talk.memory.tail)  # type: ignore[arg-type]
    assert frame(1).uuid == "f1"


def test_an_empty_tail_is_in_order():
    talk = Talk()
    talk.memory.integrity()
    talk.memory.cancel(InstructionId("i0"), talk.now)
    assert gauge(talk.memory._store).gated


def test_long_term_and_mid_term_are_told_apart():
    store = closed().memory._store
    store.tiers.spans[0] = replace(store.tiers.spans[0], kind="block")
    shown = view(store)
    assert len(shown["long_term"]) == 1  # type: ignore[arg-type]
    assert shown["mid_term"] == []
