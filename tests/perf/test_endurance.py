"""A few minutes of adversarial chatter: bounds hold and nothing is lost. Counts, never time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from bench.chatter import ChatterModel, ChatterUser, count_tokens
from bench.endurance import Endurance, Outcome
from bench.ledger import PLACES, Entry, Finder, Ledger
from onlooker.bridges.base import ModelRequest
from onlooker.decision import GENERIC
from onlooker.memory import Memory
from onlooker.orchestrator import commands as c
from onlooker.orchestrator import events as e
from onlooker.orchestrator.bench_core import bench_config
from onlooker.orchestrator.notices import InstructionChanged, SummaryChanged
from onlooker.types import (
    FrameRef,
    FrameUuid,
    InstructionId,
    Lifetime,
    Ms,
    SamplingParams,
    ServerLimits,
    TickIndex,
    VideoState,
)

pytestmark = pytest.mark.perf

LIMIT = 16_384


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    """Twelve minutes against a server that holds little."""
    return asyncio.run(Endurance(LIMIT, 30).run(720, every=180))


def test_every_second_is_looked_at_and_chunks_roll_over(outcome: Outcome) -> None:
    assert outcome.tick_calls >= 720
    assert outcome.boundaries >= 20
    assert [one.at_s for one in outcome.readings] == [180, 360, 540, 720]


def test_the_chatter_is_adversarial(outcome: Outcome) -> None:
    assert outcome.troubles >= 10
    assert outcome.queries >= 10
    assert outcome.replies >= 200


def test_the_prompt_is_never_over_budget(outcome: Outcome) -> None:
    assert outcome.over_limit == 0
    assert outcome.readings[-1].largest_prompt <= outcome.budget_tokens < LIMIT


def test_c26_tasks_files_pictures_and_tiers_stay_bounded(outcome: Outcome) -> None:
    assert len({one.tasks for one in outcome.readings}) == 1
    assert len({one.files for one in outcome.readings}) == 1
    assert max(one.frames_held for one in outcome.readings) <= 2 * 30
    assert max(one.mids for one in outcome.readings) <= 15
    assert max(one.blocks for one in outcome.readings) <= 16
    assert outcome.growth_mb < 8


def test_no_query_or_reply_is_lost(outcome: Outcome) -> None:
    assert outcome.found["lost"] == 0
    assert sum(outcome.found.values()) == outcome.queries + outcome.replies
    assert outcome.found["prompt"] > 0
    assert outcome.found["summary"] > 0
    assert outcome.unsummarised.get("query", 0) == 0
    assert outcome.broken() == []


def test_with_room_for_it_nothing_is_forgotten() -> None:
    outcome = asyncio.run(Endurance(131_072, 100).run(720, every=180))
    assert outcome.found["lost"] == outcome.found["forgotten"] == 0
    assert outcome.broken() == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"over_limit": 2}, "2 prompts were too long"),
        ({"budget_tokens": 10}, "a prompt was over budget"),
        ({"found": {"lost": 1}}, "1 queries or replies are lost"),
        ({"unsummarised": {"query": 1}}, "queries were not shown to the summariser"),
    ],
)
def test_a_broken_bound_is_said(outcome: Outcome, change: dict[str, object], words: str) -> None:
    assert replace(outcome, **change).broken() == [words]  # type: ignore[arg-type]


def test_growth_is_said(outcome: Outcome) -> None:
    first, *rest = outcome.readings
    last = replace(rest.pop(), rss_mb=first.rss_mb + 9, tasks=first.tasks + 1, files=99)
    broken = replace(outcome, readings=(first, *rest, last)).broken()
    assert broken == [
        "9.0 MB of growth",
        "the number of tasks changed",
        "the number of open files changed",
    ]


# -- the ledger -------------------------------------------------------------------------------


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with closing(Ledger(query_chars=100)) as made:
        yield made


def _armed(at_ms: int, text: str) -> c.Emit:
    return c.Emit(InstructionChanged(InstructionId("q"), Ms(at_ms), "armed", text))


def _summarise(start_ms: int, end_ms: int, shown: str) -> list[c.Command]:
    notice = SummaryChanged(
        "chunk1", Ms(end_ms), "chunk", "requested", Ms(start_ms), Ms(end_ms), ""
    )
    call = c.Summarise("chunk1", (shown.encode(),), SamplingParams(), Ms(99_000))
    return [c.Emit(notice), call]


def _record(ledger: Ledger, *commands: c.Command) -> None:
    ledger.record(Ms(0), e.TimerFired(), commands)


def test_the_ledger_notices_what_a_summary_was_not_shown(ledger: Ledger) -> None:
    _record(ledger, _armed(1000, "red car"), _armed(2000, "blue car"))
    _record(ledger, *_summarise(0, 5000, "Asked: red car"))
    assert not ledger.unsummarised, "what a tick shows late comes with the next range"
    _record(ledger, *_summarise(5000, 9000, "nothing"))
    assert ledger.unsummarised == {"query": 1}


def test_the_ledger_takes_a_late_showing(ledger: Ledger) -> None:
    _record(ledger, _armed(2000, "blue car"))
    _record(ledger, *_summarise(0, 5000, "nothing"), *_summarise(5000, 9000, "Asked: blue car"))
    assert not ledger.unsummarised


def test_the_account_names_what_memory_does_not_hold(ledger: Ledger) -> None:
    _record(ledger, _armed(0, "tell me when it rains"), _armed(0, "never handed on"))
    found = ledger.account(_asked("tell me when it rains"))
    assert found == dict.fromkeys(PLACES, 0) | {"prompt": 1, "lost": 1}


def _asked(text: str) -> Memory:
    """A memory with one committed tick that shows a query and says something."""
    memory = Memory(bench_config().memory, GENERIC.text)
    memory.arm(InstructionId("q"), text, Lifetime(), Ms(0))
    frame = FrameRef(FrameUuid("0" * 64), Ms(0), 448, 448, 1)
    memory.begin_tick(TickIndex(0), Ms(0), [frame], VideoState.FRESH)
    memory.commit_tick(GENERIC.text.respond.format(text="It is dry."))
    return memory


def test_a_reply_is_found_by_its_words_and_its_tick() -> None:
    finder = Finder(_asked("tell me when it rains"))
    assert finder.find(Entry("reply", 0, "It is dry.")) == "prompt"
    assert finder.find(Entry("reply", 1000, "It is dry.")) == "lost"
    assert finder.find(Entry("reply", 0, "It is wet.")) == "lost"


# -- the chatter ------------------------------------------------------------------------------


async def test_the_same_seed_chatters_the_same() -> None:
    async def said(seed: int) -> list[str]:
        model = ChatterModel(ServerLimits(LIMIT, 64), seed)
        request = ModelRequest("t1", (b"[]",), SamplingParams(), 1)
        try:
            return [str(one) async for one in model.stream(request, lambda uuid: b"")]
        except Exception as error:
            return [str(error)]

    assert await said(5) == await said(5)
    first, second = ChatterUser(3), ChatterUser(3)
    assert [first.second() for _ in range(100)] == [second.second() for _ in range(100)]


def test_the_chatter_counts_pictures_and_text() -> None:
    frame = FrameRef(FrameUuid("0" * 64), Ms(0), 448, 448, 1)
    request = ModelRequest("t1", (b"x" * 490, frame), SamplingParams(), 1)
    assert count_tokens(request) == 200 + 100
