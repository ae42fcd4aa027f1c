"""The one place that touches ``cv2.VideoCapture``.

Readers see the small ``Capture`` protocol, so that tests can put a scripted one in its place.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, cast

if TYPE_CHECKING:
    import cv2

    from onlooker.bridges.video.encode import Pixels

HIGHEST_FPS: Final = 480.0
"""Above it a stated rate is the container's clock, not a frame rate."""


class CaptureKind(StrEnum):
    FILE = "file"
    CAMERA = "camera"
    STREAM = "stream"
    SCREEN = "screen"


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """What to open, and how long to wait for it."""

    kind: CaptureKind
    target: str
    """Path, address, or the number of the camera or screen."""
    open_timeout_s: float = 10.0
    read_timeout_s: float = 5.0
    fps: float = 1.0
    """How often frames are wanted; only a screen is asked for them at that rate."""


@dataclass(frozen=True, slots=True)
class CaptureFacts:
    """What an open capture says about itself."""

    width: int
    """Pixels, after the rotation mark was obeyed."""
    height: int
    fps: float | None
    frame_count: int | None
    """None when it has no known end."""


class Capture(Protocol):
    """One open device, file or stream; used and released by a single thread."""

    @property
    def facts(self) -> CaptureFacts: ...

    def grab(self) -> bool:
        """Move to the next frame; False at the end, after a time-out, or for a broken one."""
        ...

    def position_ms(self) -> float:
        """Media time of the grabbed frame as the container states it; -1 when it does not."""
        ...

    def retrieve(self) -> Pixels | None:
        """The grabbed frame's pixels; None when it cannot be decoded."""
        ...

    def release(self) -> None: ...


CaptureFactory: TypeAlias = Callable[[CaptureRequest], Capture | None]
"""Opens a capture, or gives None when it would not open; raises ``SourceError`` if it knows why."""


@functools.cache
def quiet_opencv() -> None:
    """Keep OpenCV and the FFmpeg inside it from writing on the user's terminal, and set RTSP up.

    Both read these variables when they first open a capture, so it must happen before that, once
    a process. What the user set is left alone.
    """
    import cv2

    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
    # RTSP over UDP loses packets and is stopped by most routers.
    os.environ.setdefault("OPENCV_FFMPEG_CAPTURE_OPTIONS", "rtsp_transport;tcp")
    os.environ.setdefault("OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT", "5")
    if "OPENCV_LOG_LEVEL" not in os.environ:
        cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)


class OpenCvCapture:
    """A file, stream or camera through OpenCV."""

    def __init__(self, capture: cv2.VideoCapture) -> None:
        self._capture = capture
        self._facts = _facts(capture)

    @property
    def facts(self) -> CaptureFacts:
        return self._facts

    def grab(self) -> bool:
        return self._capture.grab()

    def position_ms(self) -> float:
        import cv2

        return self._capture.get(cv2.CAP_PROP_POS_MSEC)

    def retrieve(self) -> Pixels | None:
        import cv2
        import numpy as np

        try:
            # Its stub promises an array; OpenCV gives None where a frame could not be had.
            done, pixels = cast("tuple[bool, Pixels | None]", self._capture.retrieve())
        except cv2.error:  # a frame its converter cannot take is one broken frame
            return None
        return np.asarray(pixels, dtype=np.uint8) if done and pixels is not None else None

    def release(self) -> None:
        self._capture.release()


def open_capture(request: CaptureRequest) -> Capture | None:
    """Open what is asked for; None when OpenCV cannot, for reasons it keeps to itself."""
    if request.kind is CaptureKind.SCREEN:
        from onlooker.bridges.video.screen import open_screen

        return open_screen(request)
    quiet_opencv()
    import cv2

    if request.kind is CaptureKind.CAMERA:
        backend = cv2.CAP_V4L2 if sys.platform == "linux" else cv2.CAP_ANY
        capture = cv2.VideoCapture(int(request.target), backend)
        if capture.isOpened():
            capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)  # where obeyed: no queue of old frames
    else:
        capture = cv2.VideoCapture(request.target, cv2.CAP_FFMPEG, _open_options(request))
    if capture.isOpened():
        return OpenCvCapture(capture)
    capture.release()
    return None


def _open_options(request: CaptureRequest) -> list[int]:
    import cv2

    if request.kind is CaptureKind.FILE:
        return []
    return [
        *(cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, round(request.open_timeout_s * 1000)),
        *(cv2.CAP_PROP_READ_TIMEOUT_MSEC, round(request.read_timeout_s * 1000)),
        # Frame threads hold back as many frames as there are threads: delay on a live stream.
        *(cv2.CAP_PROP_N_THREADS, 1),
    ]


def _facts(capture: cv2.VideoCapture) -> CaptureFacts:
    import cv2

    fps, count = capture.get(cv2.CAP_PROP_FPS), capture.get(cv2.CAP_PROP_FRAME_COUNT)
    return CaptureFacts(
        width=max(0, int(capture.get(cv2.CAP_PROP_FRAME_WIDTH))),
        height=max(0, int(capture.get(cv2.CAP_PROP_FRAME_HEIGHT))),
        fps=fps if 0 < fps <= HIGHEST_FPS else None,
        frame_count=int(count) if count > 0 else None,
    )
