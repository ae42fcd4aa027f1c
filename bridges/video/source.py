"""From what a user typed to an open video source."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

from onlooker.bridges.base import CapturedFrame, SourceInfo, VideoSource
from onlooker.bridges.video.address import (
    SourceSpec,
    camera_refusal,
    parse_spec,
    shown,
    stream_refusal,
)
from onlooker.bridges.video.capture import (
    Capture,
    CaptureFactory,
    CaptureKind,
    CaptureRequest,
    open_capture,
)
from onlooker.bridges.video.clip import ClipReader
from onlooker.bridges.video.diagnose import file_refusal
from onlooker.bridges.video.folder import SUFFIXES, FolderReader
from onlooker.bridges.video.live import LiveReader
from onlooker.bridges.video.paced import PacedSource
from onlooker.bridges.video.reader import Clock, FrameFormat, FrameReader, Pause, SourceCounts
from onlooker.bridges.video.reconnect import Reconnect
from onlooker.bridges.video.threaded import ThreadedSource
from onlooker.errors import ConfigError, SourceError


@runtime_checkable
class CountedSource(VideoSource, Protocol):
    """A video source that also tells what went by unseen."""

    @property
    def dropped_frames(self) -> int: ...

    @property
    def broken_frames(self) -> int: ...

    @property
    def reconnects(self) -> int: ...


@dataclass(frozen=True, slots=True)
class ReaderParts:
    """What every reader is built from."""

    frame_format: FrameFormat
    loop: bool
    reconnect: Reconnect
    open_timeout_s: float
    read_timeout_s: float
    factory: CaptureFactory
    pause: Pause
    clock: Clock

    def request(self, kind: CaptureKind, target: str) -> CaptureRequest:
        return CaptureRequest(
            kind, target, self.open_timeout_s, self.read_timeout_s, self.frame_format.fps
        )


def open_source(
    spec: str,
    *,
    fps: float,
    max_pixels: int,
    jpeg_quality: int = 90,
    live: bool = False,
    loop: bool = False,
    reconnect: Reconnect | None = None,
    open_timeout_s: float = 10.0,
    read_timeout_s: float = 5.0,
    capture_factory: CaptureFactory = open_capture,
    pause: Pause = threading.Event.wait,
    clock: Clock = time.monotonic,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> CountedSource:
    """Make a source of a file, picture folder, camera (``0``), stream address or ``screen``.

    Call it with what an operator chose, never with what a client sent: it reads any file and
    connects to any host. Nothing is opened yet; ``await source.open()`` does that, and
    ``aclose`` must follow. ``capture_factory``, ``pause``, ``clock`` and ``sleep`` are for tests.

    Args:
        spec: What to watch; see ``address.parse_spec``.
        fps: Frames a second to hand out, at most.
        max_pixels: Width times height of a frame, at most; larger ones are scaled down once.
        jpeg_quality: 1 to 100.
        live: Show a recording as it happens, dropping what nobody takes in time.
        loop: Begin a recording again at its end; the capture clock goes on.
        reconnect: Patience with a lost live source.
        open_timeout_s: For streams, in seconds.
        read_timeout_s: After so many seconds without data a stream counts as lost.

    Raises:
        SourceError: ``unsupported_source``.
        ConfigError: A number out of its range.
    """
    frame_format = _checked_format(fps, max_pixels, jpeg_quality)
    parts = ReaderParts(
        *(frame_format, loop, reconnect or Reconnect(), open_timeout_s, read_timeout_s),
        *(capture_factory, pause, clock),
    )
    parsed = parse_spec(spec)
    source = ThreadedSource(_reader(parsed, parts))
    is_recorded = parsed.kind is CaptureKind.FILE
    return PacedSource(source, clock=clock, sleep=sleep) if live and is_recorded else source


def _checked_format(fps: float, max_pixels: int, jpeg_quality: int) -> FrameFormat:
    if not 0.001 <= fps <= 120:
        raise ConfigError(f"fps is {fps:g}; use 0.001 to 120")
    if max_pixels < 64:
        raise ConfigError(f"max_pixels is {max_pixels}; use at least 64")
    if not 1 <= jpeg_quality <= 100:
        raise ConfigError(f"jpeg_quality is {jpeg_quality}; use 1 to 100")
    return FrameFormat(fps, max_pixels, jpeg_quality)


def _reader(spec: SourceSpec, parts: ReaderParts) -> FrameReader:
    match spec.kind:
        case CaptureKind.FILE:
            return ChosenReader(partial(_path_reader, spec, parts))
        case CaptureKind.STREAM:
            return ChosenReader(partial(_stream_reader, spec, parts))
        case CaptureKind.CAMERA | CaptureKind.SCREEN:
            return _live_reader(spec, parts, parts.factory, camera_refusal)


class ChosenReader:
    """A reader that is picked in the thread, because picking it means looking at it."""

    def __init__(self, choose: Callable[[], FrameReader]) -> None:
        self._choose = choose
        self._reader: FrameReader | None = None
        self._none = SourceCounts()

    @property
    def counts(self) -> SourceCounts:
        return self._reader.counts if self._reader is not None else self._none

    def open(self, stop: threading.Event) -> SourceInfo:
        self._reader = self._choose()
        return self._reader.open(stop)

    def frames(self) -> Iterator[CapturedFrame]:
        return self._reader.frames() if self._reader is not None else iter(())

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()


def _path_reader(spec: SourceSpec, parts: ReaderParts) -> FrameReader:
    path = Path(spec.target).expanduser()
    try:
        is_folder = path.is_dir()
        if not is_folder and not path.exists():
            raise SourceError(
                f"{shown(path)} does not exist; check the name, and the folder you run this in",
                code="source_not_found",
            )
    except OSError as error:
        raise SourceError(
            f"{shown(path)} cannot be looked at ({error.strerror}); check the name and permissions",
            code="source_unreadable",
        ) from error
    if is_folder or path.suffix.lower() in SUFFIXES:
        return FolderReader(path, parts.frame_format, loop=parts.loop)
    request = parts.request(CaptureKind.FILE, str(path.absolute()))
    return ClipReader(
        request,
        parts.frame_format,
        factory=parts.factory,
        refusal=file_refusal,
        label=spec.label,
        loop=parts.loop,
    )


def _stream_reader(spec: SourceSpec, parts: ReaderParts) -> FrameReader:
    """An address may hold a clip with an end, or something that goes on; opening it tells."""
    request = parts.request(CaptureKind.STREAM, spec.target)
    refusal = partial(stream_refusal, label=spec.label)
    capture = parts.factory(request)
    if capture is None:
        raise refusal(request)
    factory = OpenedOnce(capture, parts.factory)
    if not spec.target.startswith("http") or capture.facts.frame_count is None:
        return _live_reader(spec, parts, factory, refusal)
    return ClipReader(
        request,
        parts.frame_format,
        factory=factory,
        refusal=refusal,
        label=spec.label,
        loop=parts.loop,
    )


class OpenedOnce:
    """Hands out a capture that is open already, and from then on opens new ones."""

    def __init__(self, capture: Capture, factory: CaptureFactory) -> None:
        self._capture: Capture | None = capture
        self._factory = factory

    def __call__(self, request: CaptureRequest) -> Capture | None:
        capture, self._capture = self._capture, None
        return capture if capture is not None else self._factory(request)


def _live_reader(
    spec: SourceSpec,
    parts: ReaderParts,
    factory: CaptureFactory,
    refusal: Callable[[CaptureRequest], SourceError],
) -> LiveReader:
    return LiveReader(
        parts.request(spec.kind, spec.target),
        parts.frame_format,
        factory=factory,
        refusal=refusal,
        label=spec.label,
        reconnect=parts.reconnect,
        pause=parts.pause,
        clock=parts.clock,
    )
