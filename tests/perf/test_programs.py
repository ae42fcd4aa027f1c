"""The benchmark programs start, explain themselves, and come to figures in a tiny run."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import endurance, layouts, overhead
from onlooker.orchestrator import bench_core
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.perf

PROGRAMS = sorted(
    f"bench.{path.stem}"
    for path in (ROOT / "bench").glob("*.py")
    if "__main__" in path.read_text(encoding="utf-8")
)


def test_the_programs_are_these() -> None:
    assert PROGRAMS == ["bench.endurance", "bench.layouts", "bench.overhead"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_explains_itself(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", program, "--help"],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert f"python -m {program}" in done.stdout
    assert "--json FILE" in done.stdout


def test_bench_core_comes_to_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_core.main(1, json_path=tmp_path / "core.json") == 0
    assert "Cost of a tick" in capsys.readouterr().out
    figures = json.loads((tmp_path / "core.json").read_text())
    assert len(figures) == 7
    assert all(one["count"] > 0 and one["p50"] <= one["worst"] for one in figures.values())


def test_layouts_comes_to_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--ticks", "24", "--frames", "10", "--json", str(tmp_path / "layouts.json")]
    assert layouts.main(arguments) == 0
    assert "blind ticks" in capsys.readouterr().out
    figures = json.loads((tmp_path / "layouts.json").read_text())
    assert figures["onlooker"]["head_changes"] == 2
    assert figures["reference"]["head_changes"] == 4


def test_endurance_comes_to_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert endurance.main(["--hours", "0.02", "--json", str(tmp_path / "endurance.json")]) == 0
    assert "0 lost" in " ".join(capsys.readouterr().out.split())
    figures = json.loads((tmp_path / "endurance.json").read_text())
    assert len(figures["readings"]) == 4


def test_overhead_comes_to_figures() -> None:
    with bench_core.sink_server() as url:
        rows = asyncio.run(overhead.measure(url, 2))
    assert {"onlooker, ms", "whole list, json.dumps and httpx, ms"} <= rows.keys()
    assert all(one.count > 0 for one in rows.values())
