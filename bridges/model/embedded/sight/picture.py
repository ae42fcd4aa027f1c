"""One picture: its bytes in a request, and the glance that costs about a millisecond."""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from onlooker.bridges.model.embedded.sight.colours import colour_shares

Image: TypeAlias = NDArray[Any]
"""Height x width x 3, 8-bit BGR."""

_THUMB: Final = (96, 54)
_MAX_SIDE: Final = 1_280
"""Pixels; larger pictures are reduced before anything looks at them."""


class UnreadablePicture(Exception):
    """The bytes are no picture; the message is in the words of vLLM."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as one content part of a request carries it."""

    index: int
    """Number among the pictures of the request, from 0."""
    key: str
    """The uuid, or else a hash of the data URL."""
    url: str | None
    """None: by reference only."""

    def bytes(self) -> bytes | None:
        """The encoded bytes, None when it came by reference."""
        return None if self.url is None else _payload(self.url)


def picture_of(index: int, uuid: str | None, url: str | None) -> Picture:
    if uuid is not None:
        return Picture(index, uuid, url)
    return Picture(index, hashlib.sha256((url or "").encode()).hexdigest(), url)


def _payload(url: str) -> bytes:
    header, comma, payload = url.partition(",")
    if not comma or not header.startswith("data:") or not header.endswith(";base64"):
        raise UnreadablePicture("Only data URLs of base64 are read by the embedded eye")
    try:
        return base64.b64decode(payload, validate=True)
    except binascii.Error as error:
        raise UnreadablePicture("Non-base64 digit found") from error


def decode(data: bytes) -> Image:
    """Pixels of an encoded picture, at most 1,280 on a side; raises :class:`UnreadablePicture`."""
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    except cv2.error as error:
        raise UnreadablePicture("Failed to load image: it cannot be decoded") from error
    if image is None:
        raise UnreadablePicture("Failed to load image: cannot identify image file")
    scale = _MAX_SIDE / max(image.shape[:2])
    if scale >= 1:
        return image
    size = (max(1, int(image.shape[1] * scale)), max(1, int(image.shape[0] * scale)))
    return cv2.resize(image, size, interpolation=cv2.INTER_AREA)


@dataclass(frozen=True, slots=True, eq=False)
class Glance:
    """What OpenCV alone tells of one picture; small enough to keep for hundreds of them."""

    width: int
    """Pixels, as encoded (up to the reduction)."""
    height: int
    grey: NDArray[np.uint8]
    """Thumbnail, for comparing with the next picture."""
    histogram: NDArray[np.float32]
    luma: float
    """Mean brightness, 0 to 255."""
    colours: dict[str, float]
    """Share of the picture by colour name, largest first."""


def glance(image: Image) -> Glance:
    height, width = image.shape[:2]
    thumb = cv2.resize(image, _THUMB, interpolation=cv2.INTER_AREA)
    grey = cv2.cvtColor(thumb, cv2.COLOR_BGR2GRAY)
    histogram = cv2.calcHist([thumb], [0, 1, 2], None, [8, 8, 8], [0, 256, 0, 256, 0, 256])
    total = max(float(histogram.sum()), 1.0)
    return Glance(
        width=width,
        height=height,
        grey=grey.astype(np.uint8, copy=False),
        histogram=(histogram / total).astype(np.float32),
        luma=float(grey.mean()),
        colours=colour_shares(thumb),
    )
