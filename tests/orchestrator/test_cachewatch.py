"""When a prefix cache is called useless."""

from __future__ import annotations

import pytest

from onlooker.decision import BuiltPrompt
from onlooker.orchestrator.cachewatch import PATIENCE_TICKS, CacheWatch
from onlooker.orchestrator.notices import Trouble
from onlooker.types import Usage
from tests.support.core_world import World

pytestmark = pytest.mark.pure

KNOWN = BuiltPrompt(messages=(), frames=9, chars=9_000, new_bytes=200, reused_messages=20)
NEW = BuiltPrompt(messages=(), frames=9, chars=9_000, new_bytes=8_000, reused_messages=0)


def usage(cached: int | None) -> Usage:
    return Usage(prompt_tokens=3_000, completion_tokens=2, cached_tokens=cached)


def test_c30_a_cache_that_never_hits_is_reported_once_after_twenty_prompts() -> None:
    watch = CacheWatch()
    seen = [watch.is_cold(KNOWN, usage(0)) for _ in range(3 * PATIENCE_TICKS)]
    assert seen.index(True) == PATIENCE_TICKS - 1
    assert seen.count(True) == 1


def test_a_hit_starts_the_count_again() -> None:
    watch = CacheWatch()
    for cached in [0] * (PATIENCE_TICKS - 1) + [1_000] + [0] * (PATIENCE_TICKS - 1):
        assert not watch.is_cold(KNOWN, usage(cached))
    assert watch.is_cold(KNOWN, usage(0))


def test_new_prompts_and_servers_that_do_not_count_tell_nothing() -> None:
    watch = CacheWatch()
    assert not any(watch.is_cold(NEW, usage(0)) for _ in range(50))
    assert not any(watch.is_cold(KNOWN, usage(None)) for _ in range(50))


def test_c30_the_client_is_told_by_the_session() -> None:
    world = World.open()
    world.frame()
    world.ask("tell me when a bicycle appears")
    world.answer(usage=usage(0))
    for _ in range(40):
        world.wait(999)
        world.frame()
        world.wait(1)
        world.answer(usage=usage(0))
        world.summarise()
    codes = [one.code for one in world.notices(Trouble)]
    assert codes == ["prefix_cache_cold"]
