"""The dialect the JoyAI-VL-Interaction models were trained and served with.

Tokens, headers, labels, their order and the sampling values are that model's format and must not be
changed: they are part of its calibration between speaking and silence.
"""

from __future__ import annotations

from typing import Final

from onlooker.decision.dialect import Dialect
from onlooker.types import DialectText, SamplingParams

_TEXT: Final = DialectText(
    name="joyvl",
    query_header="[User Query (IMPORTANT — follow this instruction)]",
    video_history_header=(
        "[Video History]\n"
        "Notes on what the camera showed before the pictures below, oldest first. Those pictures "
        "are gone. Where the notes and the present pictures differ, or the user's query asks for "
        "something else, the pictures and the query win. The notes were not written by you: keep "
        "to your own way of speaking."
    ),
    qa_history_header=(
        "[Q&A History]\n"
        "What the user asked and what was answered before the pictures below, in order of time."
    ),
    standing_header="[User Query (IMPORTANT — follow this instruction)]",
    time_label="<{seconds} seconds>",
    range_label="<{start} seconds-{end} seconds>",
    qa_query="#{n} [Query@{seconds} seconds] {text}",
    qa_response="[Response@{seconds} seconds] {text}",
    qa_unknown_time="N/A",
    standing_line="{text}",
    cancelled_line="[Query Cancelled] {text}",
    delegated_line="[Delegated Answer] Question: {question} Answer: {text} Delivery: {delivery}",
    delegated_failed_line="[Delegated Answer] Question: {question} No answer: {text}",
    heard_line="[Response Continued] {text}",
    expired_line="[Query Ended] {text}",
    cut_off_line="{text}\n(The answer to this was cut off. Answer it now.)",
    interrupted_mark=" —",
    no_video="<no video>",
    camera_off="<camera off>",
    unchanged="<unchanged>",
    gap="<{start} seconds-{end} seconds>\nNobody was watching.",
    fallback_summary=(
        "No summary of this stretch could be had; it held {frames} pictures "
        "between {start} and {end} seconds."
    ),
    empty_summary="Nothing worth noting happened.",
    silence="</silence>",
    respond="</response> {text}",
    delegate="</response> {note} </delegation> {question}",
    has_text_only_ticks=False,
    max_instructions=1,
    cancel_is_boundary=True,
)

JOYVL: Final = Dialect(
    name="joyvl",
    text=_TEXT,
    tick_sampling=SamplingParams(
        max_tokens=256,
        temperature=0.8,
        top_p=0.9,
        top_k=40,
        repetition_penalty=1.1,
        presence_penalty=1.5,
        skip_special_tokens=False,
    ),
    summary_sampling=SamplingParams(
        max_tokens=4_000,
        temperature=0.8,
        top_p=0.9,
        top_k=40,
        repetition_penalty=1.1,
        presence_penalty=1.0,
        skip_special_tokens=True,
    ),
    block_sampling=SamplingParams(
        max_tokens=4_000,
        temperature=0.3,
        top_p=0.7,
        top_k=30,
        repetition_penalty=1.1,
        presence_penalty=0.5,
        skip_special_tokens=True,
    ),
    default_frames=100,
    part_end="",
)
