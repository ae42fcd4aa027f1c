"""Why a file did not open, read from its bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onlooker.bridges.video.capture import CaptureKind
from onlooker.bridges.video.diagnose import file_refusal
from onlooker.errors import SourceError
from tests.bridges.video.material import request, write_clip

pytestmark = pytest.mark.shell


def refusal_of(path: Path) -> SourceError:
    error = file_refusal(request(CaptureKind.FILE, str(path)))
    assert "\n" not in error.message
    assert ";" in error.message, "says what to do"
    return error


def box(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", 8 + len(body)) + kind + body


def mp4(*tracks: tuple[bytes, bytes]) -> bytes:
    """An index of tracks (handler, codec) behind data of a 64-bit length, as large files have."""
    index = b"".join(
        box(b"hdlr", bytes(8) + handler + bytes(12)) + box(b"stsd", bytes(12) + codec)
        for handler, codec in tracks
    )
    data = struct.pack(">I", 1) + b"mdat" + struct.pack(">Q", 16 + 50) + bytes(50)
    return box(b"ftyp", b"isom" + bytes(4)) + data + box(b"moov", index)


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"", "empty_file", "is empty"),
        (b"only text, no video" * 9, "broken_file", "not a video"),
        (mp4((b"soun", b"mp4a")), "no_video_stream", "no video"),
        (mp4((b"soun", b"mp4a"), (b"vide", b"ap4x")), "unsupported_codec", "codec ap4x"),
        (mp4((b"vide", b"\0\n%s"[:4])), "unsupported_codec", "codec"),
        (mp4((b"vide", b"avc1"))[:70], "broken_file", "index is missing"),
        (box(b"ftyp", b"isom") + b"\0\0\0\x03mdat", "broken_file", "index is missing"),
        (mp4((b"soun", b"vide")), "no_video_stream", "no video"),
        (b"RIFF\0\0\0\0AVI LIST strhauds", "no_video_stream", "no video"),
        (b"RIFF\0\0\0\0AVI strhvidsXVID LISTmovi", "broken_file", "before its first frame"),
        (b"RIFF\0\0\0\0AVI strhvidsIV50 LISTmovi00dc", "unsupported_codec", "codec IV50"),
        (b"\x1aE\xdf\xa3 V_PRORES A_AAC", "unsupported_codec", "codec V_PRORES"),
        (b"\x1aE\xdf\xa3 A_OPUS", "no_video_stream", "no video"),
        (b"\x1aE\xdf\xa3", "broken_file", "no track"),
        (b"RIFF\0\0\0\0WAVEfmt ", "no_video_stream", "no video"),
        (b"ID3\x04 some song", "no_video_stream", "no video"),
        (b"OggS vorbis", "no_video_stream", "no video"),
        (b"OggS \x80theora", "broken_file", "not a video"),
    ],
)
def test_the_reason_is_found(tmp_path: Path, data: bytes, code: str, words: str) -> None:
    (tmp_path / "clip").write_bytes(data)
    error = refusal_of(tmp_path / "clip")
    assert error.code == code
    assert words in error.message


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert refusal_of(tmp_path / "gone.mp4").code == "source_unreadable"


def test_a_line_break_in_a_name_stays_out_of_the_message(tmp_path: Path) -> None:
    (tmp_path / "a\nb").write_bytes(b"")
    assert "a?b is empty" in refusal_of(tmp_path / "a\nb").message


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([b"", b"\0\0\0\x10ftyp", b"RIFF\0\0\0\0AVI ", b"\x1aE\xdf\xa3"]),
    st.binary(max_size=100),
)
def test_any_content_gets_a_reason(tmp_path: Path, start: bytes, rest: bytes) -> None:
    (tmp_path / "clip").write_bytes(start + rest)
    refusal_of(tmp_path / "clip")


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda data: data[: len(data) // 2], "broken_file"),
        (lambda data: data.replace(b"vide", b"soun"), "no_video_stream"),
    ],
)
def test_a_damaged_real_file_is_judged_alike(
    tmp_path: Path, damage: Callable[[bytes], bytes], code: str
) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 5, 10, "mp4v")
    clip.write_bytes(damage(clip.read_bytes()))
    assert refusal_of(clip).code == code
