"""How often does the prompt's head change? Ours and the reference's layout, side by side.

    python -m bench.layouts [--http] [--ticks 330] [--frames 100] [--summary-ms 200] [--json FILE]

Both layouts see the same pictures, one a second, the same question, the same silences, and
summaries that take the same time. Every prompt is kept in canonical form and judged
(``verdict.py``): head changes, those of them inside a chunk, ticks blind to a closed chunk, and
what a prefix cache can serve.

Without ``--http`` the pure core is driven in this process. With it, the real session runs on a
clock moved by hand, every prompt goes over a socket to a recording server in another process
(``over_http.py``), and its prefix cache has the last word.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.over_http import ours_over_http, reference_over_http
from bench.pictures import picture
from bench.reference import QUERY, SUMMARY, as_canonical, reference_prompts
from bench.verdict import Verdict, judge
from onlooker.decision import JOYVL, system_prompt
from onlooker.memory import MemorySettings, resolve
from onlooker.orchestrator import commands as c
from onlooker.orchestrator import events as e
from onlooker.orchestrator.config import CoreConfig
from onlooker.orchestrator.core import SessionCore
from onlooker.types import InstructionId, Ms, ServerLimits, canonical_bytes


def core_config(frames: int) -> CoreConfig:
    """Chunks of ``frames`` pictures whose summaries are asked for a fixed tenth early."""
    limits = ServerLimits(max_model_len=131_072, max_images=256)
    settings = MemorySettings(chunk_frames=frames, lead=frames // 10, fixed_lead=True)
    memory = resolve(settings, limits, JOYVL.text, default_frames=frames, max_reply_tokens=256)
    return CoreConfig(JOYVL, system_prompt(JOYVL, "default"), memory)


class Driver:
    """Plays the shell: one picture a second, silence at once, summaries after ``summary_ms``."""

    def __init__(self, frames: int, summary_ms: int) -> None:
        self.core = SessionCore(core_config(frames))
        self.prompts: list[str] = []
        self._summary_ms = summary_ms
        self._due: list[tuple[int, str]] = []
        self._done = 0
        self._take(self.core.handle(e.SessionOpened(), Ms(0)), 0)

    def second(self, tick: int) -> None:
        now = tick * 1000
        self._finish_summaries(now)
        self._send(e.FrameArrived(picture(tick).ref), now)
        if tick == 0:
            self._send(e.QueryArrived(InstructionId("q"), QUERY), now)
        self._send(e.TimerFired(), now)

    def _finish_summaries(self, now: int) -> None:
        for due, job_id in [one for one in self._due if one[0] <= now]:
            self._due.remove((due, job_id))
            self._send(e.SummaryDone(job_id, SUMMARY.format(n=self._done)), due)
            self._done += 1

    def _send(self, event: e.Event, now: int) -> None:
        self._take(self.core.handle(event, Ms(now)), now)

    def _take(self, commands: list[c.Command], now: int) -> None:
        for one in commands:
            if isinstance(one, c.CallModel):
                self.prompts.append(canonical_bytes(one.messages).decode())
                self._send(e.ModelDelta(one.call_id, JOYVL.text.silence), now)
                self._send(e.ModelDone(one.call_id, "stop"), now)
            elif isinstance(one, c.Summarise):
                self._due.append((now + self._summary_ms, one.job_id))


def seconds_of(ticks: int) -> dict[str, int]:
    """The second of each picture, by uuid."""
    return {picture(tick).ref.uuid: tick for tick in range(ticks)}


def compare(ticks: int, frames: int, summary_ms: int) -> dict[str, Verdict]:
    """Both layouts over the same seconds, in this process."""
    driver = Driver(frames, summary_ms)
    for tick in range(ticks):
        driver.second(tick)
    theirs = map(as_canonical, reference_prompts(ticks, frames, summary_ms))
    seconds = seconds_of(ticks)
    return {
        "onlooker": judge(driver.prompts, seconds),
        "reference": judge(theirs, seconds),
    }


def compare_over_http(ticks: int, frames: int, summary_ms: int) -> dict[str, Verdict]:
    """Both layouts over the same seconds, each against a recording server of its own."""
    ours = asyncio.run(ours_over_http(core_config(frames), ticks, summary_ms))
    theirs = asyncio.run(reference_over_http(ticks, frames, summary_ms))
    seconds = seconds_of(ticks)
    return {
        name: judge(run.received.prompts, seconds, run.usage)
        for name, run in (("onlooker", ours), ("reference", theirs))
    }


def table_of(verdicts: Mapping[str, Verdict], title: str) -> Table:
    table = Table(title=title)
    table.add_column("")
    for name in verdicts:
        table.add_column(name, justify="right")
    rows = {
        "ticks": [f"{one.ticks:,}" for one in verdicts.values()],
        "boundaries": [str(one.boundaries) for one in verdicts.values()],
        "head changes": [str(one.head_changes) for one in verdicts.values()],
        "… inside a chunk": [str(one.mid_chunk) for one in verdicts.values()],
        "blind ticks": [str(one.blind_ticks) for one in verdicts.values()],
        "characters that stood before": [f"{one.reused:.2%}" for one in verdicts.values()],
    }
    caches = [one.cache for one in verdicts.values() if one.cache is not None]
    if caches:
        rows |= {
            "prompt tokens from the cache": [f"{one.cached:.2%}" for one in caches],
            "ticks inside a chunk short of it": [str(one.short_ticks) for one in caches],
            "most tokens computed again there": [f"{one.most_missed:,}" for one in caches],
        }
    for name, figures in rows.items():
        table.add_row(name, *figures)
    return table


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.layouts", description="Head changes by prompt layout."
    )
    parser.add_argument("--http", action="store_true", help="send every prompt over a socket")
    parser.add_argument("--ticks", type=int, default=330, help="ticks, one a second")
    parser.add_argument("--frames", type=int, default=100, help="pictures in a full chunk")
    parser.add_argument("--summary-ms", type=int, default=200, help="time a summary takes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    args = parser.parse_args(arguments)
    run = compare_over_http if args.http else compare
    verdicts = run(args.ticks, args.frames, args.summary_ms)
    where = "over HTTP" if args.http else "in process"
    title = f"{args.frames} pictures a chunk, summaries in {args.summary_ms} ms, {where}"
    Console().print(table_of(verdicts, title))
    if args.json is not None:
        figures = {name: asdict(one) for name, one in verdicts.items()}
        args.json.write_text(json.dumps(figures, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
