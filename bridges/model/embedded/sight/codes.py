"""QR codes in view."""

from __future__ import annotations

import cv2

from onlooker.bridges.model.embedded.sight.picture import Image


def read_codes(image: Image) -> tuple[str, ...]:
    """Contents of the QR codes that can be decoded, sorted; empty when there are none."""
    try:
        found, contents, _, _ = cv2.QRCodeDetector().detectAndDecodeMulti(image)
    except cv2.error:
        # OpenCV raises on pictures too small to hold a code.
        return ()
    return tuple(sorted({text for text in contents if text})) if found else ()
