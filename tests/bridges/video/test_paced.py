"""A recording shown as if it happened now."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from onlooker.bridges.video.paced import PacedSource
from onlooker.bridges.video.source import open_source
from tests.bridges.video.material import FakeClock, write_clip

pytestmark = pytest.mark.shell


class Rig:
    def __init__(self, path: Path) -> None:
        self.clock = FakeClock()
        self.naps_s: list[float] = []
        write_clip(path / "clip.avi", 30, 10)
        source = open_source(
            str(path / "clip.avi"),
            fps=1,
            max_pixels=1_000_000,
            live=True,
            clock=self.clock,
            sleep=self.nap,
        )
        assert isinstance(source, PacedSource)
        self.source = source

    async def nap(self, seconds: float) -> None:
        self.naps_s.append(seconds)
        self.clock.now_s += seconds


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


async def test_each_frame_comes_when_its_time_has_come(rig: Rig) -> None:
    info = await rig.source.open()
    assert (info.live, info.duration_ms) == (True, None)
    shown = {f.capture_ms: rig.clock.now_s async for f in rig.source.frames()}
    assert shown == pytest.approx({0: 100, 1000: 101, 2000: 102})
    assert rig.naps_s == pytest.approx([1, 1])
    assert (rig.source.dropped_frames, rig.source.broken_frames, rig.source.reconnects) == (0, 0, 0)
    await rig.source.aclose()


async def test_c17_a_slow_consumer_gets_the_newest_frame(rig: Rig) -> None:
    await rig.source.open()
    stream = rig.source.frames()
    assert (await anext(stream)).capture_ms == 0
    rig.clock.now_s += 2.5
    assert (await anext(stream)).capture_ms == 2000
    assert rig.source.dropped_frames == 1
    await rig.source.aclose()


async def test_closing_while_it_waits_ends_the_frames(rig: Rig) -> None:
    await rig.source.open()
    stream = rig.source.frames()
    await anext(stream)

    async def close_instead(seconds: float) -> None:
        await rig.source.aclose()

    rig.source._sleep = close_instead
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
    assert asyncio.all_tasks() == {asyncio.current_task()}
