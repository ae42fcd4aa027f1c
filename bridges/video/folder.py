"""A folder of pictures, in the order of their names, as if it were a clip."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

from onlooker.bridges.base import CapturedFrame, SourceInfo
from onlooker.bridges.video.address import shown
from onlooker.bridges.video.picture import LOSSY_FORMATS, Picture, fit_picture_now
from onlooker.bridges.video.reader import FrameFormat, SourceCounts
from onlooker.errors import SourceError

SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp"})


def name_order(path: Path) -> tuple[list[tuple[bool, int, str]], str]:
    """Sorting key under which frame_2 comes before frame_10."""
    parts = re.findall(r"\d+|\D+", path.name.lower())
    key = [(not p.isdecimal(), int(p) if p.isdecimal() else 0, p) for p in parts]
    return key, path.name


class FolderReader:
    """Picture i is taken to be shot at i/fps. A bad picture is passed over and keeps its time,
    so the others keep theirs. JPEG and WebP that already fit go out byte for byte (J9). The
    size in ``SourceInfo`` is that of the first picture as it is handed out."""

    def __init__(self, path: Path, frame_format: FrameFormat, *, loop: bool = False) -> None:
        self._path = path
        self._format = frame_format
        self._loop = loop
        self._counts = SourceCounts()
        self._stop = threading.Event()
        self._pictures: list[Path] = []

    @property
    def counts(self) -> SourceCounts:
        return self._counts

    def open(self, stop: threading.Event) -> SourceInfo:
        self._stop = stop
        self._pictures = self._listed()
        first = next((fit for _, fit in self._usable()), None)
        self._counts.broken = 0  # they are met, and counted, again by frames()
        if first is None and not stop.is_set():
            raise SourceError(
                f"none of the pictures in {shown(self._path)} can be used; check one of them "
                "in a viewer",
                code="no_frames",
            )
        width, height = (first.info.width, first.info.height) if first else (0, 0)
        length_ms = round(len(self._pictures) * 1000 / self._format.fps)
        return SourceInfo(width, height, self._format.fps, length_ms, live=False)

    def frames(self) -> Iterator[CapturedFrame]:
        start = 0
        is_empty = False
        while not is_empty and not self._stop.is_set():
            is_empty = True
            for index, picture in self._usable():
                is_empty = False
                info = picture.info
                at_ms = round((start + index) * 1000 / self._format.fps)
                yield CapturedFrame(picture.data, info.media_type, info.width, info.height, at_ms)
            start += len(self._pictures)
            if not self._loop:
                return

    def close(self) -> None:
        self._pictures = []

    def _listed(self) -> list[Path]:
        entries = [self._path] if self._path.is_file() else list(self._path.iterdir())
        pictures = [
            entry
            for entry in entries
            if entry.suffix.lower() in SUFFIXES and not entry.name.startswith(".")
        ]
        if not pictures:
            raise SourceError(
                f"{shown(self._path)} holds no pictures; put .jpg, .png or .webp files directly "
                "into it",
                code="empty_folder",
            )
        return sorted(pictures, key=name_order)

    def _usable(self) -> Iterator[tuple[int, Picture]]:
        for index, path in enumerate(self._pictures):
            if self._stop.is_set():
                return
            try:
                picture = fit_picture_now(
                    path.read_bytes(),
                    self._format.max_pixels,
                    jpeg_quality=self._format.jpeg_quality,
                    keep=LOSSY_FORMATS,
                )
            except (SourceError, OSError):
                self._counts.broken += 1
                continue
            yield index, picture
