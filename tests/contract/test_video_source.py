"""What every video source promises, checked on all of them and on a scripted fake."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from onlooker.bridges.base import CapturedFrame, SourceInfo, VideoSource
from onlooker.bridges.video import check_picture, open_source
from onlooker.errors import SourceError
from tests.bridges.video.material import FakeCapture, FakeClock, FakeFactory, picture, write_clip

pytestmark = pytest.mark.contract

MAX_PIXELS = 2_000


class ScriptedSource:
    """The smallest thing that keeps the contract: prepared frames, no thread."""

    def __init__(self, frames: list[CapturedFrame]) -> None:
        self._frames = frames
        self._is_open = self._is_closed = False

    async def open(self) -> SourceInfo:
        if self._is_open or self._is_closed:
            raise SourceError("a source opens once; make a new one", code="source_used")
        self._is_open = True
        return SourceInfo(40, 30, 1.0, len(self._frames) * 1_000, live=False)

    async def frames(self) -> AsyncIterator[CapturedFrame]:
        if not self._is_open:
            raise SourceError("open the source before reading it", code="source_not_open")
        while self._frames and not self._is_closed:
            yield self._frames.pop(0)

    async def aclose(self) -> None:
        self._is_closed = True


def clip(path: Path, name: str = "clip.avi", fourcc: str = "MJPG", **options: Any) -> VideoSource:
    write_clip(path / name, 30, 10, fourcc)
    return open_source(str(path / name), fps=2, max_pixels=MAX_PIXELS, **options)


def paced(path: Path) -> VideoSource:
    clock = FakeClock()

    async def pass_time(seconds: float) -> None:
        clock.now_s += seconds

    return clip(path, live=True, clock=clock, sleep=pass_time)


def folder(path: Path) -> VideoSource:
    for number in range(6):
        (path / f"{number}.png").write_bytes(picture("PNG", 64, 48 + number))
    return open_source(str(path), fps=2, max_pixels=MAX_PIXELS)


def live(path: Path, spec: str = "0") -> VideoSource:
    clock = FakeClock()
    factory = FakeFactory(*(FakeCapture(400, clock=clock) for _ in range(3)))
    return open_source(
        spec,
        fps=2,
        max_pixels=MAX_PIXELS,
        capture_factory=factory,
        clock=clock,
        pause=lambda stop, seconds: None,
    )


def scripted(path: Path) -> VideoSource:
    data = picture("JPEG", 40, 30)
    return ScriptedSource([CapturedFrame(data, "image/jpeg", 40, 30, n * 500) for n in range(6)])


SOURCES: dict[str, Callable[[Path], VideoSource]] = {
    "avi": clip,
    "mp4": lambda path: clip(path, "clip.mp4", "mp4v"),
    "loop": lambda path: clip(path, loop=True),
    "paced": paced,
    "folder": folder,
    "camera": live,
    "stream": lambda path: live(path, "rtsp://camera/1"),
    "scripted": scripted,
}


@pytest.fixture(params=list(SOURCES))
async def source(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[VideoSource]:
    made = SOURCES[request.param](tmp_path)
    yield made
    await made.aclose()


async def some_frames(source: VideoSource, at_most: int = 4) -> list[CapturedFrame]:
    found: list[CapturedFrame] = []
    async for frame in source.frames():
        found.append(frame)
        if len(found) == at_most:
            break
    return found


async def test_it_is_a_video_source(source: VideoSource) -> None:
    assert isinstance(source, VideoSource)


async def test_it_says_what_it_shows(source: VideoSource) -> None:
    info = await source.open()
    assert info.width > 0
    assert info.height > 0
    assert info.fps is None or info.fps > 0
    assert (info.duration_ms is None) == info.live


async def test_frames_are_whole_pictures_within_the_limit_in_capture_order(
    source: VideoSource,
) -> None:
    await source.open()
    frames = await some_frames(source)
    assert len(frames) >= 2
    times = [f.capture_ms for f in frames]
    assert times == sorted(set(times))
    assert times[0] >= 0
    for frame in frames:
        told = check_picture(frame.data)
        assert (told.width, told.height, told.media_type) == (
            frame.width,
            frame.height,
            frame.media_type,
        )
        assert frame.width * frame.height <= MAX_PIXELS


async def test_reading_goes_on_where_it_stopped(source: VideoSource) -> None:
    await source.open()
    first, second = await some_frames(source, 1), await some_frames(source, 1)
    assert second[0].capture_ms > first[0].capture_ms


async def test_it_opens_once(source: VideoSource) -> None:
    await source.open()
    with pytest.raises(SourceError):
        await source.open()


async def test_it_is_read_only_when_open(source: VideoSource) -> None:
    with pytest.raises(SourceError):
        await anext(source.frames())


async def test_closing_is_final_and_may_be_repeated(source: VideoSource) -> None:
    await source.open()
    await some_frames(source, 1)
    await source.aclose()
    await source.aclose()
    assert await some_frames(source) == []


async def test_closing_unopened_is_fine(source: VideoSource) -> None:
    await source.aclose()


async def test_a_cancelled_reader_ends_at_once(source: VideoSource) -> None:
    await source.open()

    async def read_for_ever() -> None:
        while True:
            await some_frames(source)
            await asyncio.sleep(0)

    reading = asyncio.ensure_future(read_for_ever())
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading


@pytest.mark.parametrize("name", ["avi", "mp4", "folder"])
async def test_recordings_are_repeatable_to_the_byte(name: str, tmp_path: Path) -> None:
    async def read() -> list[CapturedFrame]:
        made = SOURCES[name](tmp_path)
        await made.open()
        frames = await some_frames(made, 100)
        await made.aclose()
        return frames

    assert await read() == await read()
