"""The scripted source keeps the promises of a video source, and its script."""

from __future__ import annotations

import asyncio

import pytest

from onlooker.bridges.base import CapturedFrame, SourceInfo, VideoSource
from onlooker.errors import SourceError
from onlooker.testing import ScriptedSource

pytestmark = [pytest.mark.contract, pytest.mark.virtual_time]

SHOTS = [CapturedFrame(b"%d" % n, "image/jpeg", 40, 30, n * 1_000) for n in range(3)]


async def taken(source: ScriptedSource) -> list[CapturedFrame]:
    return [frame async for frame in source.frames()]


async def test_it_keeps_the_protocol() -> None:
    source = ScriptedSource(SHOTS)
    assert isinstance(source, VideoSource)
    assert await source.open() == SourceInfo(40, 30, None, 2_000, live=False)
    assert await taken(source) == SHOTS
    await source.aclose()
    await source.aclose()


async def test_frames_before_opening_are_refused() -> None:
    with pytest.raises(SourceError) as caught:
        await taken(ScriptedSource(SHOTS))
    assert caught.value.code == "source_not_open"


async def test_it_opens_once() -> None:
    source = ScriptedSource()
    assert (await source.open()).duration_ms == 0
    with pytest.raises(SourceError) as caught:
        await source.open()
    assert caught.value.code == "source_used"


async def test_pauses_and_failures_come_in_their_place() -> None:
    source = ScriptedSource([SHOTS[0], 5.0, SHOTS[1], SourceError("the camera is gone")])
    await source.open()
    frames = source.frames()
    assert await anext(frames) == SHOTS[0]
    assert await anext(frames) == SHOTS[1]
    assert asyncio.get_running_loop().time() == 5
    with pytest.raises(SourceError, match="gone"):
        await anext(frames)


async def test_a_source_that_cannot_be_opened() -> None:
    with pytest.raises(SourceError, match="no camera"):
        await ScriptedSource(info=SourceError("no camera")).open()


async def test_closing_ends_the_frames() -> None:
    source = ScriptedSource(SHOTS, info=SourceInfo(1, 2, 3.0, None, live=True))
    assert (await source.open()).live
    frames = source.frames()
    await anext(frames)
    await source.aclose()
    with pytest.raises(StopAsyncIteration):
        await anext(frames)
