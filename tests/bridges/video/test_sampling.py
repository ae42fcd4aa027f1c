"""Sampling on the media clock, and how large a picture may be."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.bridges.video.reconnect import Reconnect
from onlooker.bridges.video.sampling import MediaClock, Sampler, fit_size

pytestmark = pytest.mark.pure


def sampled(times_ms: list[float], fps: float) -> list[float]:
    sampler = Sampler(fps)
    taken = []
    for at_ms in times_ms:
        if sampler.is_due(at_ms):
            sampler.take(at_ms)
            taken.append(at_ms)
    return taken


def test_frame_k_is_the_first_at_or_after_k_periods() -> None:
    assert sampled([i * 40.0 for i in range(26)], 4) == [0, 280, 520, 760, 1000]


def test_a_rate_that_divides_the_source_takes_exact_frames() -> None:
    assert sampled([i * 40.0 for i in range(76)], 1) == [0, 1000, 2000, 3000]


def test_rounded_timestamps_still_fill_their_slot() -> None:
    # 30 fps in a container that counts whole milliseconds: 333 stands for 333.33.
    assert sampled([round(i * 1000 / 30) for i in range(31)], 3) == [0, 333, 667, 1000]


def test_a_slow_source_gives_each_frame_once() -> None:
    assert sampled([0, 500, 1000], 4) == [0, 500, 1000]


def test_c19_after_a_gap_the_next_slot_is_taken_without_a_burst() -> None:
    times = [0.0, 250.0] + [5_010.0 + i for i in range(300)]
    assert sampled(times, 4) == [0, 250, 5_010, 5_250]


@given(
    st.lists(st.floats(1, 200), min_size=1, max_size=200),
    st.sampled_from([0.5, 1.0, 3.0, 4.0, 7.5, 29.97]),
)
def test_sampling_obeys_its_definition(gaps_ms: list[float], fps: float) -> None:
    times = [sum(gaps_ms[:i]) for i in range(len(gaps_ms))]
    period_ms = 1000 / fps
    slots = range(int(times[-1] / period_ms) + 2)
    firsts = [[t for t in times if t + 0.5 >= slot * period_ms][:1] for slot in slots]
    assert sampled(times, fps) == sorted({t for first in firsts for t in first})


def test_the_media_clock_trusts_sane_timestamps() -> None:
    clock = MediaClock(25.0)
    assert [clock.advance(t) for t in (0.0, 41.0, 79.0)] == [0, 41, 79]
    assert clock.end_ms() == 119


def test_the_media_clock_counts_frames_where_there_are_no_timestamps() -> None:
    clock = MediaClock(25.0)
    assert [clock.advance(t) for t in (0.0, 0.0, -1.0, 0.0)] == [0, 40, 80, 120]


def test_j14_the_media_clock_counts_broken_frames_as_time() -> None:
    clock = MediaClock(None)
    assert clock.advance(-1.0, 3) == 80
    assert clock.advance(0.0, 2) == 160


@given(st.lists(st.tuples(st.floats(-100, 1e6), st.integers(1, 5)), min_size=1, max_size=50))
def test_media_time_always_moves_forward(steps: list[tuple[float, int]]) -> None:
    clock = MediaClock(30.0)
    times = [clock.advance(reported, frames) for reported, frames in steps]
    assert all(a < b for a, b in pairwise(times))


@given(st.integers(1, 70_000), st.integers(1, 70_000), st.integers(64, 10_000_000))
def test_a_fitted_size_is_within_the_limits_and_never_larger(w: int, h: int, limit: int) -> None:
    wide, high = fit_size(w, h, limit, 16_384)
    assert 1 <= wide <= min(w, 16_384)
    assert 1 <= high <= min(h, 16_384)
    assert wide * high <= limit
    if w * h <= limit and max(w, h) <= 16_384:
        assert (wide, high) == (w, h)
    elif min(wide, high) > 20:
        assert wide / high == pytest.approx(w / h, rel=0.06)


def test_backoff_doubles_up_to_a_bound_and_ends() -> None:
    assert list(Reconnect().delays_s()) == [0.5, 1, 2, 4, 8, 8]
    assert list(Reconnect(tries=0).delays_s()) == []
