"""Size and kind of a picture from its first bytes, without decoding a pixel. Pure.

Pictures come from strangers, so nothing here trusts a length field, and every way in which the
bytes can be wrong ends in a ``SourceError`` with a code of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from onlooker.errors import SourceError

JPEG: Final = "image/jpeg"
PNG: Final = "image/png"
WEBP: Final = "image/webp"

_PNG_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_JPEG_FRAME_MARKERS: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE_MARKERS: Final = frozenset({0x01, *range(0xD0, 0xD9)})
_JPEG_SCAN: Final = 0xDA
_JPEG_END: Final = b"\xff\xd9"

_OTHER_KINDS: Final = (
    (b"GIF8", "a GIF"),
    (b"BM", "a BMP"),
    (b"II*\x00", "a TIFF"),
    (b"MM\x00*", "a TIFF"),
    (b"%PDF", "a PDF"),
    (b"<svg", "an SVG"),
    (b"<?xml", "an SVG or XML text"),
    (b"<!DOCTYPE", "a web page"),
    (b"<html", "a web page"),
)


@dataclass(frozen=True, slots=True)
class PictureHeader:
    media_type: str
    """Found in the content; what the sender declared plays no part."""
    width: int
    """Pixels, as stored (before any rotation mark is obeyed)."""
    height: int
    is_animated: bool
    is_complete: bool
    """The end mark is there. A picture can still be broken in the middle."""


def truncated() -> SourceError:
    return SourceError(
        "the picture is cut off before its end; send the whole file", code="truncated_picture"
    )


def read_header(data: bytes) -> PictureHeader:
    """Read the header of a JPEG, PNG or WebP; cheap enough for the event loop.

    Raises:
        SourceError: ``empty_picture``, ``unsupported_picture`` or ``truncated_picture``.
    """
    if not data:
        raise SourceError("the picture has no bytes; send a whole file", code="empty_picture")
    if data.startswith(b"\xff\xd8\xff"):
        return _read_jpeg(data)
    if data.startswith(_PNG_SIGNATURE):
        return _read_png(data)
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return _read_webp(data)
    if len(data) < 12 and any(s.startswith(data) for s in (b"\xff\xd8\xff", _PNG_SIGNATURE)):
        raise truncated()
    raise SourceError(
        f"{_kind_of(data)} is not supported; send JPEG, PNG or a still WebP",
        code="unsupported_picture",
    )


def _kind_of(data: bytes) -> str:
    if data[4:8] == b"ftyp":
        return "a HEIC, AVIF or video file"
    start = data[:64].lstrip()
    return next((name for mark, name in _OTHER_KINDS if start.startswith(mark)), "this content")


def _read_jpeg(data: bytes) -> PictureHeader:
    size: tuple[int, int] | None = None
    at = 2
    while True:
        marker, at = _next_jpeg_marker(data, at)
        if marker in _JPEG_BARE_MARKERS:
            continue
        length = int.from_bytes(data[at : at + 2], "big")
        if length < 2 or at + length > len(data):
            raise truncated()
        if marker in _JPEG_FRAME_MARKERS and length >= 8 and size is None:
            height = int.from_bytes(data[at + 3 : at + 5], "big")
            size = int.from_bytes(data[at + 5 : at + 7], "big"), height
        at += length
        if marker == _JPEG_SCAN:
            break
    if size is None:
        raise SourceError("the JPEG states no size; re-save it", code="broken_picture")
    # Inside a scan 0xFF is followed by 0, so the two bytes of the end mark mean the end.
    return PictureHeader(JPEG, *size, False, data.rfind(_JPEG_END, at) >= 0)


def _next_jpeg_marker(data: bytes, at: int) -> tuple[int, int]:
    """The next marker at or after ``at``, and where its length field starts."""
    at = data.find(b"\xff", at)
    while 0 <= at < len(data) and data[at] == 0xFF:
        at += 1
    if at < 0 or at >= len(data) or data[at] == 0xD9:
        raise truncated()
    return data[at], at + 1


def _read_png(data: bytes) -> PictureHeader:
    if len(data) < 33:
        raise truncated()
    if data[12:16] != b"IHDR":
        raise SourceError("the PNG states no size; re-save it", code="broken_picture")
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    is_animated = is_complete = False
    at = 33
    while at + 12 <= len(data) and not is_complete:
        kind = data[at + 4 : at + 8]
        at += 12 + int.from_bytes(data[at : at + 4], "big")
        is_animated = is_animated or kind == b"acTL"
        is_complete = kind == b"IEND" and at <= len(data)
    return PictureHeader(PNG, width, height, is_animated, is_complete)


def _read_webp(data: bytes) -> PictureHeader:
    if len(data) < 30:
        raise truncated()
    is_complete = int.from_bytes(data[4:8], "little") + 8 <= len(data)
    kind, body = data[12:16], data[20:]
    if kind == b"VP8X":
        width = int.from_bytes(body[4:7], "little") + 1
        height = int.from_bytes(body[7:10], "little") + 1
        return PictureHeader(WEBP, width, height, bool(body[0] & 0x02), is_complete)
    if kind == b"VP8L" and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        return PictureHeader(WEBP, width, height, False, is_complete)
    if kind == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        width = int.from_bytes(body[6:8], "little") & 0x3FFF
        height = int.from_bytes(body[8:10], "little") & 0x3FFF
        return PictureHeader(WEBP, width, height, False, is_complete)
    raise SourceError("the WebP states no size; re-save it", code="broken_picture")
