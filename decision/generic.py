"""A plain dialect that any instruct vision-language model can be taught by its system prompt.

Its markers are ordinary words in square brackets, so they reach us whether or not the server
strips special tokens (C32).
"""

from __future__ import annotations

from typing import Final

from onlooker.decision.dialect import Dialect
from onlooker.types import DialectText, SamplingParams

_WORDS: Final = r"[^\[\] \n][^\[\]]*"
"""Text of a reply: it begins with a word and holds no bracket, so no second marker fits in."""
_SPEAKING: Final = rf"\[RESPOND\] {_WORDS}(\[DELEGATE\] {_WORDS})?"

_TEXT: Final = DialectText(
    name="generic",
    query_header="[Request]",
    video_history_header=(
        "[Earlier video]\n"
        "Notes on what the camera showed before the pictures below, oldest first. "
        "Trust the pictures over the notes."
    ),
    qa_history_header=(
        "[Earlier conversation]\nWhat was asked and said before the pictures below."
    ),
    standing_header=("[Standing requests]\nEach of these still holds; act when its moment comes."),
    time_label="[Time {seconds} s]",
    range_label="[Time {start} s to {end} s]",
    qa_query="#{n} [Request at {seconds} s] {text}",
    qa_response="[Said at {seconds} s] {text}",
    qa_unknown_time="an unknown time",
    standing_line="- {text}",
    cancelled_line="[Request cancelled] {text}",
    delegated_line="[Background answer] Question: {question} Answer: {text} Delivery: {delivery}",
    delegated_failed_line="[Background answer] Question: {question} No answer: {text}",
    heard_line="[Said since] {text}",
    expired_line="[Request ended] {text}",
    cut_off_line="{text}\n(The answer to this was cut off. Answer it now.)",
    interrupted_mark=" —",
    no_video="[No video: no new picture has come]",
    camera_off="[Camera off]",
    unchanged="[Unchanged: the picture is the same as before]",
    gap="[Time {start} s to {end} s]\nNobody was watching.",
    fallback_summary=(
        "No summary of this stretch could be had; it held {frames} pictures "
        "between {start} and {end} seconds."
    ),
    empty_summary="Nothing worth noting happened.",
    silence="[SILENCE]",
    respond="[RESPOND] {text}",
    delegate="[RESPOND] {note} [DELEGATE] {question}",
    has_text_only_ticks=True,
    max_instructions=8,
    cancel_is_boundary=False,
)

_SUMMARY: Final = SamplingParams(
    max_tokens=1_200, temperature=0.2, top_p=0.9, skip_special_tokens=True
)

GENERIC: Final = Dialect(
    name="generic",
    text=_TEXT,
    tick_sampling=SamplingParams(
        max_tokens=256, temperature=0.3, top_p=0.9, skip_special_tokens=False
    ),
    summary_sampling=_SUMMARY,
    block_sampling=_SUMMARY,
    default_frames=30,
    part_end="\n",
    regex=rf"\[SILENCE\]|{_SPEAKING}",
    forced_regex=_SPEAKING,
)
