"""The actor around one :class:`SessionCore`: it feeds events in and executes commands.

Theory of operation. One task runs :meth:`Session._run`: it takes the next event (queued, or the
timer the core asked for), hands it to the core with the stream time, records the step, and
executes the returned commands in order. Whatever waits (model calls, summaries, delegated jobs)
runs in a task of its own and comes back as an event with its fence; the core drops stale ones.
No state of the conversation lives here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from typing import Any, Protocol, Self, assert_never

from onlooker.bridges.base import (
    Delegate,
    DelegationJob,
    DelegationResult,
    Finished,
    ModelBackend,
    ModelRequest,
)
from onlooker.errors import BridgeError
from onlooker.orchestrator import commands as c
from onlooker.orchestrator import events as e
from onlooker.orchestrator.clock import Clock
from onlooker.orchestrator.core import SessionCore
from onlooker.orchestrator.frames import FrameStore
from onlooker.orchestrator.inbox import Inbox
from onlooker.orchestrator.notices import Notice, ResponseDelta
from onlooker.types import Ms

NoticeSink = Callable[[Notice], None]


class StepRecorder(Protocol):
    """Keeps what happened; must not raise."""

    def record(self, now_ms: Ms, event: e.Event, commands: Sequence[c.Command]) -> None: ...


class Voice(Protocol):
    """Executes the commands that concern sound."""

    def execute(
        self, command: c.Speak | c.PauseOutput | c.ResumeOutput | c.FlushOutput
    ) -> None: ...


class Session:
    """One session, as an async context manager.

    Args:
        core: the fresh core.
        clock: stream time.
        model: backend of the tick calls; its connection is this session's alone.
        summariser: backend of the summaries, on a connection of its own.
        store: the session's pictures; feed it before posting ``FrameArrived``.
        sinks: called with every notice, in order; must not block and must not raise.
        recorder: gets every step.
        delegate: the background brain, if any.
        voice: needed exactly when the core was configured with a voice.
        acknowledges_text: True when a client reports what it was sent (``TextWritten``);
            otherwise text counts as written once the sinks have it.
    """

    def __init__(
        self,
        core: SessionCore,
        *,
        clock: Clock,
        model: ModelBackend,
        summariser: ModelBackend,
        store: FrameStore,
        sinks: Sequence[NoticeSink] = (),
        recorder: StepRecorder | None = None,
        delegate: Delegate | None = None,
        voice: Voice | None = None,
        acknowledges_text: bool = False,
    ) -> None:
        self._core = core
        self._clock = clock
        self._model = model
        self._summariser = summariser
        self._store = store
        self._sinks = tuple(sinks)
        self._recorder = recorder
        self._delegate = delegate
        self._voice = voice
        self._acknowledges_text = acknowledges_text
        self._inbox = Inbox(max_frames=max(8, 2 * core.config.frames_per_tick))
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._ended = asyncio.Event()
        self._work: dict[str, asyncio.Task[None]] = {}
        self._written: dict[str, int] = {}
        self._runner: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None

    async def __aenter__(self) -> Self:
        self.post(e.SessionOpened())
        self._runner = asyncio.create_task(self._run(), name="session")
        return self

    async def __aexit__(self, *exc: object) -> None:
        if not self._ended.is_set() and self._runner is not None and not self._runner.done():
            self.post(e.SessionClosed(reason="shutdown"))
        await self.closed()

    @property
    def next_timer_ms(self) -> Ms | None:
        """Stream time at which the core wants to be woken."""
        return self._core.next_timer_ms

    @property
    def is_closed(self) -> bool:
        return self._ended.is_set()

    def post(self, event: e.Event) -> None:
        """Queue an event. After the session has ended it is ignored."""
        if self._ended.is_set():
            return
        dropped = self._inbox.put(event)
        if dropped is not None and dropped.frame.uuid not in self._core.held_frames:
            self._store.release({dropped.frame.uuid} - self._inbox.waiting_frames())
        self._wake.set()

    async def settled(self) -> None:
        """Wait until no event is queued and no call, summary or job is in flight.

        Raises whatever ended the session early.
        """
        while self._runner is not None and not (self._ended.is_set() or self._is_settled):
            self._idle.clear()
            await self._idle.wait()
        if self._ended.is_set():
            await self.closed()

    @property
    def _is_settled(self) -> bool:
        """Looked at, not remembered: a clock that has just moved makes a timer due."""
        due = self._core.next_timer_ms
        is_due = due is not None and due <= self._clock.now_ms()
        return not (len(self._inbox) or self._work or is_due)

    async def closed(self) -> None:
        """Wait for the end of the session; raises whatever ended it early."""
        if self._runner is not None:
            await asyncio.shield(self._runner)

    # -- the loop -----------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            while not self._ended.is_set():
                event = await self._next_event()
                self._step(event)
        finally:
            self._ended.set()
            self._idle.set()
            for task in self._work.values():
                task.cancel()
            await asyncio.gather(*self._work.values(), return_exceptions=True)
            self._store.clear()

    async def _next_event(self) -> e.Event:
        while not len(self._inbox):
            due = self._core.next_timer_ms
            if due is not None and due <= self._clock.now_ms():
                return e.TimerFired()
            self._wake.clear()
            if not self._work:
                self._idle.set()  # whoever waits in settled() looks again
            await self._sleep(due)
            if self._failure is not None:
                raise self._failure
        return self._inbox.pop()

    async def _sleep(self, due: Ms | None) -> None:
        """Until something is posted, or ``due``."""
        waiter = asyncio.create_task(self._wake.wait())
        waits: set[asyncio.Task[Any]] = {waiter}
        if due is not None:
            waits.add(asyncio.create_task(self._clock.sleep_until(due)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()

    def _step(self, event: e.Event) -> None:
        now_ms = self._clock.now_ms()
        commands: list[c.Command] = []
        try:
            commands = self._core.handle(event, now_ms)
        finally:
            # Also the event a bug of ours falls over: a recording is made to find those.
            if self._recorder is not None:
                self._recorder.record(now_ms, event, commands)
        for command in commands:
            self._execute(command)

    def _execute(self, command: c.Command) -> None:  # noqa: C901 (a closed union)
        match command:
            case c.Emit(notice):
                self._tell(notice)
            case c.CallModel():
                self._start(command.call_id, self._call(command))
            case c.AbortModel(call_id):
                self._stop(call_id)
            case c.Summarise():
                self._start(command.job_id, self._summarise(command))
            case c.AbortSummary(job_id):
                self._stop(job_id)
            case c.Speak() | c.PauseOutput() | c.ResumeOutput() | c.FlushOutput():
                self._sound(command)
            case c.StartDelegation():
                self._start(command.ticket, self._solve(command))
            case c.CancelDelegation(ticket):
                self._stop(ticket)
            case c.ReleaseFrames(uuids):
                self._store.release(set(uuids) - self._inbox.waiting_frames())
            case c.Close():
                self._ended.set()
            case _:
                assert_never(command)

    def _tell(self, notice: Notice) -> None:
        for sink in self._sinks:
            sink(notice)
        if isinstance(notice, ResponseDelta) and not self._acknowledges_text:
            written = self._written.get(notice.response_id, 0) + len(notice.text)
            self._written = {notice.response_id: written}
            self.post(e.TextWritten(notice.response_id, notice.epoch, written))

    def _sound(self, command: c.Speak | c.PauseOutput | c.ResumeOutput | c.FlushOutput) -> None:
        if self._voice is not None:
            self._voice.execute(command)
        elif isinstance(command, c.Speak):
            raise AssertionError("a core without a voice asks for no speech")

    # -- work in tasks ------------------------------------------------------------------------

    def _start(self, key: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=key)
        self._work[key] = task
        task.add_done_callback(lambda done: self._finished(key, done))

    def _stop(self, key: str) -> None:
        task = self._work.get(key)
        if task is not None:
            task.cancel()

    def _finished(self, key: str, task: asyncio.Task[None]) -> None:
        if self._work.get(key) is task:
            del self._work[key]
        if not task.cancelled() and (error := task.exception()) is not None:
            # A bug in an adapter: end the session loudly instead of hanging it.
            self._failure = self._failure or error
        self._wake.set()

    async def _call(self, command: c.CallModel) -> None:
        request = ModelRequest(
            call_id=command.call_id,
            messages=command.messages,
            sampling=command.sampling,
            timeout_s=self._seconds_until(command.deadline_ms),
            fresh_connection=command.fresh_connection,
        )
        try:
            async with aclosing(self._model.stream(request, self._store.get)) as items:
                async for item in items:
                    if isinstance(item, Finished):
                        self.post(e.ModelDone(command.call_id, item.finish_reason, item.usage))
                    else:
                        self.post(e.ModelDelta(command.call_id, item.text))
        except BridgeError as error:
            limit = getattr(error, "limit", None)
            self.post(
                e.ModelFailed(
                    command.call_id, error.code, error.message, bool(error.retryable), limit
                )
            )

    async def _summarise(self, command: c.Summarise) -> None:
        request = ModelRequest(
            call_id=command.job_id,
            messages=command.messages,
            sampling=command.sampling,
            timeout_s=self._seconds_until(command.deadline_ms),
        )
        parts: list[str] = []
        try:
            async with aclosing(self._summariser.stream(request, self._store.get)) as items:
                async for item in items:
                    if isinstance(item, Finished):
                        text = "".join(parts)
                        self.post(e.SummaryDone(command.job_id, text, item.usage))
                    else:
                        parts.append(item.text)
        except BridgeError as error:
            self.post(e.SummaryFailed(command.job_id, error.code, error.message))

    async def _solve(self, command: c.StartDelegation) -> None:
        ticket = command.ticket
        if self._delegate is None:
            raise AssertionError("a core without a background brain starts no job")
        job = DelegationJob(
            ticket=ticket,
            note=command.note,
            question=command.question,
            user_text=command.user_text,
            frames=[(frame, self._store.get(frame.uuid)) for frame in command.frames],
        )
        self.post(e.DelegationStarted(ticket))
        try:
            async with aclosing(self._delegate.solve(job)) as items:
                async for item in items:
                    if isinstance(item, DelegationResult):
                        self.post(e.DelegationDone(ticket, item.text))
                    else:
                        self.post(e.DelegationProgressed(ticket, item.text))
        except BridgeError as error:
            self.post(e.DelegationFailed(ticket, error.code, error.message))

    def _seconds_until(self, at_ms: Ms) -> float:
        return max(0.001, (at_ms - self._clock.now_ms()) / 1000)
