from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.errors import ConfigError
from onlooker.memory import MemoryConfig, MemorySettings, resolve
from onlooker.memory.config import UNKNOWN_BUDGET_TOKENS, default_lead, shrunk
from onlooker.types import ServerLimits
from tests.memory.words import WORDLESS, WORDY

pytestmark = pytest.mark.pure

BIG = ServerLimits(max_model_len=131_072, max_images=256)


def config(settings=MemorySettings(), limits=BIG, default_frames=100, text=WORDY):  # noqa: B008
    return resolve(settings, limits, text, default_frames=default_frames, max_reply_tokens=256)


def can_work(one: MemoryConfig, images: int) -> bool:
    cap, frames, lead = one.hard_cap_frames, one.chunk_frames, one.lead
    return (
        frames <= cap <= images - 1
        and cap - frames + one.max_lead < frames - one.max_lead
        and one.min_lead <= lead <= one.max_lead
        and one.ring_frames <= frames
        and one.head_tokens < one.token_watermark <= one.max_prompt_tokens
    )


def test_what_nobody_set_is_derived_as_designed():
    one = config()
    assert (one.chunk_frames, one.lead, one.hard_cap_frames) == (100, 10, 120)
    assert (one.min_lead, one.max_lead) == (2, 20)
    assert (one.chunk_ticks, one.max_age_ms, one.ring_frames) == (300, 600_000, 10)
    assert (one.rollup_every, one.block_window) == (5, 15)
    assert one.summary_max_tokens == 4_000
    assert one.max_prompt_tokens == 131_072 - 256 - 64


def test_generic_chunks_of_thirty_pictures():
    one = config(default_frames=30)
    assert (one.chunk_frames, one.lead, one.hard_cap_frames, one.max_lead) == (30, 3, 36, 6)


@pytest.mark.parametrize(("frames", "lead"), [(3, 1), (10, 1), (12, 2), (95, 10), (400, 10)])
def test_default_lead(frames, lead):
    assert default_lead(frames) == lead


def test_a_small_image_limit_makes_small_chunks():
    one = config(limits=ServerLimits(131_072, 16))
    assert one.hard_cap_frames <= 15
    assert can_work(one, 16)
    tiny = config(limits=ServerLimits(131_072, 4))
    assert (tiny.chunk_frames, tiny.hard_cap_frames) == (3, 3)


def test_a_server_that_says_nothing_gets_a_careful_budget():
    assert config(limits=ServerLimits()).max_prompt_tokens == UNKNOWN_BUDGET_TOKENS


def test_a_fixed_lead_does_not_adapt():
    one = config(MemorySettings(lead=10, fixed_lead=True))
    assert (one.min_lead, one.lead, one.max_lead) == (10, 10, 10)


def test_instructions_come_from_the_dialect_unless_set():
    assert config(text=WORDLESS).max_instructions == 1
    assert config(MemorySettings(max_instructions=4), text=WORDLESS).max_instructions == 4


def test_the_demo_shape_is_possible():
    one = config(MemorySettings(chunk_frames=12))
    assert (one.chunk_frames, one.lead, one.hard_cap_frames) == (12, 2, 16)


@pytest.mark.parametrize(
    ("settings", "limits", "reason"),
    [
        (MemorySettings(hard_cap_frames=256), BIG, "hard_cap_frames = 256 exceeds"),
        (MemorySettings(chunk_frames=300), BIG, "leaves no room"),
        (MemorySettings(chunk_frames=100, lead=10, hard_cap_frames=185), BIG, "carry 95"),
        (MemorySettings(chunk_frames=10, lead=5), BIG, "leaves no room"),
        (MemorySettings(chunk_frames=2), BIG, "at least 3"),
        (MemorySettings(lead=0), BIG, "at least 1"),
        (MemorySettings(rollup_every=1), BIG, "at least 2"),
        (MemorySettings(block_trim=4, block_window=3), BIG, "block_trim"),
        (MemorySettings(max_prompt_tokens=140_000), BIG, "max_prompt_tokens = 140000 exceeds"),
        (MemorySettings(token_watermark=131_000), BIG, "token_watermark"),
        (MemorySettings(token_watermark=20_000), BIG, "no room beside the head"),
        (MemorySettings(summary_max_tokens=60_000), BIG, "summary_max_tokens"),
        (MemorySettings(qa_tokens=60_000), BIG, "qa_tokens"),
        (MemorySettings(), ServerLimits(131_072, 3), "holds 3 pictures"),
        (MemorySettings(), ServerLimits(1_200, 64), "too small to watch"),
        (MemorySettings(frame_tokens=5_000), ServerLimits(8_192, 64), "pictures in one prompt"),
    ],
)
def test_what_cannot_work_is_refused_with_the_reason(settings, limits, reason):
    with pytest.raises(ConfigError, match=reason):
        config(settings, limits)


@given(
    length=st.integers(6_000, 200_000),
    images=st.integers(4, 400),
    default=st.integers(3, 200),
    frame_tokens=st.integers(40, 300),
)
def test_every_derived_configuration_can_work(length, images, default, frame_tokens):
    settings = MemorySettings(frame_tokens=frame_tokens)
    assert can_work(config(settings, ServerLimits(length, images), default), images)


@given(
    frames=st.integers(1, 200), lead=st.integers(1, 40), cap=st.integers(1, 200),
    images=st.integers(4, 200),
)  # fmt: skip
def test_a_set_shape_either_works_or_is_refused(frames, lead, cap, images):
    settings = MemorySettings(chunk_frames=frames, lead=lead, hard_cap_frames=cap)
    try:
        one = config(settings, ServerLimits(131_072, images))
    except ConfigError:
        works = 3 <= frames <= cap < images and cap - frames + lead < frames - lead
        assert not works
    else:
        assert (one.chunk_frames, one.lead, one.hard_cap_frames) == (frames, lead, cap)
        assert can_work(one, images)


def test_a_cap_alone_bounds_the_derived_chunk():
    one = config(MemorySettings(hard_cap_frames=24))
    assert one.hard_cap_frames == 24
    assert one.chunk_frames <= 24
    assert can_work(one, 256)


@given(images=st.integers(0, 300), tokens=st.integers(0, 140_000))
def test_shrinking_never_refuses_and_never_grows(images, tokens):
    before = config()
    after = shrunk(before, max_tokens=tokens, max_images=images)
    assert 1 <= after.chunk_frames <= after.hard_cap_frames
    assert after.hard_cap_frames <= max(1, images - 1)
    assert 0 <= after.min_lead <= after.lead <= after.max_lead
    assert after.ring_frames >= 1
    carried = after.hard_cap_frames - after.chunk_frames + after.max_lead
    assert carried < after.chunk_frames - after.max_lead
    for field in fields(after):
        assert getattr(after, field.name) <= getattr(before, field.name)


def test_shrinking_to_nothing_changes_nothing():
    before = config()
    assert shrunk(before) == replace(before, qa_tokens=before.qa_tokens)
