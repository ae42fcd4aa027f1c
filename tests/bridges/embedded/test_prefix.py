"""Counting tokens, and remembering prefixes of prompts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.bridges.model.embedded.completion import pieces_of
from onlooker.bridges.model.embedded.prefix import PrefixMemory, picture_tokens

pytestmark = pytest.mark.pure

units = st.lists(st.tuples(st.sampled_from([b"a", b"b", b"c"]), st.integers(1, 5)), max_size=12)


@given(st.lists(units, min_size=1, max_size=6))
def test_cached_is_the_longest_common_prefix_with_any_earlier_prompt(
    prompts: list[list[tuple[bytes, int]]],
) -> None:
    # One content has one length, as in real prompts.
    sized = [[(content, ord(content) % 4 + 1) for content, _ in prompt] for prompt in prompts]
    memory = PrefixMemory()
    for number, prompt in enumerate(sized):
        total, cached = memory.meet(prompt)
        assert total == sum(tokens for _, tokens in prompt)
        common = max((_common(prompt, earlier) for earlier in sized[:number]), default=0)
        common = min(common, max(len(prompt) - 1, 0))
        assert cached == sum(tokens for _, tokens in prompt[:common])


def _common(one: list[tuple[bytes, int]], other: list[tuple[bytes, int]]) -> int:
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return length


def test_the_memory_is_bounded_and_forgets_the_oldest() -> None:
    memory = PrefixMemory(max_blocks=3)
    memory.meet([(b"old", 1), (b"older", 1)])
    memory.meet([(b"x", 1), (b"y", 1), (b"z", 1)])
    assert memory.meet([(b"old", 1), (b"older", 1)]) == (2, 0)


def test_pictures_count_as_a_vision_model_counts_them() -> None:
    assert picture_tokens(448, 448) == 196
    assert picture_tokens(1, 1) == 1


@given(st.text(max_size=100), st.integers(1, 200))
def test_pieces_are_the_text_or_its_beginning(text: str, most: int) -> None:
    pieces, reason = pieces_of(text, most)
    assert text.startswith("".join(pieces))
    assert (reason == "stop") == ("".join(pieces) == text)
    assert len(pieces) <= most
