"""A scripted model server, without HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from onlooker.bridges.base import (
    Finished,
    FrameBytes,
    ModelCapabilities,
    ModelItem,
    ModelProbe,
    ModelRequest,
    TextDelta,
)
from onlooker.bridges.boundary import Deadline
from onlooker.bridges.testing.script import Script, Sleep, fresh, hang
from onlooker.errors import BridgeError
from onlooker.types import FrameRef, FrameUuid, ServerLimits, Usage, canonical_bytes

_BRIDGE = "model"


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted completion: what streams, and how it ends."""

    deltas: tuple[str, ...] = ()
    first_delay_s: float = 0.0
    """Before the first delta."""
    delay_s: float = 0.0
    """Before each further one."""
    error: BridgeError | None = None
    """Raised after the deltas, instead of an end."""
    hangs: bool = False
    """Goes quiet after the deltas, until the deadline."""
    finish_reason: str = "stop"
    usage: Usage | None = None


Answer: TypeAlias = Reply | str | BridgeError


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request as the model got it."""

    request: ModelRequest
    canonical: bytes
    """Its messages with null for every picture."""
    frames: dict[FrameUuid, bytes]
    """Bytes of its pictures."""


class ScriptedModel:
    """A ``ModelBackend`` that answers from a script, strictly: a call too many is an error.

    Args:
        answers: one for each call, in order: a whole text, a :class:`Reply`, or an error; or a
            function of the request, for any number of calls.
        capabilities: to declare.
        probe: answer to :meth:`probe`.
        sleep: how it waits.
    """

    def __init__(
        self,
        answers: Iterable[Answer] | Callable[[ModelRequest], Answer] = (),
        *,
        capabilities: ModelCapabilities | None = None,
        probe: ModelProbe | BridgeError | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.script: Script[Answer] = Script(_BRIDGE, () if callable(answers) else answers)
        self.requests: list[SeenRequest] = []
        self.running = 0
        self.aborts = 0
        """Calls that were closed, cancelled or timed out before their end."""
        self._function = answers if callable(answers) else None
        self._capabilities = capabilities if capabilities is not None else ModelCapabilities()
        self._probe = probe if probe is not None else ModelProbe("scripted", ServerLimits())
        self._sleep = sleep

    @property
    def capabilities(self) -> ModelCapabilities:
        return self._capabilities

    async def probe(self) -> ModelProbe:
        self.script.check_open()
        if isinstance(self._probe, BridgeError):
            raise fresh(self._probe)
        return self._probe

    async def stream(
        self, request: ModelRequest, frames: FrameBytes
    ) -> AsyncGenerator[ModelItem, None]:
        deadline = Deadline(request.timeout_s, bridge=_BRIDGE)
        reply = self._next(request)
        self.requests.append(_seen(request, frames))
        self.running += 1
        is_over = False
        try:
            for number, delta in enumerate(reply.deltas):
                await self._wait(deadline, reply.delay_s if number else reply.first_delay_s)
                yield TextDelta(delta)
            if reply.hangs:
                await deadline.wait(hang())
            self.script.check_open()
            is_over = True
            if reply.error is not None:
                raise fresh(reply.error)
            yield Finished(reply.finish_reason, reply.usage)
        finally:
            self.running -= 1
            self.aborts += not is_over

    async def aclose(self) -> None:
        self.script.close()

    def _next(self, request: ModelRequest) -> Reply:
        if self._function is not None:
            self.script.check_open()
            answer = self._function(request)
        else:
            answer = self.script.take()
        if isinstance(answer, str):
            return Reply((answer,) if answer else ())
        return Reply(error=answer) if isinstance(answer, BridgeError) else answer

    async def _wait(self, deadline: Deadline, delay_s: float) -> None:
        if delay_s:
            await deadline.wait(_sleep(self._sleep, delay_s))
        self.script.check_open()


async def _sleep(sleep: Sleep, delay_s: float) -> None:
    await sleep(delay_s)


def _seen(request: ModelRequest, frames: FrameBytes) -> SeenRequest:
    held = {
        segment.uuid: _bytes_of(segment, frames)
        for segment in request.messages
        if isinstance(segment, FrameRef)
    }
    return SeenRequest(request, canonical_bytes(request.messages), held)


def _bytes_of(frame: FrameRef, frames: FrameBytes) -> bytes:
    try:
        return frames(frame.uuid)
    except KeyError as error:
        raise BridgeError(
            "a picture of this prompt was released before it was sent",
            bridge=_BRIDGE,
            code="frame_released",
        ) from error
