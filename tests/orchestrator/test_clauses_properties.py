"""Clauses do not depend on how the text arrives, and lose nothing of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.orchestrator.clauses import Clause, ClauseConfig, ClauseSegmenter

pytestmark = pytest.mark.pure

PIECES = st.sampled_from(
    [
        *("The cat sleeps", "a", "Dr", "e.g", "U.S", "No", "3", "3.5", "1,000", "etc", "42", "I"),
        *("https://a.b/c?d=e,f", "snake_case", "你好", "世界", "猫在睡觉", "カタカナ"),
        *(".", "!", "?", "...", "…", ",", ";", ":", "。", "！", "？", "，", "、", "；"),  # noqa: RUF001
        *(" ", "  ", "\n", "\n\n", "\t", '"', "'", ")", "”", "」", "*", "_", "(", "-"),
    ]
)
TEXT = st.one_of(st.lists(PIECES, max_size=40).map("".join), st.text(max_size=120))
SMALL = ClauseConfig(first_soft=4, soft=12, first_limit=12, limit=24)
CONFIG = st.sampled_from([ClauseConfig(), SMALL])


def whole(text: str, config: ClauseConfig) -> list[Clause]:
    segmenter = ClauseSegmenter(config)
    return [*segmenter.feed(text), *segmenter.finish()]


@given(TEXT, CONFIG, st.data())
def test_any_split_gives_the_same_clauses(
    text: str, config: ClauseConfig, data: st.DataObject
) -> None:
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=12).map(sorted))
    segmenter = ClauseSegmenter(config)
    clauses: list[Clause] = []
    for start, end in zip([0, *places], [*places, len(text)], strict=True):
        clauses += segmenter.feed(text[start:end])
    clauses += segmenter.finish()
    assert clauses == whole(text, config)


@given(TEXT, CONFIG)
def test_character_by_character_gives_the_same_clauses(text: str, config: ClauseConfig) -> None:
    segmenter = ClauseSegmenter(config)
    clauses = [clause for char in text for clause in segmenter.feed(char)]
    assert [*clauses, *segmenter.finish()] == whole(text, config)


@given(TEXT, CONFIG)
def test_spans_cover_the_text_without_gaps(text: str, config: ClauseConfig) -> None:
    clauses = whole(text, config)
    at = 0
    for clause in clauses:
        assert clause.start == at
        assert clause.text == text[clause.start : clause.end]
        assert clause.text.strip()
        at = clause.end
    assert not text[at:].strip(), "only blanks without a word may stay out"


@given(TEXT, CONFIG)
def test_all_clauses_but_the_last_have_something_to_say(text: str, config: ClauseConfig) -> None:
    for clause in whole(text, config)[:-1]:
        assert any(char.isalnum() for char in clause.text)


@given(TEXT)
def test_no_cut_falls_inside_a_run_of_narrow_letters(text: str) -> None:
    for clause in whole(text, SMALL)[:-1]:
        pair = text[clause.end - 1 : clause.end + 1]
        assert not (pair.isascii() and pair.isalnum())
