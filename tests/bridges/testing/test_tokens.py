"""The fake's tokens and its prefix cache."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.bridges.testing.fakevllm.tokens import (
    PrefixCache,
    generation_tokens,
    message_tokens,
    picture_token_count,
    picture_tokens,
    text_tokens,
    token_ids,
)

pytestmark = pytest.mark.pure

BLOCK = 16
BYTES = 4


def prompt(*texts: str) -> bytes:
    messages = (message_tokens("user", [text_tokens(text)]) for text in texts)
    return b"".join((*messages, generation_tokens()))


@pytest.mark.parametrize(
    ("size", "tokens"),
    [((448, 448), 196), ((256, 192), 48), ((8, 8), 1), ((4000, 3000), 11_750)],
)
def test_a_picture_has_a_token_for_each_patch(size: tuple[int, int], tokens: int) -> None:
    assert picture_token_count(*size) == tokens


def test_four_characters_make_a_token() -> None:
    assert len(token_ids(text_tokens("x" * 9))) == 3
    assert text_tokens("") == b""
    assert len(token_ids(picture_tokens("k", 196))) == 198


def test_pictures_of_other_keys_have_other_tokens() -> None:
    assert picture_tokens("a", 4) != picture_tokens("b", 4)


def test_c30_the_second_time_all_but_the_last_block_is_cached() -> None:
    cache = PrefixCache(BLOCK, 1_000)
    tokens = prompt("x" * 1_000)
    first, second = cache.meet(tokens), cache.meet(tokens)
    assert (first.cached_tokens, second.prompt_tokens) == (0, len(tokens) // BYTES)
    assert second.prompt_tokens - second.cached_tokens <= BLOCK
    assert second.cached_tokens % BLOCK == 0
    assert first.created_tokens == second.cached_tokens


def test_a_whole_number_of_blocks_still_computes_one() -> None:
    cache = PrefixCache(BLOCK, 1_000)
    tokens = bytes(BLOCK * BYTES * 3)
    cache.meet(tokens)
    assert cache.meet(tokens).cached_tokens == BLOCK * 2


def test_a_change_in_the_middle_keeps_only_what_is_before_it() -> None:
    cache = PrefixCache(BLOCK, 1_000)
    same = "same " * 40
    cache.meet(prompt(same, "one", same))
    found = cache.meet(prompt(same, "two", same))
    assert 0 < found.cached_tokens <= len(prompt(same)) // BYTES


def test_another_salt_shares_nothing() -> None:
    cache = PrefixCache(BLOCK, 1_000)
    tokens = prompt("x" * 1_000)
    cache.meet(tokens, "a")
    assert cache.meet(tokens, "b").cached_tokens == 0
    assert cache.meet(tokens).cached_tokens == 0
    assert cache.meet(tokens, "a").cached_tokens > 0


def test_what_was_generated_is_cached_for_the_next_prompt() -> None:
    cache = PrefixCache(BLOCK, 1_000)
    question, reply = "q" * 100, "r" * 400
    met = cache.meet(prompt(question))
    cache.extend(met, text_tokens(reply))
    history = prompt(question) + text_tokens(reply)
    assert cache.meet(history + prompt("next")).cached_tokens >= len(history) // BYTES - BLOCK


def test_the_cache_is_bounded_and_drops_the_least_recent() -> None:
    cache = PrefixCache(BLOCK, 20)
    old, new = prompt("o" * 900), prompt("n" * 900)
    cache.meet(old)
    cache.meet(new)
    assert len(cache) <= 20
    assert cache.fill == 1
    assert cache.meet(new).cached_tokens > 0
    cache.clear()
    assert cache.meet(new).cached_tokens == 0


@given(st.lists(st.text(max_size=80), min_size=1, max_size=12))
def test_an_appended_message_changes_no_token_before_it(texts: list[str]) -> None:
    cache = PrefixCache(BLOCK, 10_000)
    before = 0
    for count in range(1, len(texts) + 1):
        met = cache.meet(prompt(*texts[:count]))
        # Everything but the opening of the reply is found again, to a block.
        assert met.cached_tokens >= before - BLOCK
        before = met.prompt_tokens - len(generation_tokens()) // BYTES
