"""``onlooker watch`` as users run it: a process of its own, a model server on a real socket."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from onlooker.bridges.testing.fakevllm import FakeConfig, FakeVLLM, scripted, serve
from tests.orchestrator.sample_clip import make_clip

pytestmark = [pytest.mark.service, pytest.mark.timeout(120)]

QUIET = {
    name: value for name, value in os.environ.items() if not name.upper().startswith("ONLOOKER_")
}
ASK = ("--ask", "tell me when something red appears")


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    def notices(self, kind: str) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in self.out.splitlines()]
        return [notice for notice in found if notice["type"] == kind]


@dataclass(frozen=True)
class Desk:
    """A folder with a clip in it, from which ``onlooker`` is run."""

    folder: Path

    async def start(self, *arguments: str) -> Process:
        program = "from onlooker.orchestrator.cli import main; main()"
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", program, *arguments),
            cwd=self.folder,
            env=QUIET,
            stdout=PIPE,
            stderr=PIPE,
        )

    async def run(self, *arguments: str) -> Done:
        return await finish(await self.start(*arguments))


async def finish(process: Process) -> Done:
    out, err = await asyncio.wait_for(process.communicate(), 90)
    assert process.returncode is not None
    return Done(process.returncode, out.decode(), err.decode())


@asynccontextmanager
async def started(desk: Desk, *arguments: str) -> AsyncIterator[Process]:
    """A running ``onlooker``; killed if the test leaves it behind."""
    process = await desk.start(*arguments)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def lines_until(process: Process, kind: str, count: int = 1) -> list[dict[str, Any]]:
    """Notices of a ``--json`` run until ``count`` of that kind have come."""
    assert process.stdout is not None
    seen: list[dict[str, Any]] = []
    while sum(notice["type"] == kind for notice in seen) < count:
        line = await asyncio.wait_for(process.stdout.readline(), 60)
        assert line, "the run ended too soon"
        seen.append(json.loads(line))
    return seen


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    make_clip(tmp_path / "clip.avi", seconds=6)
    make_clip(tmp_path / "long.avi", seconds=60, fps=5)
    return Desk(tmp_path)


def one_error(done: Done, code: str) -> str:
    assert done.code == 1, done.err
    (line,) = done.err.splitlines()
    assert line.startswith(f"error[{code}]: "), line
    return line


async def test_a_whole_run_against_a_server(desk: Desk) -> None:
    fake = FakeVLLM(FakeConfig(), reply=scripted(["[SILENCE]"] * 3 + ["[RESPOND] Red now."]))
    async with serve(fake) as server:
        done = await desk.run(
            *("watch", "clip.avi", *ASK, "--model-url", server.url, "--speed", "max", "--json"),
            *("--fps", "2", "--chunk-frames", "6", "--report", "r.html", "--record", "r.jsonl"),
        )
    assert (done.code, done.err) == (0, "")
    spoken = [d for d in done.notices("DecisionMade") if d["action"] == "respond"]
    assert [(d["at_ms"], d["text"]) for d in spoken] == [(3_000, "Red now.")]
    assert done.notices("BoundaryCrossed")
    assert done.notices("SessionEnded")[0]["reason"] == "source_ended"
    page = (desk.folder / "r.html").read_text(encoding="utf-8")
    assert "Red now." in page
    assert "Stand-in" not in page
    replayed = await desk.run("replay", "r.jsonl")
    assert replayed.code == 0
    assert "byte for byte" in replayed.out


async def test_a_changed_recording_is_told_apart(desk: Desk) -> None:
    async with serve(FakeVLLM()) as server:
        where = ("--model-url", server.url, "--speed", "max")
        await desk.run("watch", "clip.avi", *ASK, *where, "--record", "r.jsonl")
    path = desk.folder / "r.jsonl"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"action":"silence"', '"action":"sirence"', 1), encoding="utf-8")
    done = await desk.run("replay", "r.jsonl")
    assert done.code == 1
    assert "different: 1 of" in done.out
    assert "sirence" in done.out


async def web_page(scope: Any, receive: Any, send: Any) -> None:
    """An ASGI application that is a web site."""
    headers = [(b"content-type", b"text/html")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"<html>Welcome</html>"})


@pytest.mark.parametrize("app", [web_page, FakeVLLM(FakeConfig(api_key="right"))])
async def test_a_server_that_is_none_or_is_locked_begins_nothing(desk: Desk, app: Any) -> None:
    async with serve(app) as server:
        done = await desk.run(
            "watch", "clip.avi", *ASK, "--model-url", server.url, "--report", "r.html"
        )
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert done.err.startswith("error[")
    assert not (desk.folder / "r.html").exists()
    assert done.out == ""


async def test_a_wrong_url_and_a_missing_model_are_one_line_each(desk: Desk) -> None:
    async with serve(FakeVLLM()) as server:
        url = server.url
        line = one_error(
            await desk.run("watch", "clip.avi", "--model-url", url, "--model", "other"),
            "model_not_found",
        )
        assert "tiny" in line or "other" in line
    done = await desk.run("watch", "clip.avi", "--model-url", url)
    assert done.code == 1
    assert done.err.count("\n") == 1


async def test_ctrl_c_finishes_report_and_recording_and_exits_130(desk: Desk) -> None:
    async with serve(FakeVLLM()) as server:
        arguments = (
            *("watch", "long.avi", *ASK, "--model-url", server.url, "--json", "--period-ms", "200"),
            *("--fps", "5", "--report", "r.html", "--record", "r.jsonl"),
        )
        async with started(desk, *arguments) as process:
            await lines_until(process, "DecisionMade", 3)
            process.send_signal(signal.SIGINT)
            done = await finish(process)
    assert (done.code, done.err) == (130, "")
    assert done.notices("SessionEnded")[0]["reason"] == "interrupted"
    page = (desk.folder / "r.html").read_text(encoding="utf-8")
    assert "The run was interrupted." in page
    replayed = await desk.run("replay", "r.jsonl")
    assert replayed.code == 0
    assert "note:" not in replayed.out


async def test_c28_a_server_that_is_killed_and_restarted_costs_ticks_and_no_query(
    desk: Desk,
) -> None:
    first = FakeVLLM()
    arguments: tuple[str, ...]
    async with serve(first) as server:
        port = server.port
        arguments = (
            *("watch", "long.avi", *ASK, "--model-url", server.url, "--json", "--period-ms", "200"),
            *("--fps", "5", "--report", "r.html"),
        )
        process = await desk.start(*arguments)
        await lines_until(process, "DecisionMade", 3)
    try:
        failed = await lines_until(process, "Trouble")
        second = FakeVLLM(reply=scripted(["[RESPOND] Back again."]))
        async with serve(second, port=port):
            after = await lines_until(process, "ResponseEnded")
            process.send_signal(signal.SIGINT)
            done = await finish(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert done.code == 130
    assert [n["source"] for n in failed if n["type"] == "DecisionMade"][-1] in {"failed", "model"}
    spoken = [n["text"] for n in [*failed, *after] if n["type"] == "ResponseEnded"]
    assert spoken == ["Back again."]
    texts = [text for message in second.requests[0].messages for text in message.texts]
    assert ASK[1] in "\n".join(texts)


async def test_a_server_that_stays_away_fails_the_run_with_a_complete_report(desk: Desk) -> None:
    async with serve(FakeVLLM()) as server:
        arguments = (
            *("watch", "clip.avi", *ASK, "--model-url", server.url, "--json", "--period-ms", "200"),
            *("--fps", "5", "--report", "r.html"),
        )
        process = await desk.start(*arguments)
        await lines_until(process, "DecisionMade", 2)
    done = await finish(process)
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "the model did not answer the last tick" in done.err
    assert "The run was broken off." in (desk.folder / "r.html").read_text(encoding="utf-8")


async def test_a_reader_that_leaves_early_ends_the_run_quietly(desk: Desk) -> None:
    async with serve(FakeVLLM()) as server:
        where = ("--model-url", server.url, "--period-ms", "100")
        async with started(desk, "watch", "long.avi", *ASK, *where, "--json") as process:
            await lines_until(process, "DecisionMade")
            assert process.stdout is not None
            process.stdout._transport.close()  # type: ignore[attr-defined]
            assert await asyncio.wait_for(process.wait(), 60) == 130
            assert process.stderr is not None
            assert await process.stderr.read() == b""
