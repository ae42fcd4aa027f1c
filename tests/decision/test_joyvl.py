"""The formats this model was trained and served with, to the letter."""

from __future__ import annotations

import pytest

from onlooker.decision import JOYVL
from onlooker.types import SamplingParams

pytestmark = pytest.mark.pure


def test_tokens_headers_and_labels_are_the_served_ones():
    text = JOYVL.text
    assert (text.silence, text.respond) == ("</silence>", "</response> {text}")
    assert text.delegate == "</response> {note} </delegation> {question}"
    assert text.query_header == "[User Query (IMPORTANT — follow this instruction)]"
    assert text.standing_header == text.query_header
    assert text.video_history_header.startswith("[Video History]\n")
    assert text.qa_history_header.startswith("[Q&A History]\n")
    assert text.time_label.format(seconds="12.0") == "<12.0 seconds>"
    assert text.range_label.format(start="0.0", end="99.0") == "<0.0 seconds-99.0 seconds>"
    asked = text.qa_query.format(n=1, seconds="3.0", text="text")
    answered = text.qa_response.format(seconds="7.0", text="text")
    assert f"{asked}\n{answered}" == "#1 [Query@3.0 seconds] text\n[Response@7.0 seconds] text"
    assert text.qa_unknown_time == "N/A"


def test_it_knows_no_text_only_tick_one_instruction_and_no_cancellation():
    text = JOYVL.text
    assert (text.has_text_only_ticks, text.max_instructions) == (False, 1)
    assert text.cancel_is_boundary
    assert JOYVL.default_frames == 100


def test_sampling_is_the_deployed_calibration():
    assert JOYVL.tick_sampling == SamplingParams(
        max_tokens=256, temperature=0.8, top_p=0.9, top_k=40,
        repetition_penalty=1.1, presence_penalty=1.5, skip_special_tokens=False,
    )  # fmt: skip
    assert JOYVL.summary_sampling == SamplingParams(
        max_tokens=4_000, temperature=0.8, top_p=0.9, top_k=40,
        repetition_penalty=1.1, presence_penalty=1.0, skip_special_tokens=True,
    )  # fmt: skip
    assert JOYVL.block_sampling == SamplingParams(
        max_tokens=4_000, temperature=0.3, top_p=0.7, top_k=30,
        repetition_penalty=1.1, presence_penalty=0.5, skip_special_tokens=True,
    )  # fmt: skip


def test_c32_the_markers_are_kept_by_the_server():
    assert JOYVL.tick_sampling.skip_special_tokens is False


def test_it_needs_no_grammar():
    assert JOYVL.regex is None
    assert JOYVL.forced_regex is None
