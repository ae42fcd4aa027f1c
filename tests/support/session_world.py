"""Small scripted partners for one session on virtual time: model, brain, voice, clock, ear."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from onlooker.bridges.base import (
    DelegateCapabilities,
    DelegationJob,
    DelegationProgress,
    DelegationResult,
    Finished,
    FrameBytes,
    ModelCapabilities,
    ModelItem,
    ModelProbe,
    ModelRequest,
    TextDelta,
)
from onlooker.orchestrator import commands as c
from onlooker.orchestrator import events as e
from onlooker.orchestrator.frames import FrameStore
from onlooker.orchestrator.notices import Notice
from onlooker.orchestrator.session import Session
from onlooker.types import FrameRef, Ms, ServerLimits, Usage


class LoopClock:
    """Stream time is the loop's time since this was made: virtual in a virtual loop."""

    def __init__(self) -> None:
        self._t0 = asyncio.get_running_loop().time()

    def now_ms(self) -> Ms:
        return Ms(round((asyncio.get_running_loop().time() - self._t0) * 1000))

    async def sleep_until(self, at_ms: Ms) -> None:
        await asyncio.sleep(max(0, at_ms - self.now_ms()) / 1000)


@dataclass
class Line:
    """One answer: pieces of text, each after a pause, and how it ends."""

    pieces: Sequence[tuple[int, str]] = ()
    """(milliseconds to wait, text)."""
    finish: str = "stop"
    usage: Usage | None = None
    error: Exception | None = None
    """Raised instead of finishing."""

    @classmethod
    def of(cls, text: str, after_ms: int = 0) -> Line:
        """All of ``text`` at once."""
        return cls(((after_ms, text),))


SILENT = Line.of("[SILENCE]")


@dataclass
class PlayedModel:
    """Answers from a script, then with silence. Counts what was aborted."""

    lines: list[Line] = field(default_factory=list)
    otherwise: Callable[[ModelRequest], Line] = lambda request: SILENT
    requests: list[ModelRequest] = field(default_factory=list)
    bytes_seen: list[bytes] = field(default_factory=list)
    aborted: list[str] = field(default_factory=list)
    open: int = 0
    """Requests in flight."""

    @property
    def capabilities(self) -> ModelCapabilities:
        return ModelCapabilities()

    async def probe(self) -> ModelProbe:
        return ModelProbe("played", ServerLimits())

    async def stream(
        self, request: ModelRequest, frames: FrameBytes
    ) -> AsyncGenerator[ModelItem, None]:
        self.requests.append(request)
        # A picture that is not there any more raises KeyError here, as in a real adapter.
        self.bytes_seen += [frames(s.uuid) for s in request.messages if isinstance(s, FrameRef)]
        line = self.lines.pop(0) if self.lines else self.otherwise(request)
        self.open += 1
        try:
            for pause_ms, text in line.pieces:
                await asyncio.sleep(pause_ms / 1000)
                yield TextDelta(text)
            if line.error is not None:
                raise line.error
            yield Finished(line.finish, line.usage)
        except (asyncio.CancelledError, GeneratorExit):
            self.aborted.append(request.call_id)
            raise
        finally:
            self.open -= 1

    async def aclose(self) -> None:
        pass


@dataclass
class PlayedBrain:
    """Answers every delegated question after a while."""

    answer: str = "Ada Lovelace."
    after_ms: int = 1_500
    error: Exception | None = None
    jobs: list[DelegationJob] = field(default_factory=list)
    cancelled: int = 0

    @property
    def capabilities(self) -> DelegateCapabilities:
        return DelegateCapabilities()

    async def solve(
        self, job: DelegationJob
    ) -> AsyncGenerator[DelegationProgress | DelegationResult, None]:
        self.jobs.append(job)
        yield DelegationProgress("looking")
        try:
            await asyncio.sleep(self.after_ms / 1000)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error is not None:
            raise self.error
        yield DelegationResult(self.answer)

    async def aclose(self) -> None:
        pass


@dataclass
class PlayedVoice:
    """A synthesiser and a client's loudspeaker: 100 ms a word, acknowledged as it plays."""

    word_ms: int = 100
    commands: list[Any] = field(default_factory=list)
    session: Session | None = None
    _queue: list[c.Speak] = field(default_factory=list)
    _task: asyncio.Task[None] | None = None
    _going: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._going.set()

    def execute(self, command: c.Speak | c.PauseOutput | c.ResumeOutput | c.FlushOutput) -> None:
        self.commands.append(command)
        match command:
            case c.Speak():
                self._queue.append(command)
                if self._task is None or self._task.done():
                    self._task = asyncio.create_task(self._play(), name="voice")
            case c.PauseOutput():
                self._going.clear()
            case c.ResumeOutput():
                self._going.set()
            case c.FlushOutput():
                self._going.set()
                self._queue.clear()
                if self._task is not None:
                    self._task.cancel()
                self._task = None

    async def _play(self) -> None:
        """One response, word by word."""
        assert self.session is not None
        sent = 0
        while self._queue:
            clause = self._queue.pop(0)
            words = len(clause.text.split())
            if words:
                ends = tuple(self.word_ms * (word + 1) for word in range(words))
                name, epoch = clause.response_id, clause.epoch
                post = self.session.post
                post(e.ClauseSpoken(name, epoch, clause.clause, ends[-1], ends))
                for _ in range(words):
                    await asyncio.sleep(self.word_ms / 1000)
                    await self._going.wait()
                    sent += self.word_ms
                    post(e.OutputSent(name, epoch, sent))
                    post(e.PlaybackAck(name, sent))


@dataclass
class Ear:
    """A notice sink that remembers when it heard what."""

    clock: Any
    heard: list[tuple[int, Notice]] = field(default_factory=list)

    def __call__(self, notice: Notice) -> None:
        self.heard.append((self.clock.now_ms(), notice))

    def of(self, kind: type[Any]) -> list[Any]:
        return [notice for _, notice in self.heard if isinstance(notice, kind)]

    def times(self, kind: type[Any]) -> list[int]:
        return [at for at, notice in self.heard if isinstance(notice, kind)]


@dataclass
class Steps:
    """A recorder that keeps everything."""

    steps: list[tuple[int, e.Event, tuple[c.Command, ...]]] = field(default_factory=list)

    def record(self, now_ms: Ms, event: e.Event, commands: Sequence[c.Command]) -> None:
        self.steps.append((now_ms, event, tuple(commands)))

    @property
    def commands(self) -> Iterable[c.Command]:
        return (command for _, _, commands in self.steps for command in commands)


def picture(store: FrameStore, data: bytes, capture_ms: int) -> FrameRef:
    """A stored picture."""
    return store.put(data, capture_ms=Ms(capture_ms), width=64, height=48, media_type="image/jpeg")
