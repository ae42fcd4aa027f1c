"""One resize and one JPEG encoding per picture; its bytes are final from there.

OpenCV is imported where it is used: loading it costs a tenth of a second and 60 MB that only
those who look at video should pay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from onlooker.bridges.base import CapturedFrame
from onlooker.bridges.video.header import JPEG
from onlooker.bridges.video.sampling import fit_size

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels: TypeAlias = NDArray[np.uint8]
    """Height x width x 3, blue first, upright."""

MAX_JPEG_SIDE = 16_384
"""Pixels; a JPEG holds 65,535, engines give up earlier."""


def encode_jpeg(pixels: Pixels, max_pixels: int, quality: int) -> tuple[bytes, int, int]:
    """Scale down to ``max_pixels`` (never up, shape kept) and encode: bytes, width, height.

    The same pixels always give the same bytes.
    """
    import cv2

    height, width = pixels.shape[:2]
    size = fit_size(width, height, max_pixels, MAX_JPEG_SIDE)
    scaled = (
        pixels
        if size == (width, height)
        else cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    )
    done, encoded = cv2.imencode(".jpg", scaled, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not done:
        raise AssertionError("the JPEG encoder refused a picture that has pixels")
    return encoded.tobytes(), size[0], size[1]


def encode_frame(pixels: Pixels, max_pixels: int, quality: int, capture_ms: int) -> CapturedFrame:
    """The frame as it will be sent, with the time at which it was taken."""
    data, width, height = encode_jpeg(pixels, max_pixels, quality)
    return CapturedFrame(data, JPEG, width, height, capture_ms)
