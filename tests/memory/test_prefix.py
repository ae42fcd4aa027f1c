from __future__ import annotations

from dataclasses import replace

import pytest

from onlooker.memory import Instruction
from onlooker.memory.entries import Span
from onlooker.memory.prefix import one_line, qa_text, render_head, seconds, span_text
from onlooker.memory.qa import QaDelegated, QaItem, QaQuery, QaReply
from onlooker.types import InstructionId, Lifetime, Ms, ResponseId
from tests.memory.words import WORDY

pytestmark = pytest.mark.pure

ONE = InstructionId("i")


@pytest.mark.parametrize(
    ("ms", "text"), [(0, "0.0"), (49, "0.0"), (50, "0.1"), (12_000, "12.0"), (3_599_960, "3600.0")]
)
def test_seconds_round_half_up_to_a_tenth(ms, text):
    assert seconds(ms) == text


def test_one_line_cannot_pose_as_two():
    assert one_line("a\nsaid@1.0 b\r\n c") == "a said@1.0 b c"


def test_an_empty_head_is_empty():
    assert render_head([], [], [], WORDY) == ""


def test_c27_the_head_has_its_sections_in_order_long_term_first():
    spans = [
        Span("gap", Ms(0), Ms(5_000), "", 3),
        Span("block", Ms(5_000), Ms(9_000), "a day", 9),
        Span("chunk", Ms(9_000), Ms(12_340), "an hour", 5),
    ]
    items: list[QaItem] = [
        QaQuery(1, ONE, "what\nnow", Ms(3_000)),
        QaReply(ResponseId("r"), "a cat", Ms(7_000)),
        QaReply(None, "let me see", Ms(7_000), "what breed"),
        QaReply(None, "", Ms(7_000), "what breed"),
        QaDelegated("what breed", "a tabby", Ms(9_000), "aloud"),
        QaDelegated("why", "no idea", Ms(9_000), failed=True),
    ]
    standing = [Instruction(ONE, "watch the cat", Lifetime(), Ms(1))]
    assert render_head(spans, items, standing, WORDY).splitlines() == [
        "[Video]", "<0.0-5.0> nobody looked", "", "<5.0-9.0>", "a day", "", "<9.0-12.3>", "an hour",
        "", "[Answers]", "#1 asked@3.0 what now", "said@7.0 a cat",
        "said@7.0 let me see (what breed)", "said@7.0 (what breed)",
        "answer to what breed (aloud): a tabby", "no answer to why: no idea",
        "", "[Standing]", "* watch the cat",
    ]  # fmt: skip


def test_a_dialect_without_words_for_a_gap_leaves_it_out():
    text = replace(WORDY, gap="")
    assert render_head([Span("gap", Ms(0), Ms(5), "", 0)], [], [], text) == ""
    assert span_text(Span("gap", Ms(0), Ms(5), "", 0), text) == ""


def test_s3_two_sessions_with_other_ids_share_their_heads():
    heads = {
        render_head([], [QaQuery(1, InstructionId(name), "hi", Ms(5))],
                    [Instruction(InstructionId(name), "hi", Lifetime(), Ms(5))], WORDY)
        for name in ("a", "b")
    }  # fmt: skip
    assert len(heads) == 1
    assert qa_text(QaQuery(1, ONE, "hi", Ms(5)), WORDY) == "#1 asked@0.0 hi"
