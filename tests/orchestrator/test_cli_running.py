"""Around a run: signals, files, the line that sums it up."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from onlooker.errors import ConfigError, OnlookerError, RecordingError
from onlooker.orchestrator.cli.running import Files, stopping_on_signals, sum_up
from onlooker.orchestrator.report import Timeline
from onlooker.orchestrator.watch import Ending, Outcome, WatchResult
from tests.orchestrator.sample_run import FACTS, decision, sample_timeline

pytestmark = pytest.mark.shell


def result(outcome: Outcome) -> WatchResult:
    return WatchResult(Ending(outcome), replace(FACTS, outcome=outcome.value))


def test_a_run_is_summed_up_in_one_line() -> None:
    assert sum_up(sample_timeline(), result(Outcome.COMPLETE)) == (
        "watched 29.8 s: 30 ticks (2 spoke, 25 silent, 1 delegated, 1 skipped, 1 failed, "
        "3 boundaries)"
    )
    one = Timeline()
    one.add(decision(1_000))
    assert sum_up(one, result(Outcome.INTERRUPTED)) == "interrupted after 1.0 s: 1 tick (1 silent)"
    assert sum_up(Timeline(), result(Outcome.FAILED)) == (
        "broken off after 0.0 s: 0 ticks (no decision)"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_the_first_signal_stops_in_good_order_and_gives_the_second_back(
    number: signal.Signals,
) -> None:
    before = signal.getsignal(number)
    stop = asyncio.Event()
    with stopping_on_signals(stop):
        assert signal.getsignal(number) != before
        os.kill(os.getpid(), number)
        await asyncio.wait_for(stop.wait(), 5)
        assert signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL)
    signal.signal(number, before)


def test_files_are_checked_before_anything_runs(tmp_path: Path) -> None:
    Files(None, None).check()
    Files(tmp_path / "r.html", tmp_path / "r.jsonl").check()
    with pytest.raises(ConfigError, match="same file"):
        Files(tmp_path / "r", tmp_path / "r").check()
    (tmp_path / "old").write_text("", encoding="utf-8")
    Files(tmp_path / "old", None).check()
    with pytest.raises(RecordingError, match="name a new file"):
        Files(None, tmp_path / "old").check()
    with pytest.raises(OnlookerError, match="cannot write the report"):
        Files(tmp_path, None).check()
