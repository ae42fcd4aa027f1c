"""The screen, with a stand-in for the optional package that reads it."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from onlooker.bridges.video.capture import CaptureKind, CaptureRequest, open_capture
from onlooker.errors import SourceError

pytestmark = pytest.mark.shell


class FakeScreens:
    """What ``mss.MSS()`` gives: two screens, the second of which shows blue."""

    def __init__(self) -> None:
        self.monitors = [
            {"left": 0, "top": 0, "width": 80, "height": 30},
            {"left": 0, "top": 0, "width": 40, "height": 30},
            {"left": 40, "top": 0, "width": 40, "height": 30},
        ]
        self.is_closed = self.is_gone = False

    def grab(self, monitor: dict[str, int]) -> Any:
        if self.is_gone:
            raise ScreenShotError("the display is gone")
        pixels = np.zeros((monitor["height"], monitor["width"], 4), np.uint8)
        pixels[:, :, 0] = 255
        return SimpleNamespace(
            bgra=pixels.tobytes(), width=monitor["width"], height=monitor["height"]
        )

    def close(self) -> None:
        self.is_closed = True


class ScreenShotError(Exception):
    pass


def asked(target: str) -> CaptureRequest:
    return CaptureRequest(CaptureKind.SCREEN, target, fps=100)


@pytest.fixture
def screens(monkeypatch: pytest.MonkeyPatch) -> FakeScreens:
    found = FakeScreens()
    module = ModuleType("mss")
    module.MSS = lambda: found  # type: ignore[attr-defined]
    module.ScreenShotError = ScreenShotError  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mss", module)
    return found


def test_a_screen_is_a_live_capture(screens: FakeScreens) -> None:
    capture = open_capture(asked("2"))
    assert capture is not None
    assert (capture.facts.width, capture.facts.height) == (40, 30)
    assert (capture.facts.fps, capture.facts.frame_count) == (None, None)
    assert capture.grab()
    assert capture.position_ms() == -1
    pixels = capture.retrieve()
    assert pixels is not None
    assert pixels.shape == (30, 40, 3)
    assert pixels[0, 0].tolist() == [255, 0, 0]
    capture.release()
    assert screens.is_closed


def test_a_display_that_goes_away_is_a_lost_source(screens: FakeScreens) -> None:
    capture = open_capture(asked("0"))
    assert capture is not None
    screens.is_gone = True
    assert capture.grab()
    assert capture.retrieve() is None
    assert not capture.grab()


def test_a_screen_that_is_not_there_lists_those_that_are(screens: FakeScreens) -> None:
    with pytest.raises(SourceError, match="screen:1 to screen:2") as refused:
        open_capture(asked("3"))
    assert refused.value.code == "screen_not_found"
    assert screens.is_closed


def test_without_a_display_it_says_so(
    screens: FakeScreens, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_display() -> FakeScreens:
        raise ScreenShotError("cannot connect")

    monkeypatch.setattr(sys.modules["mss"], "MSS", no_display)
    with pytest.raises(SourceError, match="DISPLAY") as refused:
        open_capture(asked("1"))
    assert refused.value.code == "screen_unavailable"


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mss", None)
    with pytest.raises(SourceError, match="pip install 'mss") as refused:
        open_capture(asked("1"))
    assert refused.value.code == "screen_unavailable"
