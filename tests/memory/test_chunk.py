from __future__ import annotations

import pytest

from onlooker.memory import EndMark, QueryFact, TailTick
from onlooker.memory.budget import Size, ticks_size
from onlooker.memory.chunk import AGE_GRACE_MS, Chunk, Cut, Fullness, Next
from onlooker.types import InstructionId, Ms, ResponseId, TickIndex, VideoState
from tests.memory.words import WORDY, frame, make

pytestmark = pytest.mark.pure

CONFIG = make().config  # F = 10, lead 2, H = 13, 40 ticks


def tick(n: int, frames: int = 1, rid: str | None = None) -> TailTick:
    pictures = tuple(frame(10 * n + part) for part in range(frames))
    return TailTick(TickIndex(n), Ms(n * 1000), None, VideoState.FRESH, pictures, (),
                    WORDY.silence, None if rid is None else ResponseId(rid))  # fmt: skip


def filled(count: int, frames: int = 1) -> Chunk:
    chunk = Chunk(WORDY)
    for n in range(count):
        chunk.append(tick(n, frames))
    return chunk


def full(chunk: Chunk, frames: int = 1, tokens: int = 0, now: int | None = None) -> Fullness:
    at = Ms(len(chunk.ticks) * 1000 if now is None else now)
    return chunk.fullness(CONFIG, 2, Next(at, frames, tokens))


def test_counters_follow_every_change():
    chunk = filled(4)
    chunk.append(tick(4, 2, "r"))
    chunk.rewrite(4, "</response> half", "half")
    fact = QueryFact(InstructionId("i"), "what", Ms(1))
    chunk.replace_facts(0, TailTick(TickIndex(0), Ms(0), None, VideoState.FRESH, (), (fact,), "x"))
    assert chunk.size == ticks_size(chunk.ticks, WORDY)
    chunk.take(3)
    assert chunk.size == ticks_size(chunk.ticks, WORDY)
    chunk.take(2)
    assert chunk.size == Size()


def test_a_rewrite_counts_a_revision_and_the_same_text_does_not():
    chunk = Chunk(WORDY)
    chunk.append(tick(0, rid="r"))
    assert chunk.find(ResponseId("r")) == 0
    assert chunk.find(ResponseId("other")) is None
    chunk.rewrite(0, "</response> a", "a")
    chunk.rewrite(0, "</response> a", "a")
    assert chunk.ticks[0].revision == 1


def test_marks_add_up():
    chunk = filled(1)
    mark = EndMark(InstructionId("i"), Ms(0))
    chunk.mark(0, (mark,))
    chunk.mark(0, (mark,))
    assert chunk.ticks[0].ends == (mark, mark)


def test_the_cut_and_the_ring_move_with_what_is_taken():
    chunk = filled(6)
    chunk.cut, chunk.ring_from = Cut(4, Ms(0), None), 5
    chunk.take(3)
    assert (chunk.cut.ticks, chunk.ring_from) == (1, 2)
    assert chunk.ring_frames() == 1
    chunk.take(3)
    assert chunk.cut is None  # type: ignore[unreachable, unused-ignore]
    assert chunk.ring_from == 0
    assert filled(3).ring_frames() == 0


def test_pace_and_pictures_per_tick():
    assert filled(1).pace_ms() == filled(5).pace_ms() == 1_000
    assert filled(0).frames_per_tick() == filled(2, 0).frames_per_tick() == 1
    assert filled(2, 4).frames_per_tick() == 4


@pytest.mark.parametrize(
    ("ticks", "fullness"),
    [(0, Fullness.OPEN), (7, Fullness.OPEN), (8, Fullness.NEAR), (9, Fullness.NEAR),
     (10, Fullness.FULL), (12, Fullness.FULL), (13, Fullness.HARD)],
)  # fmt: skip
def test_fullness_by_pictures(ticks, fullness):
    assert full(filled(ticks)) is fullness


def test_several_pictures_a_tick_are_asked_for_a_tick_ahead():
    assert full(filled(2, 4), 4) is Fullness.FULL  # the next four would exceed ten
    assert filled(1, 4).is_near(CONFIG, 2, Ms(0), 0) is False
    assert filled(2, 4).is_near(CONFIG, 2, Ms(0), 0)


def test_fullness_by_ticks_without_pictures():
    assert full(filled(37, 0), 0) is Fullness.OPEN
    assert full(filled(38, 0), 0) is Fullness.NEAR
    assert full(filled(40, 0), 0) is Fullness.FULL
    assert full(filled(46, 0), 0) is Fullness.HARD


def test_fullness_by_tokens():
    mark, budget = CONFIG.token_watermark, CONFIG.max_prompt_tokens
    assert full(filled(3), tokens=mark - 1) is Fullness.NEAR
    assert full(filled(3), tokens=mark + 1) is Fullness.FULL
    assert full(filled(3), tokens=budget + 1) is Fullness.HARD


def test_fullness_by_age_waits_a_while_for_the_summary():
    chunk, age = filled(3), CONFIG.max_age_ms
    assert full(chunk, now=age - 3_000) is Fullness.OPEN
    assert full(chunk, now=age - 1_000) is Fullness.NEAR
    assert full(chunk, now=age) is Fullness.FULL
    assert full(chunk, now=age + AGE_GRACE_MS) is Fullness.FULL
    chunk.cut = Cut(3, Ms(age), 1)
    assert full(chunk, now=age + AGE_GRACE_MS - 1) is Fullness.FULL
    assert full(chunk, now=age + AGE_GRACE_MS) is Fullness.HARD


def test_an_empty_chunk_is_never_near():
    assert not filled(0).is_near(CONFIG, 2, Ms(10**9), 10**9)
