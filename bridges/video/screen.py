"""The screen as a live capture, through the optional package ``mss``."""

from __future__ import annotations

import importlib
import threading
from typing import TYPE_CHECKING, Any

from onlooker.bridges.video.capture import CaptureFacts, CaptureRequest
from onlooker.errors import SourceError

if TYPE_CHECKING:
    from onlooker.bridges.video.encode import Pixels

LONGEST_NAP_S = 0.1
"""Bounds how long a closing source waits for this one."""


class ScreenCapture:
    """``grab`` only waits; the screenshot is taken when a frame is due, so it is never old."""

    def __init__(self, shooter: Any, monitor: dict[str, Any], fps: float) -> None:
        self._shooter = shooter
        self._monitor = monitor
        self._nap_s = min(LONGEST_NAP_S, 1 / fps)
        self._nap = threading.Event()
        self._is_lost = False

    @property
    def facts(self) -> CaptureFacts:
        return CaptureFacts(int(self._monitor["width"]), int(self._monitor["height"]), None, None)

    def grab(self) -> bool:
        self._nap.wait(self._nap_s)
        return not self._is_lost

    def position_ms(self) -> float:
        return -1.0

    def retrieve(self) -> Pixels | None:
        import numpy as np

        try:
            shot = self._shooter.grab(self._monitor)
        except _screenshot_error():
            self._is_lost = True
            return None
        pixels = np.frombuffer(shot.bgra, dtype=np.uint8).reshape(shot.height, shot.width, 4)
        return np.ascontiguousarray(pixels[:, :, :3])

    def release(self) -> None:
        self._shooter.close()


def open_screen(request: CaptureRequest) -> ScreenCapture:
    """Open screen number ``request.target``: 1 is the first, 0 all of them side by side.

    Raises:
        SourceError: ``screen_unavailable`` or ``screen_not_found``, with what is missing.
    """
    try:
        mss = importlib.import_module("mss")
    except ImportError as error:
        raise SourceError(
            "watching the screen needs one more package: pip install 'mss>=10.2'",
            code="screen_unavailable",
        ) from error
    try:
        shooter = mss.MSS()
        monitors = shooter.monitors
    except _screenshot_error() as error:
        raise SourceError(
            "no display can be reached; run this inside a desktop session (on Linux with X11, "
            "DISPLAY set)",
            code="screen_unavailable",
        ) from error
    number = int(request.target)
    if number >= len(monitors):
        shooter.close()
        raise SourceError(
            f"there is no screen {number}; use screen:1 to screen:{len(monitors) - 1}, or "
            "screen:0 for all of them",
            code="screen_not_found",
        )
    return ScreenCapture(shooter, monitors[number], request.fps)


def _screenshot_error() -> type[Exception]:
    error: type[Exception] = importlib.import_module("mss").ScreenShotError
    return error
