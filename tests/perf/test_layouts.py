"""Head changes by prompt layout: ours makes one a boundary, the reference's two."""

from __future__ import annotations

import json

import pytest

from bench.layouts import Driver, compare, compare_over_http, core_config, seconds_of
from bench.over_http import ours_over_http
from bench.reference import as_canonical, as_segments, reference_prompts, shown_in
from bench.verdict import BLOCK_TOKENS, judge
from onlooker.types import Usage, canonical_bytes

pytestmark = pytest.mark.perf

TICKS, FRAMES, SUMMARY_MS = 66, 20, 200


def test_one_head_change_a_boundary_none_inside_a_chunk_no_tick_blind() -> None:
    ours = compare(TICKS, FRAMES, SUMMARY_MS)["onlooker"]
    assert (ours.ticks, ours.boundaries) == (TICKS, 3)
    assert (ours.head_changes, ours.mid_chunk, ours.blind_ticks) == (3, 0, 0)


def test_the_reference_layout_makes_two_a_boundary_and_is_blind_in_between() -> None:
    theirs = compare(TICKS, FRAMES, SUMMARY_MS)["reference"]
    assert (theirs.ticks, theirs.boundaries) == (TICKS, 3)
    assert (theirs.head_changes, theirs.mid_chunk, theirs.blind_ticks) == (6, 3, 3)


def test_the_whole_size_330_ticks_of_100_picture_chunks() -> None:
    both = compare(330, 100, SUMMARY_MS)
    counts = {
        name: (one.boundaries, one.head_changes, one.mid_chunk, one.blind_ticks)
        for name, one in both.items()
    }
    assert counts == {"onlooker": (3, 3, 0, 0), "reference": (3, 6, 3, 3)}


@pytest.mark.parametrize("summary_ms", [0, 1_500, 3_900])
def test_b1_summaries_of_any_length_change_the_head_at_boundaries_only(summary_ms: int) -> None:
    ours = compare(TICKS, FRAMES, summary_ms)["onlooker"]
    assert ours.boundaries == 3
    assert (ours.head_changes, ours.mid_chunk, ours.blind_ticks) == (3, 0, 0)


def test_over_a_socket_the_cache_holds_all_but_the_new_tokens_and_one_block() -> None:
    both = compare_over_http(TICKS, FRAMES, SUMMARY_MS)
    ours, theirs = both["onlooker"], both["reference"]
    assert (ours.ticks, ours.boundaries, ours.head_changes) == (TICKS, 3, 3)
    assert (ours.mid_chunk, ours.blind_ticks) == (0, 0)
    assert ours.cache is not None
    assert ours.cache.short_ticks == 0
    assert ours.cache.most_missed <= BLOCK_TOKENS
    assert (theirs.ticks, theirs.head_changes, theirs.mid_chunk) == (TICKS, 6, 3)
    assert theirs.cache is not None
    assert theirs.cache.short_ticks == 3


@pytest.mark.parametrize("summary_ms", [0, 1_000])
async def test_a_summary_may_come_at_once_or_in_the_moment_of_a_tick(summary_ms: int) -> None:
    run = await ours_over_http(core_config(10), 24, summary_ms)
    ours = judge(run.received.prompts, seconds_of(24), run.usage)
    assert (ours.ticks, ours.boundaries, ours.head_changes, ours.blind_ticks) == (24, 2, 2, 0)
    assert run.received.connections == 2, "one for ticks, one for summaries"
    assert run.received.summaries >= 2


def test_both_layouts_are_the_same_to_the_byte_until_the_first_chunk_is_closed() -> None:
    """Nothing but the layout is compared: same system prompt, question, labels and replies."""
    driver = Driver(FRAMES, SUMMARY_MS)
    for tick in range(FRAMES):
        driver.second(tick)
    theirs = list(reference_prompts(FRAMES, FRAMES, SUMMARY_MS))
    assert list(map(as_canonical, theirs)) == driver.prompts


def test_segments_of_the_reference_say_what_its_canonical_form_says() -> None:
    for tick, messages in enumerate(reference_prompts(25, 20, SUMMARY_MS)):
        shown = range(tick + 1 - shown_in(messages), tick + 1)
        segments = as_segments(messages, shown)
        assert canonical_bytes(segments).decode() == as_canonical(messages)


def _prompt(*shown: int, head: str = "", system: str = "s") -> str:
    """A prompt that shows the pictures of these seconds."""
    uuids = {second: uuid for uuid, second in seconds_of(16).items()}
    parts = [{"type": "text", "text": head}] if head else []
    users = [
        {
            "role": "user",
            "content": [*(parts if n == shown[0] else []), {"type": "image_url", "uuid": uuids[n]}],
        }
        for n in shown
    ]
    return json.dumps([{"role": "system", "content": system}, *users])


def test_the_verdict_tells_a_boundary_from_a_break_inside_a_chunk() -> None:
    prompts = [_prompt(0), _prompt(0, 1), _prompt(0, 1, 2, system="t"), _prompt(3)]
    verdict = judge(prompts, seconds_of(16))
    assert (verdict.boundaries, verdict.head_changes, verdict.mid_chunk) == (1, 2, 1)
    assert verdict.blind_ticks == 1
    assert verdict.cache is None


def test_the_verdict_takes_a_summary_for_sight_and_a_gap_for_none() -> None:
    told = _prompt(4, head="<0.0 seconds-3.0 seconds>\nNotes.")
    gap = _prompt(4, head="<0.0 seconds-3.0 seconds>\nNobody was watching.")
    assert judge([told, told], seconds_of(16)).blind_ticks == 0
    assert judge([gap, gap], seconds_of(16)).blind_ticks == 2


def test_the_verdict_counts_tokens_that_were_computed_again() -> None:
    prompts = [_prompt(0), _prompt(0, 1), _prompt(0, 1, 2)]
    usage = [Usage(100, 1, 0), Usage(150, 1, 96), Usage(200, 1, 120)]
    cache = judge(prompts, seconds_of(16), usage).cache
    assert cache is not None
    assert (cache.most_missed, cache.short_ticks) == (30, 1)
    assert cache.cached == pytest.approx(216 / 450)
