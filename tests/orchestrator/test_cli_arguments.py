"""Moments and queries as people type them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.errors import ConfigError
from onlooker.orchestrator.cli.arguments import MAX_MOMENT_MS, parse_at, parse_moment

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("12", 12_000),
        ("12.5", 12_500),
        ("12s", 12_000),
        (" 4.25S ", 4_250),
        ("1500ms", 1_500),
        ("1m30s", 90_000),
        ("2m", 120_000),
        ("2h", 7_200_000),
        ("1h0m5.5s", 3_605_500),
        ("1:30", 90_000),
        ("0:01:30.5", 90_500),
        ("0", 0),
    ],
)
def test_a_moment_can_be_written_in_many_ways(text: str, ms: int) -> None:
    assert parse_moment(text) == ms


@pytest.mark.parametrize(
    "text", ["", " ", "s", "-1", "1.s", "1x", "1s2m", "1:2:3:4", "12s s", "1e3", "inf", "nan", "٣",
             "999999999", "1:ab", "10s5"],
)  # fmt: skip
def test_anything_else_is_no_moment(text: str) -> None:
    assert parse_moment(text) is None


def test_a_query_may_hold_the_sign_that_ends_the_moment() -> None:
    assert parse_at("12s=is a = b?") == (12_000, "is a = b?")


@pytest.mark.parametrize("text", ["", "12s", "12s=", "12s=  ", "=what", "soon=what", "what=12s"])
def test_a_malformed_at_is_refused_with_its_right_form(text: str) -> None:
    with pytest.raises(ConfigError, match="write it as --at '12s=TEXT'") as caught:
        parse_at(text)
    assert caught.value.code == "invalid_at"


@given(st.text(max_size=20))
def test_no_text_breaks_it(text: str) -> None:
    moment = parse_moment(text)
    assert moment is None or 0 <= moment <= MAX_MOMENT_MS


@given(st.integers(0, MAX_MOMENT_MS))
def test_milliseconds_are_exact(ms: int) -> None:
    assert parse_moment(f"{ms}ms") == ms
