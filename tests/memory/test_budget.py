from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.memory import (
    CancelFact,
    DelegatedFact,
    ExpiredFact,
    Fact,
    GapFact,
    HeardFact,
    QueryFact,
    TailTick,
)
from onlooker.memory.budget import Estimator, Size, clip, fact_chars, tick_size, ticks_size
from onlooker.types import InstructionId, Ms, ResponseId, Ticket, TickIndex, VideoState
from tests.memory.words import WORDY, frame

pytestmark = pytest.mark.pure

ONE = InstructionId("i")
FACTS: list[tuple[Fact, str]] = [
    (QueryFact(ONE, "what is it", Ms(1)), f"{WORDY.query_header}\nwhat is it"),
    (QueryFact(ONE, "what", Ms(1), True),
     f"{WORDY.query_header}\n{WORDY.cut_off_line.format(text='what')}"),
    (CancelFact(ONE, "watch", Ms(1)), WORDY.cancelled_line.format(text="watch")),
    (ExpiredFact(ONE, "watch", Ms(1)), WORDY.expired_line.format(text="watch")),
    (DelegatedFact(Ticket("t"), "why", "so", Ms(1), "aloud"),
     WORDY.delegated_line.format(question="why", text="so", delivery="aloud")),
    (DelegatedFact(Ticket("t"), "why", "no idea", Ms(1), failed=True),
     WORDY.delegated_failed_line.format(question="why", text="no idea")),
    (HeardFact(ResponseId("r"), "the rest", Ms(1)), WORDY.heard_line.format(text="the rest")),
    (GapFact(Ms(1_000), Ms(2_000)), WORDY.gap.format(start="1.0", end="2.0")),
]  # fmt: skip


@pytest.mark.parametrize(("fact", "line"), FACTS, ids=lambda one: type(one).__name__)
def test_a_fact_is_never_counted_short(fact, line):
    assert len(line) <= fact_chars(fact, WORDY) <= len(line) + 40


def test_sizes_add_up():
    tick = TailTick(TickIndex(1), Ms(1), Ms(1), VideoState.FRESH, (frame(1), frame(2)),
                    (FACTS[0][0],), reply=WORDY.silence)  # fmt: skip
    one = tick_size(tick, WORDY)
    assert one.frames == 2
    assert ticks_size([tick, tick], WORDY) - one == one
    assert ticks_size([], WORDY) == Size()


def test_estimates_are_careful_before_anything_is_learnt():
    estimator = Estimator(276, 0.5, 1_600)
    assert estimator.tokens(Size(10, 1_000)) >= 10 * 252 + 800 + 1_000 * 0.3


@pytest.mark.parametrize(("per_frame", "per_char"), [(252, 0.27), (72, 0.8), (880, 0.25)])
def test_j10_tokens_are_learnt_from_usage_in_any_language(per_frame, per_char):
    estimator, random = Estimator(276, 0.5, 1_600), Random(1)
    for n in range(120):
        frames, own = n % 60 + 1, 2_000 + 90 * (n % 60) + random.randint(0, 3_000)
        true = int(per_frame * frames + per_char * (own + 2_000))
        estimator.learn(true, frames=frames, chars=own + 2_000, own_chars=own)
    for frames, own in ((5, 3_000), (60, 6_000), (90, 9_000)):
        true = per_frame * frames + per_char * (own + 2_000)
        assert 0.98 * true <= estimator.tokens(Size(frames, own)) <= 1.25 * true


def test_a_measured_prompt_is_never_underestimated_again_at_once():
    estimator = Estimator(10, 0.1, 0)
    estimator.learn(9_000, frames=10, chars=500, own_chars=500)
    assert estimator.tokens(Size(10, 500)) >= 9_000


def test_a_server_without_counts_teaches_nothing():
    estimator = Estimator(276, 0.5, 1_600)
    before = estimator.state()
    estimator.learn(0, frames=1, chars=1, own_chars=1)
    assert estimator.state() == before


def test_state_round_trips():
    one = Estimator(276, 0.5, 1_600)
    one.learn(3_000, frames=9, chars=900, own_chars=700)
    other = Estimator(1, 1, 1)
    other.load(one.state())
    assert other.state() == one.state()
    assert other.tokens(Size(5, 50)) == one.tokens(Size(5, 50))
    assert one.text_tokens(one.chars(100)) <= 101


@given(st.text(), st.integers(1, 50))
def test_clip_keeps_within_bounds(text, chars):
    cut = clip(text, chars)
    assert len(cut) <= chars
    assert cut == text or cut.endswith("…")


def test_clip_ends_at_a_word():
    assert clip("one two three four", 15) == "one two three…"
    assert clip("a verylongwordindeed", 10) == "a verylon…"
