"""A small clip made at test time: a dark scene in which a red block appears half-way."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np


def make_clip(
    path: Path, *, seconds: int = 6, fps: int = 10, size: tuple[int, int] = (96, 64)
) -> Path:
    """Write a Motion-JPEG AVI to ``path`` and return it."""
    width, height = size
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), fps, size)
    assert writer.isOpened()
    for number in range(seconds * fps):
        frame = np.full((height, width, 3), 40, np.uint8)
        frame[:, : 1 + number % width] += 20
        if number >= seconds * fps // 2:
            frame[16:48, 32:64] = (0, 0, 220)
        writer.write(frame)
    writer.release()
    return path
