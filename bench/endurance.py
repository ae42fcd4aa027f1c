"""Hours of adversarial chatter on the virtual clock: what grows, and what is lost?

    python -m bench.endurance [--hours 2] [--limit-tokens 131072] [--frames 100] [--json FILE]

One session, the real actor around the real core, on a clock that is moved by hand. A picture a
second; a model that talks, delegates, babbles and fails, also in the middle of a reply; a user who
asks, asks the same again, cancels and writes control markers; a summariser that writes too much
and fails now and then. At every reading: the longest prompt so far, the resident set, tasks, open
files, and what memory holds. In the end every query and reply must be found (``ledger.py``).

7,200 ticks are two hours. The exit code is 1 when a bound was broken.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import hashlib
import json
import os
import sys
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import psutil
from rich.console import Console
from rich.table import Table

from bench.chatter import FRAME_TOKENS, ChatterModel, ChatterUser
from bench.ledger import Ledger
from onlooker.decision import GENERIC, system_prompt
from onlooker.memory import MemorySettings, resolve
from onlooker.orchestrator import events as e
from onlooker.orchestrator.clock import MediaClock
from onlooker.orchestrator.config import CoreConfig
from onlooker.orchestrator.core import SessionCore
from onlooker.orchestrator.frames import FrameStore
from onlooker.orchestrator.notices import BoundaryCrossed, MemoryGauged, Notice, Trouble
from onlooker.orchestrator.session import Session
from onlooker.types import Ms, ServerLimits

MAX_GROWTH_MB: Final = 8.0
"""Of the resident set, from a quarter of the run to its end."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was seen at one moment."""

    at_s: int
    """Stream time, seconds."""
    largest_prompt: int
    """Tokens, as the model counted them, of the longest prompt so far."""
    rss_mb: float
    tasks: int
    files: int
    frames_held: int
    mids: int
    blocks: int
    qa_entries: int
    cpu_s: float
    """CPU time of this process since the start."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to."""

    readings: tuple[Reading, ...]
    tick_calls: int
    summary_calls: int
    boundaries: int
    troubles: int
    over_limit: int
    """Prompts that the model refused as too long."""
    budget_tokens: int
    """Most tokens a prompt may have."""
    queries: int
    replies: int
    found: dict[str, int]
    """Where all of them are in the end; see :meth:`bench.ledger.Ledger.account`."""
    unsummarised: dict[str, int]
    """By kind: those that whoever wrote the summary of their range was not shown."""
    cpu_s: float
    wall_s: float

    @property
    def growth_mb(self) -> float:
        """Of the resident set, from a quarter of the run to its end."""
        return self.readings[-1].rss_mb - self.readings[(len(self.readings) - 1) // 4].rss_mb

    def broken(self) -> list[str]:
        """The bounds that did not hold, in words."""
        first, last = self.readings[0], self.readings[-1]
        claims = {
            f"{self.over_limit} prompts were too long": self.over_limit > 0,
            "a prompt was over budget": last.largest_prompt > self.budget_tokens,
            f"{self.growth_mb:.1f} MB of growth": self.growth_mb > MAX_GROWTH_MB,
            "the number of tasks changed": first.tasks != last.tasks,
            "the number of open files changed": first.files != last.files,
            f"{self.found['lost']} queries or replies are lost": self.found["lost"] > 0,
            "queries were not shown to the summariser": self.unsummarised.get("query", 0) > 0,
        }
        return [words for words, is_broken in claims.items() if is_broken]


class Endurance:
    """One long session. Call :meth:`run` once.

    Args:
        limit_tokens: what the server holds of prompt and reply.
        frames: pictures in a full chunk.
        seed: of all chatter.
    """

    def __init__(self, limit_tokens: int, frames: int, seed: int = 1) -> None:
        limits = ServerLimits(limit_tokens, 2 * frames)
        self.model, self.notes = ChatterModel(limits, seed), ChatterModel(limits, seed + 1)
        self.user = ChatterUser(seed + 2)
        memory = resolve(
            MemorySettings(frame_tokens=FRAME_TOKENS),
            limits,
            GENERIC.text,
            default_frames=frames,
            max_reply_tokens=GENERIC.tick_sampling.max_tokens,
        )
        self.core = SessionCore(CoreConfig(GENERIC, system_prompt(GENERIC, "default"), memory))
        self.clock, self.store = MediaClock(), FrameStore()
        self.ledger = Ledger(memory.query_chars)
        self.readings: list[Reading] = []
        self._gauge: MemoryGauged | None = None
        self._boundaries = self._troubles = 0
        self._process = psutil.Process(os.getpid())

    def hear(self, notice: Notice) -> None:
        if isinstance(notice, MemoryGauged):
            self._gauge = notice
        elif isinstance(notice, BoundaryCrossed):
            self._boundaries += 1
        elif isinstance(notice, Trouble):
            self._troubles += 1

    async def run(self, ticks: int, every: int) -> Outcome:
        """``ticks`` seconds of stream time, a reading at each ``every`` of them."""
        wall_s, cpu_s = time.monotonic(), time.process_time()
        session = Session(
            self.core,
            clock=self.clock,
            model=self.model,
            summariser=self.notes,
            store=self.store,
            sinks=[self.hear],
            recorder=self.ledger,
        )
        with closing(self.ledger):
            async with session:
                for second in range(ticks):
                    await self._second(session, second)
                    if (second + 1) % every == 0:
                        self._read(second + 1, time.process_time() - cpu_s)
                spent = (time.process_time() - cpu_s, time.monotonic() - wall_s)
                return self._outcome(*spent)

    async def _second(self, session: Session, second: int) -> None:
        self.clock.advance(Ms(second * 1000))
        data = hashlib.sha256(str(second).encode()).digest() * 32
        frame = self.store.put(
            data, capture_ms=Ms(second * 1000), width=448, height=448, media_type="image/jpeg"
        )
        session.post(e.FrameArrived(frame))
        for event in self.user.second():
            session.post(event)
        await session.settled()

    def _read(self, at_s: int, cpu_s: float) -> None:
        gauge = self._gauge
        if gauge is None:
            raise AssertionError("no tick was committed before the first reading")
        self.core.memory.integrity()
        gc.collect()
        self.readings.append(
            Reading(
                at_s=at_s,
                largest_prompt=self.model.largest,
                rss_mb=self._process.memory_info().rss / 1e6,
                tasks=len(asyncio.all_tasks()),
                files=self._process.num_fds(),
                frames_held=len(self.store),
                mids=gauge.mids,
                blocks=gauge.blocks,
                qa_entries=gauge.qa_entries,
                cpu_s=cpu_s,
            )
        )

    def _outcome(self, cpu_s: float, wall_s: float) -> Outcome:
        return Outcome(
            readings=tuple(self.readings),
            tick_calls=self.model.calls,
            summary_calls=self.notes.calls,
            boundaries=self._boundaries,
            troubles=self._troubles,
            over_limit=self.model.over_limit + self.notes.over_limit,
            budget_tokens=self.core.memory.config.max_prompt_tokens,
            queries=self.ledger.queries,
            replies=self.ledger.replies,
            found=self.ledger.account(self.core.memory),
            unsummarised=dict(self.ledger.unsummarised),
            cpu_s=cpu_s,
            wall_s=wall_s,
        )


def report(outcome: Outcome, console: Console) -> None:
    table = Table(title=f"{len(outcome.readings)} readings, {outcome.budget_tokens:,} tokens")
    for name in Reading.__dataclass_fields__:
        table.add_column(name.replace("_", " "), justify="right")
    for one in outcome.readings:
        table.add_row(*(f"{value:,.1f}".removesuffix(".0") for value in asdict(one).values()))
    console.print(table)
    places = ", ".join(f"{count:,} {place}" for place, count in outcome.found.items())
    unseen = outcome.unsummarised.get("query", 0), outcome.unsummarised.get("reply", 0)
    console.print(
        f"{outcome.tick_calls:,} tick calls, {outcome.summary_calls:,} summary calls, "
        f"{outcome.boundaries:,} boundaries, {outcome.troubles:,} troubles, "
        f"{outcome.over_limit} prompts over the limit\n"
        f"{outcome.queries:,} queries and {outcome.replies:,} replies: {places}; "
        f"not shown to the summariser: {unseen[0]} queries, {unseen[1]} replies\n"
        f"growth {outcome.growth_mb:.1f} MB, CPU {outcome.cpu_s:.1f} s, "
        f"real time {outcome.wall_s:.1f} s"
    )
    for words in outcome.broken():
        console.print(f"broken: {words}", style="bold red")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.endurance", description="Hours of chatter on the virtual clock."
    )
    parser.add_argument("--hours", type=float, default=2.0, help="stream time")
    parser.add_argument("--limit-tokens", type=int, default=131_072, help="the server's limit")
    parser.add_argument("--frames", type=int, default=100, help="pictures in a full chunk")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    args = parser.parse_args(arguments)
    ticks = max(60, round(args.hours * 3600))
    session = Endurance(args.limit_tokens, args.frames)
    outcome = asyncio.run(session.run(ticks, every=min(3600, ticks // 4)))
    report(outcome, Console())
    if args.json is not None:
        args.json.write_text(json.dumps(asdict(outcome), indent=2))
    return 1 if outcome.broken() else 0


if __name__ == "__main__":
    sys.exit(main())
