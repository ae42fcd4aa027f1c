"""Why a file did not open: OpenCV only says that it did not, a user needs to know what to do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO, Final

from onlooker.bridges.video.address import shown
from onlooker.bridges.video.capture import CaptureRequest
from onlooker.errors import SourceError

HEAD_BYTES: Final = 1 << 20
LARGEST_INDEX_BYTES: Final = 32 << 20

_SOUND_MARKS: Final = (b"ID3", b"fLaC", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")
_CONVERT: Final = "convert it, for example with: ffmpeg -i INPUT -c:v libx264 OUTPUT.mp4"


def file_refusal(request: CaptureRequest) -> SourceError:
    """The most useful one-line reason why this file could not be opened; reads parts of it."""
    path = Path(request.target)
    try:
        with path.open("rb") as file:
            return _judge(path, file)
    except OSError as error:
        return SourceError(
            f"{shown(path)} cannot be read ({error.strerror}); check its permissions",
            code="source_unreadable",
        )


def _judge(path: Path, file: BinaryIO) -> SourceError:
    head = file.read(HEAD_BYTES)
    if not head:
        return SourceError(f"{shown(path)} is empty; copy it again", code="empty_file")
    if head[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free"):
        return _judge_mp4(path, file)
    if head[:4] == b"RIFF" and head[8:12] == b"AVI ":
        return _judge_avi(path, head)
    if head[:4] == b"\x1aE\xdf\xa3":
        return _judge_matroska(path, head)
    is_sound = head.startswith(_SOUND_MARKS) or head[8:12] == b"WAVE"
    if is_sound or (head[:4] == b"OggS" and b"theora" not in head):
        return _no_video(path)
    return _broken(path, "it is not a video, or its beginning is lost")


def _judge_mp4(path: Path, file: BinaryIO) -> SourceError:
    index = _mp4_index(file)
    if not index:
        return _broken(path, "its index is missing, so it was cut off while it was written")
    track = index.find(b"vide")
    while track >= 0 and index[track - 12 : track - 8] != b"hdlr":
        track = index.find(b"vide", track + 1)
    if track < 0:
        return _no_video(path)
    entry = index.find(b"stsd", track)
    return _unknown_codec(path, index[entry + 16 : entry + 20] if entry >= 0 else b"")


def _mp4_index(file: BinaryIO) -> bytes:
    """The moov box, wherever it lies; empty when there is none, or only its beginning."""
    at = 0
    while True:
        file.seek(at)
        box = file.read(16)
        if len(box) < 8:
            return b""
        size = int.from_bytes(box[:4], "big")
        if size == 1:
            size = int.from_bytes(box[8:16], "big")
        if box[4:8] == b"moov":
            file.seek(at)
            wanted = min(size or LARGEST_INDEX_BYTES, LARGEST_INDEX_BYTES)
            index = file.read(wanted)
            return index if len(index) == wanted or not size else b""
        if size < 8:
            return b""
        at += size


def _judge_avi(path: Path, head: bytes) -> SourceError:
    stream = head.find(b"vids")
    if stream < 0:
        return _no_video(path)
    if not re.search(rb"\d\dd[bc]", head[head.find(b"movi") :]):
        return _broken(path, "it ends before its first frame")
    return _unknown_codec(path, head[stream + 4 : stream + 8])


def _judge_matroska(path: Path, head: bytes) -> SourceError:
    codec = re.search(rb"V_[A-Z0-9_/]+", head)
    if codec:
        return _unknown_codec(path, codec.group())
    return _no_video(path) if re.search(rb"A_[A-Z]{3}", head) else _broken(path, "no track is left")


def _broken(path: Path, why: str) -> SourceError:
    return SourceError(f"{shown(path)} cannot be played: {why}; copy it again", code="broken_file")


def _no_video(path: Path) -> SourceError:
    return SourceError(
        f"{shown(path)} holds sound but no video; choose a file with pictures",
        code="no_video_stream",
    )


def _unknown_codec(path: Path, codec: bytes) -> SourceError:
    name = re.sub(r"[^\w/ .-]", "?", codec.decode("latin-1")).strip() or "unknown"
    return SourceError(
        f"{shown(path)} cannot be decoded (video codec {name}), or it is damaged; {_CONVERT}",
        code="unsupported_codec",
    )
