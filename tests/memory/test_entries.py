from __future__ import annotations

import pytest

from onlooker.memory import SummaryRequest, TailTick
from onlooker.memory.entries import tick_frames
from onlooker.types import Ms, TickIndex, VideoState
from tests.memory.words import frame

pytestmark = pytest.mark.pure


def test_pictures_are_counted():
    ticks = [
        TailTick(TickIndex(n), Ms(n), Ms(n), VideoState.FRESH, tuple(map(frame, range(n))), ())
        for n in range(4)
    ]
    assert tick_frames(ticks) == 6
    assert SummaryRequest("chunk-1-1", "chunk", 1, Ms(0), Ms(3), tuple(ticks)).frames == 6
