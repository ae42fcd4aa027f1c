"""A scripted video source."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from typing import TypeAlias

from onlooker.bridges.base import CapturedFrame, SourceInfo
from onlooker.bridges.testing.script import Sleep
from onlooker.errors import SourceError

Shot: TypeAlias = CapturedFrame | float | SourceError


class ScriptedSource:
    """A ``VideoSource`` with prepared frames.

    Args:
        shots: in order: frames, pauses in seconds, and failures.
        info: answer to :meth:`open`; made up from the first frame when not given.
        sleep: how it pauses.
    """

    def __init__(
        self,
        shots: Iterable[Shot] = (),
        *,
        info: SourceInfo | SourceError | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._shots = list(shots)
        self._info = info if info is not None else _info_of(self._shots)
        self._sleep = sleep
        self.is_open = False
        self.is_closed = False

    async def open(self) -> SourceInfo:
        if self.is_open or self.is_closed:
            raise SourceError("a source opens once — make a new one", code="source_used")
        if isinstance(self._info, SourceError):
            raise self._info
        self.is_open = True
        return self._info

    async def frames(self) -> AsyncGenerator[CapturedFrame, None]:
        if not self.is_open:
            raise SourceError("open the source before reading it", code="source_not_open")
        while self._shots and not self.is_closed:
            shot = self._shots.pop(0)
            if isinstance(shot, SourceError):
                raise shot
            if isinstance(shot, CapturedFrame):
                yield shot
            else:
                await self._sleep(shot)

    async def aclose(self) -> None:
        self.is_closed = True


def _info_of(shots: Iterable[Shot]) -> SourceInfo:
    frames = [shot for shot in shots if isinstance(shot, CapturedFrame)]
    if not frames:
        return SourceInfo(0, 0, None, 0, live=False)
    return SourceInfo(frames[0].width, frames[0].height, None, frames[-1].capture_ms, live=False)
