"""Foreign pictures: refused with one typed error, or brought within the limits once."""

from __future__ import annotations

import asyncio
import io
import struct
import zlib

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from onlooker.bridges.video.picture import (
    LOSSY_FORMATS,
    MAX_PICTURE_SIDE,
    Picture,
    PictureInfo,
    check_picture,
    fit_picture,
    fit_picture_now,
)
from onlooker.errors import SourceError
from tests.bridges.video.material import decoded, noise, picture, turns_during

pytestmark = pytest.mark.shell

KINDS = ["JPEG", "PNG", "WEBP"]


def png_header(width: int, height: int) -> bytes:
    """A PNG that only claims its size: decoding it would fail, or eat the memory."""
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    end = b"\0\0\0\0IEND" + struct.pack(">I", zlib.crc32(b"IEND"))
    signature = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13)
    return signature + body + struct.pack(">I", zlib.crc32(body)) + end


def animated_webp() -> bytes:
    out = io.BytesIO()
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue")]
    frames[0].save(out, "WEBP", save_all=True, append_images=frames[1:], duration=100)
    return out.getvalue()


def outcome(data: bytes) -> Picture | SourceError:
    try:
        return fit_picture_now(data, 600)
    except SourceError as error:
        return error


def refusal_of(data: bytes) -> SourceError:
    with pytest.raises(SourceError) as refused:
        check_picture(data)
    with pytest.raises(SourceError) as refused_too:
        fit_picture_now(data, 1_000_000)
    assert refused_too.value.code == refused.value.code
    assert "\n" not in refused.value.message
    return refused.value


@pytest.mark.parametrize("kind", KINDS)
def test_a_good_picture_is_described(kind: str) -> None:
    assert check_picture(picture(kind, 70, 50)) == PictureInfo(70, 50, f"image/{kind.lower()}")


def test_c22_no_bytes_are_refused() -> None:
    assert refusal_of(b"").code == "empty_picture"


@pytest.mark.parametrize("kind", KINDS)
def test_c22_a_truncated_picture_is_refused(kind: str) -> None:
    assert refusal_of(picture(kind, 300, 200)[:100]).code == "truncated_picture"
    assert refusal_of(picture(kind, 300, 200)[:-20]).code == "truncated_picture"


def test_c22_a_jpeg_without_its_tables_is_refused() -> None:
    data = picture("JPEG", 200, 200)
    assert refusal_of(data.replace(b"\xff\xdb", b"\xff\xfe")).code == "broken_picture"


def test_c22_a_png_with_a_damaged_middle_is_refused() -> None:
    data = bytearray(picture("PNG", 80, 80))
    data[len(data) // 2] ^= 0xFF
    assert refusal_of(bytes(data)).code == "broken_picture"


def test_c22_a_png_declared_as_jpeg_is_what_it_is() -> None:
    # There is no way to declare anything: the content alone counts.
    assert check_picture(picture("PNG")).media_type == "image/png"


@pytest.mark.parametrize("size", [(0, 0), (0, 10), (10, 0)])
def test_c22_a_picture_without_pixels_is_refused(size: tuple[int, int]) -> None:
    assert refusal_of(png_header(*size)).code == "empty_picture"


@pytest.mark.parametrize("size", [(20_000, 20_000), (20_000, 1), (9_000, 9_000), (2**31, 2**31)])
def test_c23_too_large_a_picture_is_refused_from_its_header_naming_the_limit(
    size: tuple[int, int],
) -> None:
    error = refusal_of(png_header(*size))
    assert error.code == "picture_too_large"
    assert str(MAX_PICTURE_SIDE) in error.message
    assert f"{size[0]}x{size[1]}" in error.message


def test_c22_an_animated_webp_is_refused() -> None:
    assert refusal_of(animated_webp()).code == "animated_picture"


@pytest.mark.parametrize("data", [b"GIF89a" + bytes(50), b"not a picture at all", b"\xff\xd8"])
def test_c22_what_is_no_picture_is_refused(data: bytes) -> None:
    assert refusal_of(data).code in {"unsupported_picture", "truncated_picture"}


def test_two_sizes_in_one_picture_are_refused() -> None:
    # The container claims 20x20, the picture inside is larger: a way around the limits.
    data = bytearray(picture("WEBP", 300, 300, exif=b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0"))
    data[24:30] = (19).to_bytes(3, "little") * 2
    assert refusal_of(bytes(data)).code == "broken_picture"


def test_a_jpeg_that_states_a_harmless_size_first_is_refused() -> None:
    data = picture("JPEG", 300, 300)
    false_size = b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, 10, 10, 1) + b"\x01\x11\x00"
    assert refusal_of(data[:2] + false_size + data[2:]).code == "broken_picture"


@settings(max_examples=120)
@given(
    st.sampled_from([picture(k, 40, 30) for k in KINDS]),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=12),
)
def test_c22_a_damaged_picture_decodes_or_gives_one_typed_error(
    data: bytes, damage: list[tuple[float, int]]
) -> None:
    changed = bytearray(data)
    for where, value in damage:
        changed[int(where * len(changed))] = value
    found = outcome(bytes(changed))
    if isinstance(found, SourceError):
        assert found.code.endswith("_picture") or found.code == "picture_too_large"
    else:
        assert decoded(found.data).size <= 3 * 600


@pytest.mark.parametrize("kind", KINDS)
def test_j9_a_picture_within_the_limit_comes_back_byte_for_byte(kind: str) -> None:
    data = picture(kind, 60, 40)
    fitted = fit_picture_now(data, 60 * 40)
    assert fitted.data is data
    assert fitted.info == PictureInfo(60, 40, f"image/{kind.lower()}")


@pytest.mark.parametrize("kind", KINDS)
def test_b36_an_oversized_picture_is_scaled_to_max_pixels_keeping_its_shape(kind: str) -> None:
    fitted = fit_picture_now(picture(kind, 800, 400), 20_000)
    assert fitted.info == PictureInfo(200, 100, "image/jpeg")
    assert decoded(fitted.data).shape == (100, 200, 3)


def test_the_same_picture_always_gives_the_same_bytes() -> None:
    data = picture("PNG", 300, 200)
    assert fit_picture_now(data, 5_000).data == fit_picture_now(data, 5_000).data


def test_j9_scaling_averages_and_encodes_once() -> None:
    pixels = noise(640, 480)
    png = cv2.imencode(".png", pixels)[1].tobytes()
    small = cv2.resize(pixels, (160, 120), interpolation=cv2.INTER_AREA)
    expected = cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()
    assert fit_picture_now(png, 160 * 120).data == expected


def test_a_large_jpeg_is_not_blurred_by_the_decoders_own_scaling() -> None:
    data = picture("JPEG", 2_000, 1_000, quality=95)
    fitted = decoded(fit_picture_now(data, 20_000).data).astype(int)
    exact = cv2.resize(decoded(data), (200, 100), interpolation=cv2.INTER_AREA).astype(int)
    assert np.abs(fitted - exact).mean() < 3


def test_a_rotation_mark_is_obeyed() -> None:
    image = Image.fromarray(
        np.vstack([np.zeros((20, 30, 3)), np.full((20, 30, 3), 255)]).astype("u1")
    )
    exif = Image.Exif()
    exif[0x0112] = 6  # stored lying on its left side
    out = io.BytesIO()
    image.save(out, "JPEG", exif=exif, quality=95)
    fitted = fit_picture_now(out.getvalue(), 10_000)
    assert (fitted.info.width, fitted.info.height) == (40, 30)
    upright = decoded(fitted.data)
    assert upright[:, :15].mean() > 240
    assert upright[:, 25:].mean() < 15


def test_unreadable_notes_do_not_spoil_a_good_picture() -> None:
    data = picture("JPEG", 60, 40)
    notes = b"Exif\0\0this is no directory at all"
    data = data[:2] + b"\xff\xe1" + struct.pack(">H", len(notes) + 2) + notes + data[2:]
    assert fit_picture_now(data, 10_000).data is data
    assert fit_picture_now(data, 600).info == PictureInfo(30, 20, "image/jpeg")


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_what_is_transparent_becomes_white(kind: str) -> None:
    out = io.BytesIO()
    Image.new("RGBA", (100, 100), (0, 0, 0, 0)).save(out, kind)
    assert decoded(fit_picture_now(out.getvalue(), 400).data).min() > 250


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "CMYK", "I;16"])
def test_every_colour_mode_can_be_scaled(mode: str) -> None:
    if mode == "I;16":
        image = Image.fromarray(np.full((60, 60), 128 << 8, np.uint16))
    else:
        image = Image.new("L", (60, 60), 128).convert(mode)
    out = io.BytesIO()
    image.save(out, "JPEG" if mode == "CMYK" else "PNG")
    scaled = decoded(fit_picture_now(out.getvalue(), 400).data)
    assert scaled.shape == (20, 20, 3)
    assert abs(float(scaled.mean()) - 128) < 4


def test_a_lossless_picture_can_be_asked_for_as_jpeg() -> None:
    fitted = fit_picture_now(picture("PNG"), 1_000_000, keep=LOSSY_FORMATS)
    assert fitted.info.media_type == "image/jpeg"


async def test_c25_b10_fifty_large_pictures_are_scaled_beside_the_event_loop() -> None:
    data = picture("JPEG", 1920, 1080)
    fitted, turns = await turns_during(
        asyncio.gather(*(fit_picture(data, 100_000) for _ in range(50)))
    )
    assert {f.info.width for f in fitted} == {421}
    # On the loop each picture would be one turn: 50 in all, with nothing in between.
    assert turns > 500


async def test_b10_a_broken_picture_is_an_error_and_never_passed_through() -> None:
    with pytest.raises(SourceError) as refused:
        await fit_picture(picture("JPEG", 300, 200)[:-100], 1_000_000)
    assert refused.value.code == "truncated_picture"
