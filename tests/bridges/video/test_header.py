"""What the first bytes of a picture say, with hostile lengths and cuts."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlooker.bridges.video.header import JPEG, PNG, WEBP, PictureHeader, read_header
from onlooker.errors import SourceError
from tests.bridges.video.material import picture

pytestmark = pytest.mark.pure

CODES = {"empty_picture", "unsupported_picture", "truncated_picture", "broken_picture"}


def outcome(data: bytes) -> PictureHeader | SourceError:
    try:
        return read_header(data)
    except SourceError as error:
        return error


@pytest.mark.parametrize(
    ("kind", "options", "media_type"),
    [
        ("JPEG", {}, JPEG),
        ("JPEG", {"progressive": True}, JPEG),
        ("PNG", {}, PNG),
        ("WEBP", {}, WEBP),
        ("WEBP", {"lossless": True}, WEBP),
        ("WEBP", {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0"}, WEBP),
    ],
)
def test_size_and_kind_come_from_the_content(
    kind: str, options: dict[str, object], media_type: str
) -> None:
    header = read_header(picture(kind, 123, 45, **options))
    assert (header.media_type, header.width, header.height) == (media_type, 123, 45)
    assert header.is_complete
    assert not header.is_animated


def test_a_thumbnail_inside_a_jpeg_does_not_fool_the_size() -> None:
    inner = picture("JPEG", 16, 16)
    outer = picture("JPEG", 200, 100)
    segment = b"\xff\xe1" + struct.pack(">H", len(inner) + 2) + inner
    header = read_header(outer[:2] + segment + outer[2:])
    assert (header.width, header.height) == (200, 100)


def test_the_thumbnails_end_mark_does_not_complete_a_cut_jpeg() -> None:
    inner, outer = picture("JPEG", 16, 16), picture("JPEG", 200, 100)
    segment = b"\xff\xe1" + struct.pack(">H", len(inner) + 2) + inner
    cut = (outer[:2] + segment + outer[2:])[:-200]
    assert not read_header(cut).is_complete


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"GIF89a" + bytes(40), "a GIF"),
        (b"BM" + bytes(40), "a BMP"),
        (b"  <svg xmlns=''></svg>", "an SVG"),
        (b"<!DOCTYPE html><html></html>", "a web page"),
        (b"\0\0\0\x20ftypheic" + bytes(40), "a HEIC"),
        (b"just some text that is no picture", "this content"),
        (b"RIFF\x10\0\0\0WAVEfmt " + bytes(40), "this content"),
    ],
)
def test_other_content_is_named_and_refused(data: bytes, name: str) -> None:
    with pytest.raises(SourceError, match=name) as refused:
        read_header(data)
    assert refused.value.code == "unsupported_picture"
    assert "JPEG, PNG or a still WebP" in refused.value.message


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_every_cut_is_noticed(kind: str) -> None:
    data = picture(kind, 40, 30)
    for length in range(1, len(data)):
        found = outcome(data[:length])
        if isinstance(found, PictureHeader):
            assert not found.is_complete, length
        else:
            short = {"unsupported_picture"} if length < 12 else set()
            assert found.code in {"truncated_picture"} | short


@settings(max_examples=200)
@given(
    st.sampled_from([b"", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF\x20\0\0\0WEBPVP8 "]),
    st.binary(max_size=120),
)
def test_any_bytes_give_a_header_or_one_typed_error(start: bytes, rest: bytes) -> None:
    found = outcome(start + rest)
    if isinstance(found, PictureHeader):
        assert 0 <= found.width < 1 << 32
    else:
        assert found.code in CODES
        assert "\n" not in found.message


def test_a_jpeg_without_a_size_is_broken() -> None:
    scan = b"\xff\xda" + struct.pack(">H", 2)
    with pytest.raises(SourceError) as refused:
        read_header(b"\xff\xd8" + scan + b"\0\xff\xd9")
    assert refused.value.code == "broken_picture"


def test_a_png_or_webp_without_a_size_is_broken() -> None:
    for data in (
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"tEXt" + bytes(30),
        b"RIFF\x64\0\0\0WEBPICCP" + bytes(90),
    ):
        with pytest.raises(SourceError) as refused:
            read_header(data)
        assert refused.value.code == "broken_picture"


def test_an_animated_png_is_seen() -> None:
    data = picture("PNG")
    body = b"acTL" + struct.pack(">II", 2, 0)
    chunk = struct.pack(">I", 8) + body + struct.pack(">I", zlib.crc32(body))
    assert read_header(data[:33] + chunk + data[33:]).is_animated
