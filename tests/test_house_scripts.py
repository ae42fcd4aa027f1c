"""The scripts behind the Makefile, and the entry points that CI and people type."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.source_tree import ROOT, script

pytestmark = pytest.mark.shell


def test_the_demo_without_its_clip_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    demo = script("demo")
    monkeypatch.setattr(demo.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["demo.py"])
    assert demo.main() == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: the demo's clip is not installed")
    assert "requirements/media.txt" in line


def test_the_demo_asks_for_chunks_small_enough_to_cross_two_boundaries() -> None:
    command = script("demo").watch_command(Path("clip.mp4"), "max", Path("out.html"))
    options = dict(zip(command[3::2], command[4::2], strict=True))
    seconds, frames = 10, int(options["--fps"]) * 10
    assert frames // int(options["--chunk-frames"]) > 2, f"{frames} frames in {seconds} s"
    assert options["--ask"] == "tell me when a bicycle appears"
    assert options["--speed"] == "max"
    assert options["--report"] == "out.html"


def test_the_mutation_score_counts_what_no_test_reaches_as_alive() -> None:
    stats = {"killed": 80, "timeout": 10, "survived": 7, "no_tests": 3, "skipped": 5}
    assert script("mutants").score(stats).startswith("mutation score 90.0 %: 90 of 100 killed")
    none = {"killed": 0, "timeout": 0, "survived": 0, "no_tests": 0}
    assert "0 of 0" in script("mutants").score(none)


def test_a_large_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(b"x")
    large.write_bytes(bytes(512 * 1024 + 1))
    module = script("large_files")
    monkeypatch.setattr(sys, "argv", ["large_files.py", str(small), str(large)])
    assert module.main() == 1
    assert "large: 524289 bytes" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="needs make and a POSIX shell")
def test_make_without_a_working_python_says_so_in_one_line(tmp_path: Path) -> None:
    made = tmp_path / "venv"
    done = subprocess.run(
        ["make", f"VENV={made}", "PYTHON=/nonexistent", f"{made}/.made"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode != 0
    assert done.stderr.startswith("error: no working Python >= 3.11")
    assert not made.exists()


def test_the_ci_script_is_executable_and_parses() -> None:
    run = ROOT / ".ci" / "run"
    assert os.access(run, os.X_OK)
    assert subprocess.run(["bash", "-n", str(run)], check=False, timeout=60).returncode == 0


def test_every_weight_and_clip_is_pinned_by_hash() -> None:
    for path in sorted((ROOT / "requirements").glob("*.txt")):
        lines = path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
        for line in filter(None, (line.split("#")[0].strip() for line in lines)):
            assert "==" in line, f"{path.name}: {line}"
            assert "--hash=sha256:" in line, f"{path.name}: {line}"
