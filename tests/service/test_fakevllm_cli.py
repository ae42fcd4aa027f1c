"""``python -m onlooker.testing.fakevllm`` as a process of its own."""

from __future__ import annotations

import argparse
import asyncio
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from onlooker.bridges.model.openai_compat import OpenAICompat
from onlooker.bridges.testing.fakevllm.cli import main, parse_fault
from onlooker.errors import BridgeError
from onlooker.testing import Fault, FaultKind
from tests.bridges.material import broken, collect, prompt, request, text_of

pytestmark = [pytest.mark.service, pytest.mark.timeout(60)]


@asynccontextmanager
async def running(*arguments: str) -> AsyncIterator[tuple[Process, OpenAICompat]]:
    """The process and a backend for it."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "onlooker.testing.fakevllm", "--port", "0", *arguments),
        stdout=PIPE,
        stderr=PIPE,
    )
    assert process.stdout is not None
    try:
        line = (await process.stdout.readline()).decode()
        assert line.startswith("FakeVLLM serves "), line
        backend = OpenAICompat(line.split()[-1])
        yield process, backend
        await backend.aclose()
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_it_serves_until_it_is_told_to_stop() -> None:
    options = ("--model", "acme", "--max-model-len", "4096", "--block-size", "32")
    async with running(*options) as (process, backend):
        probe = await backend.probe()
        assert (probe.model, probe.limits.max_model_len) == ("acme", 4_096)
        assert "127.0.0.1" in backend._connection.where
        items = await collect(backend, request(prompt(("#respond",))))
        assert text_of(items) == "</response> I see a change now."
        process.send_signal(signal.SIGTERM)
        out, err = await process.communicate()
        assert (process.returncode, out, err) == (0, b"", b"")


async def test_replies_and_faults_come_from_the_command_line(tmp_path: Path) -> None:
    script = tmp_path / "script.txt"
    script.write_text("</response> one\n</response> two\n", encoding="utf-8")
    options = ("--script", str(script), "--fault", "busy@2", "--fault", "cut:1@4")
    async with running(*options) as (_, backend):
        assert text_of(await collect(backend, request())) == "</response> one"
        assert (await broken(backend, request()))[1].code == "busy"
        assert text_of(await collect(backend, request())) == "</response> two"
        assert (await broken(backend, request()))[1].code == "stream_cut"
        assert text_of(await collect(backend, request())) == "</silence>"


async def test_one_reply_for_every_decision() -> None:
    async with running("--reply", "</response> hi", "--api-key", "k") as (_, backend):
        with pytest.raises(BridgeError):
            await collect(backend, request())
        keyed = OpenAICompat(backend._connection.where, api_key="k")
        for _ in range(2):
            assert text_of(await collect(keyed, request())) == "</response> hi"
        await keyed.aclose()


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["--port", str(port)]) == 1
    assert f"port {port} cannot be used" in capsys.readouterr().err


def test_a_script_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--port", "0", "--script", "/no/such/file"]) == 2
    assert "/no/such/file cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("busy", (None, Fault(FaultKind.BUSY))),
        ("cut:3", (None, Fault(FaultKind.CUT, 3))),
        ("hang:2@5", (5, Fault(FaultKind.HANG, 2))),
    ],
)
def test_faults_are_named(text: str, expected: object) -> None:
    assert parse_fault(text) == expected


@pytest.mark.parametrize("text", ["", "nonsense", "cut:x", "busy@x"])
def test_an_unknown_fault_names_the_known_ones(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="engine-dead"):
        parse_fault(text)
