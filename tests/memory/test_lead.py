from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.memory import MemorySettings
from onlooker.memory.config import shrunk
from onlooker.memory.lead import Lead
from tests.memory.words import make

pytestmark = pytest.mark.pure

CONFIG = make(MemorySettings(chunk_frames=100)).config


def test_the_lead_follows_the_latency_between_two_and_a_fifth():
    lead = Lead(CONFIG)
    assert lead.frames == 10
    lead.observe(200, 1_000, CONFIG)
    assert lead.frames == 2
    lead.observe(9_000, 1_000, CONFIG)
    assert lead.frames == 13
    lead.observe(100_000, 1_000, CONFIG)
    assert lead.frames == 20


def test_it_comes_down_slowly():
    lead = Lead(CONFIG)
    lead.observe(12_000, 1_000, CONFIG)
    high = lead.frames
    lead.observe(200, 1_000, CONFIG)
    assert 2 < lead.frames < high


def test_more_pictures_a_second_need_more_lead():
    lead = Lead(CONFIG)
    lead.observe(2_000, 250, CONFIG)
    assert lead.frames == 11


def test_a_missed_summary_widens_and_lower_limits_clamp():
    lead = Lead(CONFIG)
    lead.widen(CONFIG)
    assert lead.frames == 20
    lead.clamp(shrunk(CONFIG, max_images=12))
    assert lead.frames <= 2


def test_a_fixed_lead_stays():
    config = make(MemorySettings(chunk_frames=100, lead=10, fixed_lead=True)).config
    lead = Lead(config)
    lead.observe(60_000, 1_000, config)
    lead.widen(config)
    assert lead.frames == 10


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e5)), max_size=20))
def test_any_latency_keeps_it_within_bounds(seen):
    lead = Lead(CONFIG)
    for latency, pace in seen:
        lead.observe(latency, pace, CONFIG)
        assert 2 <= lead.frames <= 20
