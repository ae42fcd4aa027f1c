"""The command line from outside: what it prints where, and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from onlooker.errors import ConfigError, OnlookerError
from onlooker.orchestrator.cli import app, run
from onlooker.orchestrator.cli import app as command_line
from onlooker.orchestrator.cli.app import print_error

pytestmark = pytest.mark.shell


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


Onlooker = Callable[..., Done]


@pytest.fixture
def onlooker(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Onlooker:
    """Runs one command line in an empty folder with no settings from outside."""
    for name in list(os.environ):
        if name.upper().startswith("ONLOOKER_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)

    def run_it(*arguments: str) -> Done:
        code = run(arguments)
        out, err = capfd.readouterr()
        return Done(code, out, err)

    return run_it


def refused(done: Done, code: str) -> str:
    """The one line on stderr; nothing was printed elsewhere."""
    assert done.code == 1
    assert done.out == ""
    lines = done.err.splitlines()
    assert len(lines) == 1, done.err
    assert lines[0].startswith(f"error[{code}]: "), done.err
    return lines[0]


def test_the_version_is_that_of_the_distribution(onlooker: Onlooker) -> None:
    done = onlooker("--version")
    assert done == Done(0, f"onlooker {version('onlooker')}\n", "")


def test_help_names_every_command(onlooker: Onlooker) -> None:
    done = onlooker("--help")
    assert done.code == 0
    for name in ("watch", "config", "replay", "bench"):
        assert name in done.out


def test_the_commands_are_those_the_documents_name() -> None:
    commands = typer.main.get_command(command_line).commands  # type: ignore[attr-defined]
    assert set(commands) >= {"watch", "config", "replay", "bench"}
    assert set(commands["bench"].commands) == {"core"}
    options = {option for parameter in commands["watch"].params for option in parameter.opts}
    assert options >= {
        *("--ask", "--at", "--model-url", "--model", "--dialect", "--fps", "--frames-per-tick"),
        *("--chunk-frames", "--persona", "--speed", "--json", "--report", "--record"),
    }


def test_typers_own_runner_finds_the_commands() -> None:
    result = CliRunner().invoke(app, ["config", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["cadence"]["period_ms"] == 1000


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("wathc",), "wathc"),
        (("watch",), "source"),
        (("watch", "x.mp4", "--fsp", "4"), "--fsp"),
        (("watch", "x.mp4", "--fps", "fast"), "--fps"),
        (("watch", "x.mp4", "--speed", "slow"), "slow"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_one_line_and_2(
    onlooker: Onlooker, arguments: tuple[str, ...], word: str
) -> None:
    done = onlooker(*arguments)
    assert done.code == 2
    assert done.out == ""
    (line,) = done.err.splitlines()
    assert line.startswith("error[usage]: ")
    assert word in line
    assert line.endswith("see onlooker --help")


def test_config_prints_what_is_in_force_and_no_secret(
    onlooker: Onlooker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONLOOKER__MODEL__API_KEY", "hush")
    monkeypatch.setenv("ONLOOKER__VIDEO__FPS", "4")
    done = onlooker("config")
    assert (done.code, done.err) == (0, "")
    assert tomllib.loads(done.out)["video"]["fps"] == 4.0
    assert "hush" not in done.out
    assert json.loads(onlooker("config", "--json").out)["model"]["api_key"] == "********"


def test_each_settings_problem_is_a_line(
    onlooker: Onlooker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONLOOKER__VIDEO__FPS", "0")
    monkeypatch.setenv("ONLOOKER__MODLE__URL", "x")
    done = onlooker("config")
    assert done.code == 1
    assert [line.partition(" ")[0] for line in done.err.splitlines()] == [
        "error[invalid_config]:"
    ] * 2


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--at", "soon=what"), "invalid_at", "--at '12s=TEXT'"),
        (("--at", "12s"), "invalid_at", "--at '12s=TEXT'"),
        (("--ask", "   "), "query_empty", "give --ask some words"),
        (("--ask", "x" * 100_000), "query_too_long", "100,000 characters, 4,000 is the most"),
        (("--at", "3s=" + "x" * 4_001), "query_too_long", "4,001"),
        (("--model-url", "localhost:8000"), "invalid_config", "must begin with http://"),
        (("--model", "Qwen3-VL"), "invalid_config", "give --model-url"),
        (("--backend", "openai_compat"), "invalid_config", "give --model-url"),
        (("--backend", "embedded", "--model-url", "http://x"), "invalid_config", "has no URL"),
        (("--dialect", "klingon"), "invalid_config", "klingon"),
        (("--persona", "pirate"), "invalid_config", "pirate"),
        (("--frames-per-tick", "5"), "invalid_config", "less than or equal to 4"),
        (("--fps", "0"), "invalid_config", "on the command line"),
        (("--config", "missing.toml"), "config_file", "check --config"),
        (("--report", "no/such/folder.html"), "report_not_writable", "no such file"),
        (("--report", "."), "report_not_writable", "is a folder"),
        (("--record", "no/such/folder.jsonl"), "record_not_writable", "no such file"),
        (("--report", "a", "--record", "a"), "same_file", "different names"),
    ],
)
def test_bad_input_is_one_typed_line_before_anything_starts(
    onlooker: Onlooker, tmp_path: Path, arguments: tuple[str, ...], code: str, words: str
) -> None:
    done = onlooker("watch", "clip.mp4", *arguments)
    assert words in refused(done, code)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_recording_is_not_overwritten(onlooker: Onlooker, tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_text("precious", encoding="utf-8")
    refused(onlooker("watch", "clip.mp4", "--record", "old.jsonl"), "recording_error")
    assert (tmp_path / "old.jsonl").read_text(encoding="utf-8") == "precious"


def test_a_missing_video_is_one_typed_line_and_leaves_no_report(
    onlooker: Onlooker, tmp_path: Path
) -> None:
    done = onlooker(
        "watch", "missing.mp4", "--ask", "hi", "--report", "r.html", "--record", "r.jsonl"
    )
    assert "missing.mp4 does not exist" in refused(done, "source_not_found")
    assert list(tmp_path.iterdir()) == []


def test_a_recording_that_is_none_is_one_typed_line(onlooker: Onlooker, tmp_path: Path) -> None:
    refused(onlooker("replay", "missing.jsonl"), "recording_error")
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    refused(onlooker("replay", "empty.jsonl"), "recording_error")


def test_an_error_has_a_line_for_each_problem_and_a_bug_its_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_error(ConfigError("one\ntwo"))
    assert capsys.readouterr().err == "error[invalid_config]: one\nerror[invalid_config]: two\n"
    bug = OnlookerError("this is a bug")
    bug.__cause__ = ZeroDivisionError("here")
    print_error(bug)
    err = capsys.readouterr().err
    assert err.startswith("error[internal_error]: this is a bug\n")
    assert "ZeroDivisionError: here" in err


def test_the_installed_command_starts_without_the_heavy_parts() -> None:
    program = (
        "import sys; from onlooker.orchestrator.cli import run; code = run(['--version']);"
        "heavy = {'cv2', 'httpx', 'jinja2', 'numpy', 'pydantic', 'fastapi'} & set(sys.modules);"
        "sys.exit(f'loaded {heavy}' if heavy else code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
