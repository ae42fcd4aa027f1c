from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.decision import Dedup, normalise
from onlooker.types import Ms

pytestmark = pytest.mark.pure

lines = st.one_of(
    st.lists(st.sampled_from(["the", "cat", "Cat", "sat", "sa", "!", " ", ".", "-3", "é", "猫"]))
    .map(" ".join),
    st.text(max_size=12),
)  # fmt: skip


def history_of(*heard: str) -> Dedup:
    history = Dedup(repeat_cooldown_ms=5_000, delegation_cooldown_ms=0)
    for line in heard:
        history.note_heard(line, Ms(0))
    return history


def pieces(text: str, cuts: list[int]) -> list[str]:
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[a:b] for a, b in pairwise(places)]


@given(st.lists(lines, max_size=3), lines, st.lists(st.integers(0, 99), max_size=6))
def test_released_text_is_all_of_the_input_or_nothing(heard, said, cuts):
    judge = history_of(*heard).open(Ms(1))
    released = "".join(judge.feed(piece) for piece in pieces(said, cuts))
    repeated, rest = judge.finish()
    assert released + rest == ("" if repeated else said)
    known = {normalise(line) for line in heard} - {""}
    assert repeated is (normalise(said) in known)


@given(st.lists(lines, max_size=3), lines)
def test_the_verdict_comes_with_the_first_character_that_differs(heard, said):
    known = [normalise(line) for line in heard if normalise(line)]
    judge = history_of(*heard).open(Ms(1))
    for place, char in enumerate(said, 1):
        could_be = any(
            normalise(said[:place] + more) == line
            for line in known
            for more in {line[i:] for i in range(len(line) + 1)}
        )
        released = judge.feed(char)
        assert (released == "" and not judge.is_released) is (could_be and not judge.is_released)
        if could_be:
            continue
        assert judge.is_released
        return


@given(lines)
def test_without_a_history_nothing_is_ever_held(said):
    judge = history_of().open(Ms(0))
    assert [judge.feed(char) for char in said] == list(said)
    assert judge.finish() == (False, "")
