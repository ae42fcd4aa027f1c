"""A recording model server in a process of its own, reached over a loopback socket.

It is the fake vLLM: it checks every request, keeps a picture cache and a prefix cache of block
hashes, and reports ``cached_tokens`` from it. At the end it hands over what it was sent.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final

from bench.verdict import BLOCK_TOKENS
from onlooker.testing import FakeConfig, FakeVLLM, serve

MODEL: Final = "recorder"


@dataclass(frozen=True, slots=True)
class Received:
    """All that came over the sockets."""

    prompts: tuple[str, ...]
    """Message lists of the tick calls, in canonical form, in order."""
    summaries: int
    """Requests for a summary."""
    connections: int
    refused: tuple[str, ...]
    """Messages of error replies."""
    body_bytes: int
    """Of the tick calls' bodies, pictures included."""


class RecordingServer:
    """Handle of a server that runs; made by :func:`recording_server`."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self.url: str = pipe.recv()

    def stop(self) -> Received:
        """End the server and take what it was sent. Call it once."""
        self._pipe.send("stop")
        received: Received = self._pipe.recv()
        return received


@contextmanager
def recording_server(max_images: int = 256) -> Iterator[RecordingServer]:
    """A server for as long as the context is open."""
    # Not forked: a fork of a process with threads may hang, and newer Pythons warn of it.
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_run, args=(there, max_images), daemon=True)
    process.start()
    there.close()
    try:
        yield RecordingServer(here)
    finally:
        here.close()
        process.terminate()
        process.join()


def _run(pipe: Connection, max_images: int) -> None:
    config = FakeConfig(
        model=MODEL,
        max_model_len=131_072,
        max_images=max_images,
        block_tokens=BLOCK_TOKENS,
        max_logged=1_000_000,
    )
    asyncio.run(_record(pipe, FakeVLLM(config)))


async def _record(pipe: Connection, fake: FakeVLLM) -> None:
    async with serve(fake) as server:
        pipe.send(server.url)
        await asyncio.to_thread(pipe.recv)
        ticks = [one for one in fake.requests if not one.is_summary]
        pipe.send(
            Received(
                prompts=tuple(one.canonical().decode() for one in ticks),
                summaries=len(fake.requests) - len(ticks),
                connections=len(fake.connections),
                refused=tuple(fake.refused),
                body_bytes=sum(one.body_bytes for one in ticks),
            )
        )
