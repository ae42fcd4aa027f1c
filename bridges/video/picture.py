"""Pictures made by somebody else: judged before anything else sees them, shrunk off the loop.

A picture that passes here decodes; one that does not is refused with one typed error, so it can
never enter a prompt and fail every later request (C22).
"""

from __future__ import annotations

import asyncio
import io
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from onlooker.bridges.video.encode import encode_jpeg
from onlooker.bridges.video.header import JPEG, PNG, WEBP, PictureHeader, read_header, truncated
from onlooker.bridges.video.sampling import fit_size
from onlooker.errors import SourceError

if TYPE_CHECKING:
    from PIL.Image import Image

    from onlooker.bridges.video.encode import Pixels

MAX_PICTURE_SIDE: Final = 16_384
"""Pixels along the longer side of a picture that may be decoded."""
MAX_PICTURE_PIXELS: Final = 50_000_000
"""Pixels of a picture that may be decoded: 150 MB once unpacked."""

ANY_FORMAT: Final = frozenset({JPEG, PNG, WEBP})
LOSSY_FORMATS: Final = frozenset({JPEG, WEBP})

_ORIENTATION: Final = 0x0112
_UPRIGHT: Final = 1


@dataclass(frozen=True, slots=True)
class PictureInfo:
    """What a checked picture is."""

    width: int
    """Pixels, as stored."""
    height: int
    """Pixels, as stored."""
    media_type: str
    """Found in the content, whatever was declared."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Encoded bytes ready to send."""

    data: bytes
    info: PictureInfo


def check_picture(data: bytes) -> PictureInfo:
    """Say what a picture is, or refuse it. Decodes it, so call it off the event loop.

    Too large a picture is refused from its header, before a pixel is unpacked.

    Raises:
        SourceError: with code ``empty_picture``, ``unsupported_picture``, ``truncated_picture``,
            ``picture_too_large``, ``animated_picture`` or ``broken_picture``.
    """
    header = checked_header(data)
    with _opened(data, header) as image:
        _prove(image, header)
    return _info(header)


def checked_header(data: bytes) -> PictureHeader:
    """The part of ``check_picture`` that reads only the header; cheap enough for the loop."""
    header = read_header(data)
    width, height = header.width, header.height
    if width == 0 or height == 0:
        raise SourceError(
            f"the picture is {width}x{height} and shows nothing; send a real one",
            code="empty_picture",
        )
    if max(width, height) > MAX_PICTURE_SIDE or width * height > MAX_PICTURE_PIXELS:
        raise SourceError(
            f"the picture is {width}x{height}; the limits are {MAX_PICTURE_SIDE} pixels a side "
            f"and {MAX_PICTURE_PIXELS // 1_000_000} million in all, so scale it down",
            code="picture_too_large",
        )
    if header.is_animated:
        raise SourceError(
            "animated pictures are not supported; send one still picture at a time",
            code="animated_picture",
        )
    if not header.is_complete:
        raise truncated()
    return header


def fit_picture_now(
    data: bytes, max_pixels: int, *, jpeg_quality: int = 90, keep: frozenset[str] = ANY_FORMAT
) -> Picture:
    """Check a picture and bring it within ``max_pixels``; for use in a thread.

    A picture that already fits, stands upright and is of a format in ``keep`` comes back byte
    for byte: a second lossy encoding would only blur it. Any other becomes a JPEG, once.
    """
    header = checked_header(data)
    with _opened(data, header) as image:
        is_upright = _is_upright(image)
        fits = header.width * header.height <= max_pixels
        if fits and is_upright and header.media_type in keep:
            _prove(image, header)
            return Picture(data, _info(header))
        pixels = _upright_pixels(image, max_pixels)
    encoded, width, height = encode_jpeg(pixels, max_pixels, jpeg_quality)
    return Picture(encoded, PictureInfo(width, height, JPEG))


async def fit_picture(data: bytes, max_pixels: int, *, jpeg_quality: int = 90) -> Picture:
    """Check a picture and bring it within ``max_pixels``, off the event loop (C25).

    Raises:
        SourceError: as ``check_picture`` does.
    """
    checked_header(data)  # what is plainly wrong never costs a thread
    return await asyncio.to_thread(fit_picture_now, data, max_pixels, jpeg_quality=jpeg_quality)


def _info(header: PictureHeader) -> PictureInfo:
    return PictureInfo(header.width, header.height, header.media_type)


@contextmanager
def _opened(data: bytes, header: PictureHeader) -> Iterator[Image]:
    """The picture opened lazily; whatever its decoder stumbles over becomes one typed error."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data), formats=(header.media_type[6:].upper(),)) as image:
            if image.size != (header.width, header.height):
                raise ValueError("two different sizes are stated")
            yield image
    except (
        # Decoders fed with damaged bytes raise whatever their parsing runs into.
        *(OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error),
        *(LookupError, TypeError, OverflowError),
        *(Image.DecompressionBombError, Image.DecompressionBombWarning),
    ) as error:
        raise SourceError(
            "the picture cannot be decoded; re-save it and send it again", code="broken_picture"
        ) from error


def _is_upright(image: Image) -> bool:
    """No usable rotation mark asks for a turn. Unreadable notes do not spoil a good picture."""
    try:
        return image.getexif().get(_ORIENTATION, _UPRIGHT) not in range(2, 9)
    except (SyntaxError, ValueError, TypeError, LookupError, struct.error):
        return True


def _prove(image: Image, header: PictureHeader) -> None:
    """Decode to the last byte, as cheaply as the format allows."""
    if header.media_type == JPEG:
        # All data is read, but only an eighth of each side is unpacked.
        image.draft(image.mode, (max(1, header.width // 8), max(1, header.height // 8)))
    image.load()


def _upright_pixels(image: Image, max_pixels: int) -> Pixels:
    """Decoded, turned as its rotation mark says, on white where it is transparent."""
    import cv2
    import numpy as np
    from PIL import Image, ImageOps

    # The JPEG decoder may do a part of the scaling, down to twice the wanted size.
    width, height = fit_size(*image.size, max_pixels, MAX_PICTURE_SIDE)
    image.draft(image.mode, (2 * width, 2 * height))
    upright = image if _is_upright(image) else ImageOps.exif_transpose(image)
    if upright.mode.startswith("I"):  # 16-bit grey, which a plain conversion would clip
        wide = np.asarray(upright).astype(np.uint32)
        grey: Pixels = (wide >> 8).clip(0, 255).astype(np.uint8)
        return np.repeat(grey[:, :, None], 3, axis=2)
    if upright.has_transparency_data:
        seen_through = upright.convert("RGBA")
        upright = Image.new("RGBA", seen_through.size, "white")
        upright.alpha_composite(seen_through)
    pixels: Pixels = np.asarray(upright.convert("RGB"))
    return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), dtype=np.uint8)
