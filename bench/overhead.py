"""What a tick costs a client that writes its whole prompt anew, next to ours.

    python -m bench.overhead [--ticks 200] [--json FILE]

The usual way keeps the conversation as a list of messages with the pictures in it as data URLs,
and hands the list to a client library at every tick, which serialises all of it. That is done here
twice: with ``json.dumps`` and httpx, and, where the ``openai`` package is installed, with its
client. Ours is the session's core and model bridge, as in ``onlooker bench core``. All send the
same pictures, all of them at every tick, to a server in another process that swallows them.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import importlib
import importlib.util
import json
import random
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import httpx
from rich.console import Console

from onlooker.decision import GENERIC, system_prompt
from onlooker.orchestrator.bench_core import (
    FRAME_BYTES,
    FRAMES,
    FULL,
    REPLY,
    Spread,
    machine,
    measure_client,
    sink_server,
    table_of,
)

Messages = list[dict[str, Any]]
Send = Callable[[Messages], Awaitable[None]]

_MODEL: Final = "sink"


def _user_message(second: int) -> dict[str, Any]:
    data = base64.b64encode(random.Random(second).randbytes(FRAME_BYTES)).decode()
    return {
        "role": "user",
        "content": [
            {"type": "text", "text": GENERIC.text.time_label.format(seconds=f"{second}.0")},
            {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{data}"}},
        ],
    }


async def measure_whole_list(send: Send, ticks: int) -> list[float]:
    """CPU milliseconds of each tick whose prompt holds 90 to 100 pictures."""
    system = {"role": "system", "content": system_prompt(GENERIC, "default")}
    spent_ms: list[float] = []
    messages: Messages = []
    for tick in range(ticks):
        second = FULL + tick % (FRAMES - FULL + 1)
        if second == FULL:
            messages = [system]
            for n in range(FULL - 1):
                messages += [_user_message(n), {"role": "assistant", "content": REPLY}]
        shown = _user_message(second)
        start = time.process_time()
        messages.append(shown)
        await send(messages)
        messages.append({"role": "assistant", "content": REPLY})
        spent_ms.append((time.process_time() - start) * 1000)
    return spent_ms


@asynccontextmanager
async def httpx_client(url: str) -> AsyncIterator[Send]:
    """``json.dumps`` of everything, sent with httpx."""
    async with httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as client:

        async def send(messages: Messages) -> None:
            body = json.dumps({"model": _MODEL, "stream": True, "messages": messages})
            async with client.stream("POST", "/chat/completions", content=body) as response:
                async for _line in response.aiter_lines():
                    pass

        yield send


@asynccontextmanager
async def openai_client(url: str) -> AsyncIterator[Send]:
    """The ``openai`` package's client."""
    openai: Any = importlib.import_module("openai")
    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

        async def send(messages: Messages) -> None:
            stream = await client.chat.completions.create(
                model=_MODEL, messages=messages, stream=True
            )
            async for _event in stream:
                pass

        yield send


async def measure(url: str, ticks: int) -> dict[str, Spread]:
    """All clients, one after the other. ``ticks``: of each whole-list client."""
    ours = await measure_client(url, 5 * ticks)  # about one in seven is of a full chunk
    rows = {"onlooker, ms": Spread.of(ours.cpu_ms)}
    async with httpx_client(url) as send:
        rows["whole list, json.dumps and httpx, ms"] = Spread.of(
            await measure_whole_list(send, ticks)
        )
    if importlib.util.find_spec("openai") is not None:
        async with openai_client(url) as send:
            rows["whole list, openai client, ms"] = Spread.of(await measure_whole_list(send, ticks))
    return rows


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.overhead", description="CPU per tick by way of sending a prompt."
    )
    parser.add_argument("--ticks", type=int, default=200, help="ticks of each whole-list client")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    args = parser.parse_args(arguments)
    with sink_server() as url:
        rows = asyncio.run(measure(url, args.ticks))
    console = Console()
    console.print(table_of(rows, f"CPU of a tick with HTTP, {FULL} to {FRAMES} pictures"))
    console.print(machine(), style="dim")
    if args.json is not None:
        figures = {name: asdict(one) for name, one in rows.items()}
        args.json.write_text(json.dumps(figures, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
