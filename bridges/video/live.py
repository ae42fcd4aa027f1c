"""A camera, network stream or screen: what it shows now, and back again when it was lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from onlooker.bridges.base import CapturedFrame, SourceInfo
from onlooker.bridges.video.capture import Capture, CaptureFactory, CaptureRequest
from onlooker.bridges.video.encode import encode_frame
from onlooker.bridges.video.reader import Clock, FrameFormat, Pause, SourceCounts
from onlooker.bridges.video.reconnect import Reconnect
from onlooker.bridges.video.sampling import Sampler
from onlooker.errors import SourceError


class LiveReader:
    """Drains a live capture without pause, so that no queue of old frames builds up in it, and
    samples by arrival on the capture clock, which runs on while the source is away."""

    def __init__(
        self,
        request: CaptureRequest,
        frame_format: FrameFormat,
        *,
        factory: CaptureFactory,
        refusal: Callable[[CaptureRequest], SourceError],
        label: str,
        reconnect: Reconnect,
        pause: Pause = threading.Event.wait,
        clock: Clock = time.monotonic,
    ) -> None:
        self._request = request
        self._format = frame_format
        self._factory = factory
        self._refusal = refusal
        self._label = label
        """What messages call it: never an address with a password."""
        self._policy = reconnect
        self._pause = pause
        self._clock = clock
        self._counts = SourceCounts()
        self._capture: Capture | None = None
        self._stop = threading.Event()
        self._opened_s = 0.0

    @property
    def counts(self) -> SourceCounts:
        return self._counts

    def open(self, stop: threading.Event) -> SourceInfo:
        self._stop = stop
        capture = self._capture = self._factory(self._request)
        if capture is None:
            raise self._refusal(self._request)
        if not capture.grab():
            raise SourceError(
                f"{self._label} opened but shows no picture; check that nothing else uses it and "
                "that it sends video",
                code="no_frames",
            )
        self._opened_s = self._clock()
        facts = capture.facts
        return SourceInfo(facts.width, facts.height, facts.fps, duration_ms=None, live=True)

    def frames(self) -> Iterator[CapturedFrame]:
        # Live frames jitter: a tenth of a period early is still in time for its slot.
        sampler = Sampler(self._format.fps, tolerance_ms=100 / self._format.fps)
        while not self._stop.is_set() and self._capture is not None:
            at_ms = (self._clock() - self._opened_s) * 1000
            if sampler.is_due(at_ms):
                pixels = self._capture.retrieve()
                if pixels is None:
                    self._counts.broken += 1
                else:
                    sampler.take(at_ms)
                    size = self._format
                    yield encode_frame(pixels, size.max_pixels, size.jpeg_quality, int(at_ms))
            if not self._capture.grab():
                self._come_back()

    def close(self) -> None:
        if self._capture is not None:
            self._capture.release()
            self._capture = None

    def _come_back(self) -> None:
        """Open it again and wait for a frame; after the last try the source is given up."""
        self.close()
        for seconds in self._policy.delays_s():
            if not self._stop.is_set():
                self._pause(self._stop, seconds)
            if self._stop.is_set():
                return
            self._capture = self._factory_or_none()
            if self._capture is not None and self._capture.grab():
                self._counts.reconnects += 1
                return
            self.close()
        raise SourceError(
            f"{self._label} was lost and did not come back after {self._policy.tries} tries; "
            "check that it is switched on and reachable, then start again",
            code="source_lost",
        )

    def _factory_or_none(self) -> Capture | None:
        try:
            return self._factory(self._request)
        except SourceError:  # why it is away now does not matter while there are tries left
            return None
