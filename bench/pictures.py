"""Numbered pictures: small, all different, the same in every run."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from functools import cache

from PIL import Image

from onlooker.types import FrameRef, FrameUuid, Ms

SIZE_PX = 224


@dataclass(frozen=True, slots=True)
class Picture:
    """What the camera saw in one second."""

    ref: FrameRef
    data: bytes


@cache
def picture(second: int) -> Picture:
    """The picture of second ``second``: a plain colour, with its number as a comment."""
    red, green, blue = second * 7 % 256, second * 31 % 256, second * 101 % 256
    file = io.BytesIO()
    image = Image.new("RGB", (SIZE_PX, SIZE_PX), (red, green, blue))
    image.save(file, "JPEG", comment=str(second).encode())
    data = file.getvalue()
    uuid = FrameUuid(hashlib.sha256(data).hexdigest())
    return Picture(FrameRef(uuid, Ms(second * 1000), SIZE_PX, SIZE_PX, len(data)), data)
