"""Recorded clips: exact sampling, broken frames, loops, rotation."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from pathlib import Path

import cv2
import pytest

from onlooker.bridges.base import CapturedFrame, SourceInfo
from onlooker.bridges.video.capture import CaptureFactory, CaptureKind, open_capture
from onlooker.bridges.video.clip import ClipReader
from onlooker.bridges.video.diagnose import file_refusal
from onlooker.bridges.video.reader import FrameFormat
from onlooker.errors import SourceError
from tests.bridges.video.material import (
    FakeCapture,
    FakeFactory,
    avi_frames,
    bikes,
    number_of,
    request,
    write_clip,
)

pytestmark = pytest.mark.shell


def reader_of(
    path: Path | str, fps: float, *, factory: CaptureFactory = open_capture, loop: bool = False
) -> ClipReader:
    return ClipReader(
        request(CaptureKind.FILE, str(path)),
        FrameFormat(fps, 1_000_000),
        factory=factory,
        refusal=file_refusal,
        label="the clip",
        loop=loop,
    )


def read(reader: ClipReader, at_most: int = 1_000) -> tuple[SourceInfo, list[CapturedFrame]]:
    try:
        info = reader.open(threading.Event())
        frames: list[CapturedFrame] = []
        for frame in reader.frames():
            frames.append(frame)
            if len(frames) == at_most:
                break
        return info, frames
    finally:
        reader.close()


@pytest.mark.parametrize(("name", "fourcc"), [("clip.avi", "MJPG"), ("clip.mp4", "mp4v")])
def test_frames_are_picked_by_media_time(tmp_path: Path, name: str, fourcc: str) -> None:
    clip = write_clip(tmp_path / name, 50, 25, fourcc)
    info, frames = read(reader_of(clip, 4))
    assert info == SourceInfo(64, 48, 25.0, 2_000, live=False)
    assert [f.capture_ms for f in frames] == [0, 280, 520, 760, 1000, 1280, 1520, 1760]
    assert [number_of(f) for f in frames] == [0, 7, 13, 19, 25, 32, 38, 44]


def test_a_real_clip_gives_the_same_forty_frames_every_time() -> None:
    info, frames = read(reader_of(bikes(), 4))
    assert info == SourceInfo(640, 272, 25.0, 10_000, live=False)
    assert len(frames) == 40
    for slot, frame in enumerate(frames):
        assert 0 <= frame.capture_ms - slot * 250 < 40
    assert read(reader_of(bikes(), 4))[1] == frames


def test_j9_a_clips_frame_is_encoded_exactly_once(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.avi", 3, 10)
    capture = cv2.VideoCapture(str(clip), cv2.CAP_FFMPEG)
    pixels = capture.read()[1]
    capture.release()
    expected = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()
    assert read(reader_of(clip, 1))[1][0].data == expected


def test_j14_a_broken_frame_is_passed_over_counted_and_bends_no_time(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.avi", 12, 10)
    data = bytearray(clip.read_bytes())
    for at, length in avi_frames(data)[4:6]:
        data[at : at + length] = bytes(length)
    clip.write_bytes(data)
    reader = reader_of(clip, 10)
    frames = read(reader)[1]
    assert [f.capture_ms for f in frames] == [0, 100, 200, 300, 600, 700, 800, 900, 1000, 1100]
    assert [number_of(f) for f in frames] == [0, 1, 2, 3, 6, 7, 8, 9, 10, 11]
    assert reader.counts.broken == 2


def test_a_frame_that_cannot_be_decoded_leaves_its_slot_to_the_next(tmp_path: Path) -> None:
    factory = FakeFactory(FakeCapture(30, fps=10.0, frame_count=30, blank=[10], broken=[20]))
    reader = reader_of("x", 1, factory=factory)
    assert [f.capture_ms for f in read(reader)[1]] == [0, 1100, 2100]
    assert reader.counts.broken == 2


def test_more_broken_frames_than_usual_are_passed_over_when_the_clip_says_it_is_longer() -> None:
    factory = FakeFactory(FakeCapture(60, fps=10.0, frame_count=60, broken=range(5, 45)))
    frames = read(reader_of("x", 10, factory=factory))[1]
    assert [number_of(f) for f in frames] == [*range(5), *range(45, 60)]


def test_a_cut_off_clip_ends_at_its_last_whole_frame(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.avi", 12, 10)
    data = clip.read_bytes()
    clip.write_bytes(data[: avi_frames(data)[6][0]])
    assert [number_of(f) for f in read(reader_of(clip, 10))[1]] == [0, 1, 2, 3, 4, 5]


def test_a_rotation_mark_is_obeyed(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 5, 10, "mp4v")
    data = bytearray(clip.read_bytes())
    matrix = data.find(b"tkhd") + 44
    quarter_turn = (0, 0x10000, 0, -0x10000, 0, 0, 48 << 16, 0, 0x40000000)
    data[matrix : matrix + 36] = struct.pack(">9i", *quarter_turn)
    clip.write_bytes(data)
    info, frames = read(reader_of(clip, 1))
    assert (info.width, info.height) == (48, 64)
    assert (frames[0].width, frames[0].height) == (48, 64)


def test_a_loop_samples_each_pass_alike_and_its_clock_goes_on(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.avi", 10, 10)
    frames = read(reader_of(clip, 2, loop=True), at_most=6)[1]
    assert [f.capture_ms for f in frames] == [0, 500, 1000, 1500, 2000, 2500]
    assert [number_of(f) for f in frames] == [0, 5, 0, 5, 0, 5]


def test_a_looped_clip_that_went_away_says_so(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.avi", 10, 10)
    reader = reader_of(clip, 1, loop=True)
    reader.open(threading.Event())
    frames = reader.frames()
    next(frames)
    clip.unlink()
    with pytest.raises(SourceError) as refused:
        next(frames)
    assert refused.value.code == "source_unreadable"
    reader.close()


@pytest.mark.parametrize("make", [lambda: FakeCapture(0), lambda: FakeCapture(5, blank=range(5))])
@pytest.mark.parametrize("loop", [False, True])
def test_a_clip_without_a_single_good_frame_is_refused(
    make: Callable[[], FakeCapture], loop: bool
) -> None:
    with pytest.raises(SourceError) as refused:
        read(reader_of("x", 1, factory=FakeFactory(make()), loop=loop))
    assert refused.value.code == "no_frames"


def test_stopping_ends_the_reading_at_the_next_frame() -> None:
    stop = threading.Event()
    capture = FakeCapture(10_000, fps=10.0)
    reader = reader_of("x", 1, factory=FakeFactory(capture))
    reader.open(stop)
    frames = reader.frames()
    next(frames)
    stop.set()
    assert list(frames) == []
    assert capture.grabs <= 2
    reader.close()
    reader.close()
    assert len(capture.released_by) == 1
