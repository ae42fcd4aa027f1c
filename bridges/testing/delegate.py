"""A scripted background brain."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from onlooker.bridges.base import (
    DelegateCapabilities,
    DelegationJob,
    DelegationProgress,
    DelegationResult,
)
from onlooker.bridges.testing.script import Script, Sleep, fresh, hang
from onlooker.errors import BridgeError


@dataclass(frozen=True, slots=True)
class Solved:
    """One scripted job: progress, then a result, an error, or nothing for ever."""

    text: str = ""
    progress: tuple[str, ...] = ()
    delay_s: float = 0.0
    """Before each progress and before the end."""
    error: BridgeError | None = None
    hangs: bool = False


Solution: TypeAlias = Solved | str | BridgeError


class ScriptedDelegate:
    """A ``Delegate`` that answers from a script, strictly.

    Args:
        answers: one for each job, in order.
        capabilities: to declare.
        sleep: how it waits.
    """

    def __init__(
        self,
        answers: Iterable[Solution] = (),
        *,
        capabilities: DelegateCapabilities | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.script: Script[Solution] = Script("delegate", answers)
        self.jobs: list[DelegationJob] = []
        self.running = 0
        self.aborts = 0
        self._capabilities = capabilities if capabilities is not None else DelegateCapabilities()
        self._sleep = sleep

    @property
    def capabilities(self) -> DelegateCapabilities:
        return self._capabilities

    async def solve(
        self, job: DelegationJob
    ) -> AsyncGenerator[DelegationProgress | DelegationResult, None]:
        answer = self.script.take()
        self.jobs.append(job)
        if isinstance(answer, BridgeError):
            raise fresh(answer)
        solved = Solved(answer) if isinstance(answer, str) else answer
        self.running += 1
        is_over = False
        try:
            for text in solved.progress:
                await self._wait(solved.delay_s)
                yield DelegationProgress(text)
            await self._wait(solved.delay_s)
            if solved.hangs:
                await hang()
            is_over = True
            if solved.error is not None:
                raise fresh(solved.error)
            yield DelegationResult(solved.text)
        finally:
            self.running -= 1
            self.aborts += not is_over

    async def aclose(self) -> None:
        self.script.close()

    async def _wait(self, delay_s: float) -> None:
        if delay_s:
            await self._sleep(delay_s)
        self.script.check_open()
