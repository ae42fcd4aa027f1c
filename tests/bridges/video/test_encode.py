"""One resize, one JPEG encoding, the same bytes every time."""

from __future__ import annotations

import cv2
import pytest

from onlooker.bridges.video.encode import encode_frame, encode_jpeg
from tests.bridges.video.material import decoded, noise

pytestmark = pytest.mark.shell


def test_a_small_picture_is_never_enlarged() -> None:
    pixels = noise(64, 48)
    expected = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()
    assert encode_jpeg(pixels, 1_000_000, 90) == (expected, 64, 48)


def test_b36_max_pixels_holds_and_the_shape_is_kept() -> None:
    data, width, height = encode_jpeg(noise(1920, 1080), 320 * 180, 90)
    assert (width, height) == (320, 180)
    assert decoded(data).shape == (180, 320, 3)


def test_bytes_are_deterministic_and_follow_the_quality() -> None:
    pixels = noise(100, 100)
    assert encode_jpeg(pixels, 5_000, 90) == encode_jpeg(pixels, 5_000, 90)
    assert len(encode_jpeg(pixels, 5_000, 50)[0]) < len(encode_jpeg(pixels, 5_000, 95)[0])


def test_a_strip_longer_than_a_jpeg_may_be_is_brought_within() -> None:
    frame = encode_frame(noise(70_000, 2), 1_000_000, 90, 1234)
    assert frame.width <= 16_384
    assert (frame.media_type, frame.capture_ms) == ("image/jpeg", 1234)
