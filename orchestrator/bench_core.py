"""What Onlooker itself costs per tick: ``onlooker bench core``.

Over ticks of a chunk that holds 90 to 100 pictures and rolls over as usual:

* *core*: everything the pure core does for one tick: take the frame, begin the tick, build the
  body segments, read the reply, commit; and, apart, the part up to the segments, and the same of
  the ticks that cross a boundary;
* *allocations*: blocks that a tick leaves behind, and the most bytes it held meanwhile;
* *client*: CPU of this process for a whole tick with HTTP, every picture's bytes in every request,
  against a server in another process that swallows the body.

Times are CPU times of this process, so that a busy machine blurs them less; nothing is asserted
here.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import multiprocessing
import platform
import random
import socket
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from onlooker.bridges.base import ModelRequest
from onlooker.bridges.model.openai_compat import OpenAICompat
from onlooker.decision import GENERIC, system_prompt
from onlooker.memory import MemorySettings, resolve
from onlooker.orchestrator import commands as c
from onlooker.orchestrator import events as e
from onlooker.orchestrator.config import CoreConfig
from onlooker.orchestrator.core import SessionCore
from onlooker.types import FrameRef, FrameUuid, InstructionId, Ms, ServerLimits

FRAMES: Final = 100
FULL: Final = 90
"""A tick counts as one of a full chunk from this many pictures in its prompt."""
FRAME_BYTES: Final = 40_000
REPLY: Final = GENERIC.text.silence


@dataclass(frozen=True, slots=True)
class Spread:
    """Percentiles of one figure."""

    p50: float
    p99: float
    worst: float
    count: int

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        ordered = sorted(values)
        last = len(ordered) - 1
        return cls(
            ordered[round(0.50 * last)], ordered[round(0.99 * last)], ordered[-1], len(ordered)
        )


@dataclass(slots=True)
class CoreRun:
    """Measurements of the core alone."""

    segments_ms: list[float] = field(default_factory=list)
    """Frame and tick to the call's segments, chunk at least :data:`FULL` pictures."""
    tick_ms: list[float] = field(default_factory=list)
    """The same with the reply read and the tick committed."""
    boundary_ms: list[float] = field(default_factory=list)
    """Frame and tick to segments where the tick crosses a boundary: a new head."""
    kept_blocks: list[float] = field(default_factory=list)
    peak_bytes: list[float] = field(default_factory=list)


@dataclass(slots=True)
class ClientRun:
    """Measurements of whole ticks with HTTP, chunk at least :data:`FULL` pictures."""

    cpu_ms: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    """Pictures of the tick's body, encoded."""


def bench_config() -> CoreConfig:
    """Chunks of 100 pictures, lead fixed at 10."""
    memory = resolve(
        MemorySettings(chunk_frames=FRAMES, lead=10, fixed_lead=True),
        ServerLimits(max_model_len=65_536, max_images=256),
        GENERIC.text,
        default_frames=FRAMES,
        max_reply_tokens=256,
    )
    return CoreConfig(dialect=GENERIC, system=system_prompt(GENERIC, "default"), memory=memory)


class CoreDriver:
    """Plays the shell around a core, one tick at a time: :meth:`step`, :meth:`next_frame`,
    :meth:`begin`, :meth:`end`."""

    def __init__(self) -> None:
        self.core = SessionCore(bench_config())
        self.now = Ms(0)
        self.frames: dict[FrameUuid, bytes] = {}
        """Bytes of every picture the core may still ask for."""
        self._made = 0
        self.core.handle(e.SessionOpened(), self.now)
        self.core.handle(self.next_frame(), self.now)
        query = e.QueryArrived(InstructionId("q"), "tell me when a bicycle appears")
        call = _call_in(self.core.handle(query, self.now))
        self.end(call)

    def step(self) -> None:
        """A second goes by."""
        self.now = Ms(self.now + 1000)

    def next_frame(self) -> e.FrameArrived:
        """A picture nobody has seen before, of :data:`FRAME_BYTES` bytes."""
        self._made += 1
        data = random.Random(self._made).randbytes(FRAME_BYTES)
        uuid = FrameUuid(hashlib.sha256(data).hexdigest())
        self.frames[uuid] = data
        return e.FrameArrived(FrameRef(uuid, self.now, 448, 448, len(data)))

    def begin(self, frame: e.FrameArrived) -> c.CallModel:
        """Take the frame and the slot; returns the call."""
        self._follow(self.core.handle(frame, self.now))
        commands = self.core.handle(e.TimerFired(), self.now)
        self._follow(commands)
        return _call_in(commands)

    def end(self, call: c.CallModel) -> None:
        """The model answered with silence."""
        self._follow(self.core.handle(e.ModelDelta(call.call_id, REPLY), self.now))
        self._follow(self.core.handle(e.ModelDone(call.call_id, "stop"), self.now))

    def _follow(self, commands: list[c.Command]) -> None:
        for one in commands:
            if isinstance(one, c.ReleaseFrames):
                for uuid in one.uuids:
                    self.frames.pop(uuid, None)
            elif isinstance(one, c.Summarise):
                done = e.SummaryDone(one.job_id, "A street; nothing changed.")
                self._follow(self.core.handle(done, self.now))


def _call_in(commands: list[c.Command]) -> c.CallModel:
    return next(one for one in commands if isinstance(one, c.CallModel))


def pictures_in(call: c.CallModel) -> int:
    return sum(isinstance(one, FrameRef) for one in call.messages)


def measure_core(ticks: int) -> CoreRun:
    """Time ``ticks`` ticks (two chunks at least), then count allocations over a further chunk."""
    run, driver, before = CoreRun(), CoreDriver(), 1
    for _ in range(max(ticks, 2 * FRAMES)):
        driver.step()
        frame = driver.next_frame()
        start = time.thread_time()
        call = driver.begin(frame)
        built = time.thread_time()
        driver.end(call)
        done = time.thread_time()
        count = pictures_in(call)
        if count < before:
            run.boundary_ms.append((built - start) * 1000)
        elif count >= FULL:
            run.segments_ms.append((built - start) * 1000)
            run.tick_ms.append((done - start) * 1000)
        before = count
    _count_allocations(run, driver)
    return run


def _count_allocations(run: CoreRun, driver: CoreDriver) -> None:
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(FRAMES):
            driver.step()
            frame = driver.next_frame()
            before = tracemalloc.get_traced_memory()[0]
            blocks = sys.getallocatedblocks()
            tracemalloc.reset_peak()
            driver.end(driver.begin(frame))
            run.kept_blocks.append(sys.getallocatedblocks() - blocks)
            run.peak_bytes.append(tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
        gc.enable()


# -- with HTTP --------------------------------------------------------------------------------


def _answer() -> bytes:
    """The whole HTTP answer to any request: silence."""
    delta = {"choices": [{"index": 0, "delta": {"content": REPLY}, "finish_reason": None}]}
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    events = "".join(f"data: {json.dumps(one)}\n\n" for one in (delta, end)) + "data: [DONE]\n\n"
    head = f"content-type: text/event-stream\r\ncontent-length: {len(events)}"
    return f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n{events}".encode()


async def _swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    answer = _answer()
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            fields = [line.split(b":") for line in head.lower().split(b"\r\n")]
            length = next(int(one[1]) for one in fields if one[0] == b"content-length")
            await reader.readexactly(length)
            writer.write(answer)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()  # the client has hung up


async def _serve(listener: socket.socket) -> None:
    async with await asyncio.start_server(_swallow, sock=listener) as server:
        await server.serve_forever()


def _run_server(listener: socket.socket) -> None:
    asyncio.run(_serve(listener))


@contextmanager
def sink_server() -> Iterator[str]:
    """The base URL of a server in another process that swallows bodies and answers silence."""
    # Not forked: a fork of a process with threads may hang, and newer Pythons warn of it.
    context = multiprocessing.get_context("spawn")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        process = context.Process(target=_run_server, args=(listener,), daemon=True)
        process.start()
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            process.join()


async def measure_client(url: str, ticks: int) -> ClientRun:
    """Time ``ticks`` ticks (one chunk at least), every picture's bytes in every request."""
    run, driver = ClientRun(), CoreDriver()
    async with aclosing(OpenAICompat(url, model="sink")) as backend:
        for _ in range(max(ticks, FRAMES)):
            driver.step()
            frame = driver.next_frame()
            start = time.process_time()
            call = driver.begin(frame)
            request = ModelRequest(call.call_id, call.messages, call.sampling, timeout_s=30)
            async with aclosing(backend.stream(request, driver.frames.__getitem__)) as items:
                async for _item in items:
                    pass
            driver.end(call)
            spent = time.process_time() - start
            if (count := pictures_in(call)) >= FULL:
                run.cpu_ms.append(spent * 1000)
                run.megabytes.append(count * FRAME_BYTES * 4 / 3 / 1e6)
    return run


# -- report -----------------------------------------------------------------------------------


def main(ticks: int = 1_000, *, json_path: Path | None = None) -> int:
    """Measure and print a table; returns the exit code."""
    run = measure_core(ticks)
    with sink_server() as url:
        client = asyncio.run(measure_client(url, ticks))
    rows = {
        "core: frame and tick to body segments, ms": Spread.of(run.segments_ms),
        "core: whole tick with reply and commit, ms": Spread.of(run.tick_ms),
        "core: the same to segments at a boundary, ms": Spread.of(run.boundary_ms),
        "core: blocks a tick leaves behind": Spread.of(run.kept_blocks),
        "core: most bytes held within a tick": Spread.of(run.peak_bytes),
        "client: CPU of a tick with HTTP, every byte sent, ms": Spread.of(client.cpu_ms),
        "client: pictures in that body, MB": Spread.of(client.megabytes),
    }
    console = Console()
    console.print(table_of(rows, f"Cost of a tick, {FULL} to {FRAMES} pictures in the chunk"))
    console.print(machine(), style="dim")
    if json_path is not None:
        figures = {name: asdict(one) for name, one in rows.items()}
        json_path.write_text(json.dumps(figures, indent=2))
    return 0


def machine() -> str:
    """What the figures were measured with."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python}, {platform.machine()}, pictures of {FRAME_BYTES:,} bytes"


def table_of(rows: dict[str, Spread], title: str) -> Table:
    table = Table(title=title)
    table.add_column("what")
    columns: tuple[tuple[str, Callable[[Spread], float]], ...] = (
        ("p50", lambda one: one.p50),
        ("p99", lambda one: one.p99),
        ("worst", lambda one: one.worst),
    )
    for name, _ in columns:
        table.add_column(name, justify="right")
    table.add_column("ticks", justify="right")
    for what, spread in rows.items():
        figures = [f"{get(spread):,.3f}".rstrip("0").rstrip(".") for _, get in columns]
        table.add_row(what, *figures, str(spread.count))
    return table


if __name__ == "__main__":
    sys.exit(main())
