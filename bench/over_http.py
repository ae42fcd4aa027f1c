"""Both layouts against a recording server, every prompt over a real socket.

Ours is the whole session: the actor, the core, the model bridge, on a clock that is moved by hand
so that a summary takes its time in stream time whatever the machine is doing. The reference's
prompts go through the same bridge; only the layout differs. Its summaries are not requested, they
become ready in time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from bench.pictures import picture
from bench.recording import MODEL, Received, RecordingServer, recording_server
from bench.reference import QUERY, as_segments, reference_prompts, shown_in
from onlooker.bridges.base import (
    Finished,
    FrameBytes,
    ModelBackend,
    ModelCapabilities,
    ModelItem,
    ModelProbe,
    ModelRequest,
)
from onlooker.bridges.model.openai_compat import OpenAICompat
from onlooker.decision import JOYVL
from onlooker.orchestrator import events as e
from onlooker.orchestrator.clock import MediaClock
from onlooker.orchestrator.config import CoreConfig
from onlooker.orchestrator.core import SessionCore
from onlooker.orchestrator.frames import FrameStore
from onlooker.orchestrator.notices import (
    DecisionMade,
    DecisionSource,
    Notice,
    SummaryChanged,
    Trouble,
)
from onlooker.orchestrator.session import Session
from onlooker.types import InstructionId, Ms, Usage

_PATIENCE_S: Final = 60
"""Real time after which a run that does not go on has failed."""


@dataclass(frozen=True, slots=True)
class Run:
    """One layout's run against a server of its own."""

    received: Received
    usage: tuple[Usage, ...]
    """What the server said of each tick's prompt, in order."""


class SlowNotes:
    """Summaries of another backend, each asked for ``delay_ms`` of stream time late."""

    def __init__(self, backend: ModelBackend, clock: MediaClock, delay_ms: int) -> None:
        self._backend, self._clock, self._delay_ms = backend, clock, delay_ms
        self.due: list[Ms] = []
        """When those still waiting are to be asked for."""

    @property
    def capabilities(self) -> ModelCapabilities:
        return self._backend.capabilities

    async def probe(self) -> ModelProbe:
        return await self._backend.probe()

    async def stream(
        self, request: ModelRequest, frames: FrameBytes
    ) -> AsyncGenerator[ModelItem, None]:
        due = Ms(self._clock.now_ms() + self._delay_ms)
        if due % 1000 == 0:
            due = Ms(due - 1)  # before the tick of that second, not in a race with it
        self.due.append(due)
        await self._clock.sleep_until(due)
        async with aclosing(self._backend.stream(request, frames)) as items:
            async for item in items:
                yield item

    async def aclose(self) -> None:
        await self._backend.aclose()


class Watched:
    """A session with its clock, and what it has told so far."""

    def __init__(self, config: CoreConfig, url: str, summary_ms: int) -> None:
        self.clock, self.store = MediaClock(), FrameStore()
        self.model = OpenAICompat(url, model=MODEL)
        self.notes = SlowNotes(OpenAICompat(url, model=MODEL), self.clock, summary_ms)
        self.decisions: list[DecisionMade] = []
        self.summaries = 0
        """Summaries that came."""
        self._expected = 0
        """Summaries whose time has come."""
        self._trouble: str | None = None
        self._news = asyncio.Event()
        self.session = Session(
            SessionCore(config),
            clock=self.clock,
            model=self.model,
            summariser=self.notes,
            store=self.store,
            sinks=[self.hear],
        )

    def hear(self, notice: Notice) -> None:
        if isinstance(notice, DecisionMade) and notice.source is DecisionSource.MODEL:
            self.decisions.append(notice)
        elif isinstance(notice, SummaryChanged):
            self.summaries += notice.status != "requested"
        elif isinstance(notice, Trouble):
            self._trouble = notice.message
        self._news.set()

    async def second(self, tick: int) -> None:
        """Show the picture of second ``tick`` and wait until it has been decided on."""
        while self.notes.due and self.notes.due[0] <= tick * 1000:
            self.clock.advance(self.notes.due.pop(0))
            self._expected += 1
            await self._until(lambda: self.summaries >= self._expected)
        seen = picture(tick)
        self.store.put(
            seen.data,
            capture_ms=seen.ref.capture_ms,
            width=seen.ref.width,
            height=seen.ref.height,
            media_type=seen.ref.media_type,
        )
        self.clock.advance(Ms(tick * 1000))
        self.session.post(e.FrameArrived(seen.ref))
        if tick == 0:
            self.session.post(e.QueryArrived(InstructionId("q"), QUERY))
        await self._until(lambda: len(self.decisions) > tick)

    async def _until(self, is_reached: Callable[[], bool]) -> None:
        async with asyncio.timeout(_PATIENCE_S):
            while not is_reached():
                if self._trouble is not None:
                    raise RuntimeError(f"the run does not count: {self._trouble}")
                self._news.clear()
                await self._news.wait()

    async def aclose(self) -> None:
        await self.model.aclose()
        await self.notes.aclose()


async def ours_over_http(config: CoreConfig, ticks: int, summary_ms: int) -> Run:
    """The whole session; its summaries are requests too, on a connection of their own."""
    with recording_server() as server:
        watched = Watched(config, server.url, summary_ms)
        try:
            async with watched.session:
                for tick in range(ticks):
                    await watched.second(tick)
        finally:
            await watched.aclose()
        usage = [one.usage for one in watched.decisions]
        return _finish(server, usage)


async def reference_over_http(ticks: int, frames: int, summary_ms: int) -> Run:
    """The reference's prompts, through the same bridge."""
    usage: list[Usage | None] = []
    with recording_server() as server:
        async with aclosing(OpenAICompat(server.url, model=MODEL)) as backend:
            data = {picture(tick).ref.uuid: picture(tick).data for tick in range(ticks)}
            for tick, messages in enumerate(reference_prompts(ticks, frames, summary_ms)):
                shown = range(tick + 1 - shown_in(messages), tick + 1)
                request = ModelRequest(
                    f"tick{tick}", as_segments(messages, shown), JOYVL.tick_sampling, _PATIENCE_S
                )
                answer = backend.stream(request, data.__getitem__)
                usage += [item.usage async for item in answer if isinstance(item, Finished)]
        return _finish(server, usage)


def _finish(server: RecordingServer, usage: Iterable[Usage | None]) -> Run:
    received = server.stop()
    told = tuple(one for one in usage if one is not None)
    if received.refused or len(told) != len(received.prompts):
        raise RuntimeError(f"the run does not count: {list(received.refused) or 'calls were lost'}")
    return Run(received, told)
