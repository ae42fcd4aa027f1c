"""The work of a tick does not grow with its chunk: counted in bytes and objects, never timed."""

from __future__ import annotations

from itertools import pairwise

import pytest

from onlooker.decision import GENERIC, BuiltPrompt, PromptBuilder, system_prompt
from onlooker.memory import Memory
from onlooker.orchestrator.bench_core import (
    FRAMES,
    FULL,
    CoreDriver,
    Spread,
    bench_config,
    measure_core,
    pictures_in,
)
from onlooker.orchestrator.commands import CallModel
from onlooker.types import (
    FrameRef,
    FrameUuid,
    InstructionId,
    Lifetime,
    Ms,
    Segments,
    TickIndex,
    VideoState,
    canonical_bytes,
)

pytestmark = pytest.mark.perf


def _built(ticks: int) -> list[BuiltPrompt]:
    """The prompts of ``ticks`` silent ticks inside one chunk."""
    memory = Memory(bench_config().memory, GENERIC.text)
    builder = PromptBuilder(GENERIC, system_prompt(GENERIC, "default"))
    memory.arm(InstructionId("q"), "tell me when a bicycle appears", Lifetime(), Ms(0))
    prompts = []
    for tick in range(ticks):
        now = Ms(100_000 + tick * 1000)  # labels of one length
        frame = FrameRef(FrameUuid(f"{tick:064x}"), now, 448, 448, 40_000)
        memory.begin_tick(TickIndex(tick), now, [frame], VideoState.FRESH)
        prompts.append(builder.build(memory))
        memory.commit_tick(GENERIC.text.silence)
    return prompts


def test_s4_new_bytes_of_a_tick_are_the_same_at_2_and_at_99_pictures() -> None:
    prompts = _built(FRAMES - 1)
    assert len({one.new_bytes for one in prompts[1:]}) == 1
    assert prompts[-1].new_bytes < 400
    assert len(prompts[-1].canonical()) > 20_000


def test_s4_every_message_but_the_new_ones_is_kept() -> None:
    for tick, prompt in enumerate(_built(FRAMES - 1)):
        # Kept: system, and a user and an assistant message for each tick before, save that the
        # newest assistant message is new.
        assert prompt.reused_messages == (0 if tick == 0 else 2 * tick)


def test_s4_new_bytes_are_what_the_canonical_form_grew_by() -> None:
    prompts = _built(30)
    sizes = [len(one.canonical()) for one in prompts]
    grown = [after - before for before, after in pairwise(sizes)]
    assert grown == [one.new_bytes for one in prompts[1:]]


def _is_continued(before: Segments, after: Segments) -> bool:
    """All of ``before`` but the closing bracket, the same objects in the same order."""
    kept = before[:-1]
    return all(a is b for a, b in zip(kept, after, strict=False)) and len(kept) < len(after)


def test_s4_a_call_of_the_core_holds_the_segments_of_the_one_before_unserialised() -> None:
    driver = CoreDriver()
    driver.step()
    before = driver.begin(driver.next_frame())
    driver.end(before)
    boundaries = 0
    for _ in range(2 * FRAMES):
        driver.step()
        call = driver.begin(driver.next_frame())
        driver.end(call)
        if pictures_in(call) < pictures_in(before):
            boundaries += 1
        else:
            assert _is_continued(before.messages, call.messages)
            assert len(call.messages) - len(before.messages) <= 5
        before = call
    assert boundaries == 2


def test_s4_a_boundary_serialises_the_head_and_keeps_what_is_carried_over() -> None:
    driver = CoreDriver()
    calls: list[CallModel] = []
    while not calls or pictures_in(calls[-1]) >= len(calls):
        driver.step()
        calls.append(driver.begin(driver.next_frame()))
        driver.end(calls[-1])
    old, new = calls[-2].messages, calls[-1].messages
    fresh = set(map(id, new)) - set(map(id, old))
    new_bytes = sum(len(one) for one in new if isinstance(one, bytes) and id(one) in fresh)
    assert new_bytes < 1_500
    assert len(canonical_bytes(new)) > new_bytes


def test_a_tick_at_a_full_chunk_leaves_little_behind_and_holds_little_meanwhile() -> None:
    run = measure_core(1)
    blocks, held = Spread.of(run.kept_blocks), Spread.of(run.peak_bytes)
    assert blocks.count == held.count == FRAMES
    assert blocks.p50 <= 40
    assert held.p50 <= 50_000, "a body written anew would be 30 kB of text alone, twice"
    assert held.worst <= 400_000


def test_only_ticks_of_a_full_chunk_are_timed_and_boundaries_apart() -> None:
    run = measure_core(1)
    assert len(run.boundary_ms) == 2
    assert len(run.segments_ms) == len(run.tick_ms)
    assert 0 < len(run.segments_ms) <= 2 * FRAMES - 2 * (FULL - 20)


def test_the_driver_keeps_the_bytes_of_no_more_pictures_than_two_chunks() -> None:
    driver = CoreDriver()
    for _ in range(3 * FRAMES):
        driver.step()
        driver.end(driver.begin(driver.next_frame()))
        assert len(driver.frames) <= 2 * FRAMES


def test_percentiles_of_a_spread() -> None:
    spread = Spread.of([float(n) for n in range(100, -1, -1)])
    assert (spread.p50, spread.p99, spread.worst, spread.count) == (50.0, 99.0, 100.0, 101)
    assert Spread.of([3.0]) == Spread(3.0, 3.0, 3.0, 1)
