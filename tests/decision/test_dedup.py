from __future__ import annotations

import pytest

from onlooker.decision import Dedup, normalise
from onlooker.types import Ms

pytestmark = pytest.mark.pure

LINE = "A bicycle has appeared."


def dedup(repeat_cooldown_ms: int = 5_000) -> Dedup:
    return Dedup(repeat_cooldown_ms=repeat_cooldown_ms, delegation_cooldown_ms=120_000)


def verdict(history: Dedup, text: str, now_ms: int) -> tuple[bool, str]:
    """(is a repetition, everything that was released)."""
    judge = history.open(Ms(now_ms))
    released = "".join(judge.feed(char) for char in text)
    repeated, rest = judge.finish()
    return repeated, released + rest


def is_repeat(history: Dedup, text: str, now_ms: int) -> bool:
    repeated, released = verdict(history, text, now_ms)
    assert released == ("" if repeated else text)
    return repeated


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("A bicycle!", "a   BICYCLE", True),
        ("A bicycle", "A bicycles", False),
        ("-3 degrees", "3 degrees", False),
        ("C#", "C", False),
        ("5 + 5", "5 5", False),
        ("3.5", "35", False),
        ("it's", "its", False),
        ("猫来了。", "猫来了", True),
        ("नमस्ते", "नमसत", False),
        ("Straße", "STRASSE", True),
        ("well – known", "well known", True),  # noqa: RUF001
    ],
)
def test_lines_are_compared_by_their_words(one, other, same):
    assert (normalise(one) == normalise(other)) is same


def test_a_line_fully_heard_is_not_said_again_in_another_dress():
    history = dedup()
    history.note_heard(LINE, Ms(0))
    assert is_repeat(history, "A  BICYCLE has appeared!", 60_000)


def test_text_is_withheld_only_while_it_can_still_be_the_same_line():
    history = dedup()
    history.note_heard("The cat sat.", Ms(0))
    judge = history.open(Ms(1))
    assert judge.feed("The cat") == ""
    assert judge.feed(" s") == ""
    assert not judge.is_released
    assert judge.feed("leeps") == "The cat sleeps"
    assert judge.is_released
    assert judge.feed(" well") == " well"
    assert judge.finish() == (False, "")


def test_a_complete_word_that_only_begins_alike_is_released_at_once():
    history = dedup()
    history.note_heard("The catalogue is here.", Ms(0))
    judge = history.open(Ms(1))
    assert judge.feed("The cat") == ""
    assert judge.feed(" ") == "The cat "


def test_a_line_that_goes_on_is_new():
    history = dedup()
    history.note_heard("Two.", Ms(0))
    assert not is_repeat(history, "Two. Three.", 1)
    assert not is_repeat(history, "Tw", 1)


def test_punctuation_alone_is_never_a_repetition():
    history = dedup()
    history.note_heard("…", Ms(0))
    assert not is_repeat(history, "!", 1)
    history.note_heard(LINE, Ms(0))
    assert not is_repeat(history, "…", 1)


def test_b21_a_one_tick_silence_does_not_repeat_an_alert_at_once():
    history = dedup()
    history.note_heard(LINE, Ms(10_000))
    history.on_silence()
    assert is_repeat(history, LINE, 11_000)
    assert is_repeat(history, LINE, 14_999)
    assert not is_repeat(history, LINE, 15_000)


def test_b21_alternating_lines_are_withheld_too():
    history = dedup()
    history.note_heard("The door is open.", Ms(1_000))
    history.note_heard("The door is closed.", Ms(2_000))
    assert is_repeat(history, "The door is open.", 3_000)
    assert is_repeat(history, "The door is closed.", 3_000)
    assert not is_repeat(history, "The door is open.", 6_000)
    assert is_repeat(history, "The door is closed.", 9_000)  # still the last line


def test_b21_the_cool_down_can_be_turned_off():
    history = dedup(repeat_cooldown_ms=0)
    history.note_heard(LINE, Ms(1_000))
    history.on_silence()
    assert not is_repeat(history, LINE, 1_000)


def test_c13_the_latch_never_blocks_a_new_trigger():
    history = dedup()
    history.note_heard(LINE, Ms(1_000))
    history.clear()
    assert not is_repeat(history, LINE, 1_000)


def test_b17_the_same_question_is_not_delegated_every_tick():
    history = dedup()
    history.note_delegated("Who won in 1998?", Ms(0))
    assert history.is_repeat_delegation("who won in 1998", Ms(1_000))
    assert not history.is_repeat_delegation("Who won in 2002?", Ms(1_000))
    assert not history.is_repeat_delegation("Who won in 1998?", Ms(120_000))
    history.clear()
    assert history.is_repeat_delegation("Who won in 1998?", Ms(1_000))
    history.clear_delegations()
    assert not history.is_repeat_delegation("Who won in 1998?", Ms(1_000))


def test_what_is_remembered_is_bounded():
    history = dedup()
    for number in range(100):
        history.note_heard(f"line {number}", Ms(number))
        history.note_delegated(f"question {number}", Ms(number))
    assert not is_repeat(history, "line 1", 101)
    assert is_repeat(history, "line 98", 101)
    assert not history.is_repeat_delegation("question 1", Ms(101))
