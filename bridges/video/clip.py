"""A recorded clip: every sampled frame, on the clip's own clock, at the consumer's pace."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from onlooker.bridges.base import CapturedFrame, SourceInfo
from onlooker.bridges.video.capture import Capture, CaptureFactory, CaptureRequest
from onlooker.bridges.video.encode import encode_frame
from onlooker.bridges.video.reader import FrameFormat, SourceCounts
from onlooker.bridges.video.sampling import MediaClock, Sampler
from onlooker.errors import SourceError

FEWEST_RETRIES = 16
MOST_RETRIES = 1_000
"""Broken frames in a row that are passed over before it counts as the end."""


class ClipReader:
    """Reads a finite clip. Sampling goes by media time alone, so it is exact and repeatable."""

    def __init__(
        self,
        request: CaptureRequest,
        frame_format: FrameFormat,
        *,
        factory: CaptureFactory,
        refusal: Callable[[CaptureRequest], SourceError],
        label: str,
        loop: bool = False,
    ) -> None:
        self._request = request
        self._format = frame_format
        self._factory = factory
        self._refusal = refusal
        self._label = label
        self._loop = loop
        self._counts = SourceCounts()
        self._capture: Capture | None = None
        self._stop = threading.Event()
        self._seen_frames = 0

    @property
    def counts(self) -> SourceCounts:
        return self._counts

    def open(self, stop: threading.Event) -> SourceInfo:
        self._stop = stop
        capture = self._capture = self._opened()
        if not self._grab_next(capture) and not stop.is_set():
            raise self._no_frames()
        facts = capture.facts
        length_ms = (
            round(facts.frame_count * 1000 / facts.fps) if facts.frame_count and facts.fps else None
        )
        return SourceInfo(facts.width, facts.height, facts.fps, length_ms, live=False)

    def frames(self) -> Iterator[CapturedFrame]:
        """Each pass of a looped clip is sampled alike; the capture clock goes on."""
        start_ms = 0.0
        while self._capture is not None:
            clock = MediaClock(self._capture.facts.fps)
            is_empty = True
            for frame in self._one_pass(self._capture, clock, start_ms):
                is_empty = False
                yield frame
            if self._stop.is_set():
                return
            if is_empty:
                raise self._no_frames()
            if not self._loop:
                return
            start_ms += clock.end_ms()
            self._reopen()

    def close(self) -> None:
        if self._capture is not None:
            self._capture.release()
            self._capture = None

    def _one_pass(
        self, capture: Capture, clock: MediaClock, start_ms: float
    ) -> Iterator[CapturedFrame]:
        sampler = Sampler(self._format.fps)
        known = self._seen_frames
        at_ms = clock.advance(capture.position_ms(), known)  # open() grabbed the first frame
        while not self._stop.is_set():
            if sampler.is_due(at_ms):
                pixels = capture.retrieve()
                if pixels is None:
                    self._counts.broken += 1  # the next good frame takes its slot
                else:
                    sampler.take(at_ms)
                    size = self._format
                    yield encode_frame(
                        pixels, size.max_pixels, size.jpeg_quality, round(start_ms + at_ms)
                    )
            known = self._seen_frames
            if not self._grab_next(capture):
                return
            at_ms = clock.advance(capture.position_ms(), self._seen_frames - known)

    def _no_frames(self) -> SourceError:
        return SourceError(
            f"no frame of {self._label} can be decoded; play it elsewhere to see whether it is "
            "whole, or convert it to H.264 in MP4",
            code="no_frames",
        )

    def _opened(self) -> Capture:
        capture = self._factory(self._request)
        if capture is None:
            raise self._refusal(self._request)
        return capture

    def _reopen(self) -> None:
        # Opening anew is exact for every container; seeking is not.
        self.close()
        self._seen_frames = 0
        self._capture = self._opened()
        self._grab_next(self._capture)

    def _grab_next(self, capture: Capture) -> bool:
        """Move to the next frame that decodes, past broken ones; False at the end."""
        rest = (capture.facts.frame_count or 0) - self._seen_frames
        for missed in range(min(MOST_RETRIES, max(FEWEST_RETRIES, rest))):
            if self._stop.is_set():
                return False
            if capture.grab():
                self._counts.broken += missed
                self._seen_frames += missed + 1
                return True
        return False
