"""Small pictures for the report, bounded in size and number however long the run is."""

from __future__ import annotations

import base64
from collections import OrderedDict
from dataclasses import dataclass

import cv2
import numpy as np

from onlooker.types import FrameUuid, Ms

_RECENT = 64
"""Frames whose thumbnail can still be pinned when their tick turns out to matter."""


@dataclass(frozen=True, slots=True)
class Thumbnail:
    uuid: FrameUuid
    capture_ms: Ms
    width: int
    """Pixels."""
    height: int
    """Pixels."""
    jpeg: bytes

    @property
    def data_url(self) -> str:
        return "data:image/jpeg;base64," + base64.b64encode(self.jpeg).decode("ascii")


def shrink(data: bytes, uuid: FrameUuid, capture_ms: Ms, side_px: int) -> Thumbnail | None:
    """Decode ``data`` and scale it to fit a square of ``side_px`` pixels.

    Takes milliseconds of computing: keep it off the event loop. Returns None when the bytes are
    no picture; a report is not the place to complain.
    """
    buffer = np.frombuffer(data, dtype=np.uint8)
    image = cv2.imdecode(buffer, cv2.IMREAD_COLOR) if buffer.size else None
    if image is None:
        return None
    height_px, width_px = image.shape[:2]
    scale = min(1.0, side_px / width_px, side_px / height_px)
    size = (max(1, round(width_px * scale)), max(1, round(height_px * scale)))
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    done, jpeg = cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, 70])
    return Thumbnail(uuid, capture_ms, *size, jpeg.tobytes()) if done else None


class Thumbnails:
    """Keeps an even sample of what was seen, plus the frames of ticks that mattered.

    When the sample is full every second picture goes and from then on only every second one is
    taken, so that the sample stays even over the whole run.
    """

    def __init__(self, limit: int = 240) -> None:
        self._limit = max(2, limit)
        self._stride = 1
        self._seen = 0
        self._sample: dict[FrameUuid, Thumbnail] = {}
        self._pinned: dict[FrameUuid, Thumbnail] = {}
        self._recent: OrderedDict[FrameUuid, Thumbnail] = OrderedDict()

    def offer(self, thumbnail: Thumbnail) -> None:
        """Look at one frame; call it in capture order."""
        uuid = thumbnail.uuid
        self._recent[uuid] = thumbnail
        while len(self._recent) > _RECENT:
            self._recent.popitem(last=False)
        if self._seen % self._stride == 0:
            self._sample.setdefault(uuid, thumbnail)
        self._seen += 1
        if len(self._sample) > self._limit:
            self._thin()

    def pin(self, uuid: FrameUuid) -> None:
        """Keep this frame: its tick spoke. At most as many as the sample are pinned."""
        thumbnail = self._recent.get(uuid)
        if thumbnail is not None and len(self._pinned) < self._limit:
            self._pinned[uuid] = thumbnail

    def kept(self) -> tuple[Thumbnail, ...]:
        """Every kept thumbnail, in capture order."""
        merged = self._sample | self._pinned
        return tuple(sorted(merged.values(), key=lambda t: (t.capture_ms, t.uuid)))

    def _thin(self) -> None:
        self._stride *= 2
        self._sample = dict(list(self._sample.items())[::2])
