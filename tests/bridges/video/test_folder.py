"""Picture folders as clips."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from onlooker.bridges.base import CapturedFrame, SourceInfo
from onlooker.bridges.video.folder import FolderReader, name_order
from onlooker.bridges.video.reader import FrameFormat
from onlooker.errors import SourceError
from tests.bridges.video.material import picture

pytestmark = pytest.mark.shell


def read(reader: FolderReader, at_most: int = 100) -> tuple[SourceInfo, list[CapturedFrame]]:
    info = reader.open(threading.Event())
    frames: list[CapturedFrame] = []
    for frame in reader.frames():
        frames.append(frame)
        if len(frames) == at_most:
            break
    reader.close()
    return info, frames


def test_pictures_come_in_the_order_people_number_them(tmp_path: Path) -> None:
    names = ["frame_10.jpg", "Frame_2.JPG", "frame_1.jpeg", "a.png", "b.webp"]
    ordered = sorted((tmp_path / name for name in names), key=name_order)
    assert [p.name for p in ordered] == [
        "a.png", "b.webp", "frame_1.jpeg", "Frame_2.JPG", "frame_10.jpg"
    ]  # fmt: skip


def test_j9_pictures_that_fit_go_out_byte_for_byte(tmp_path: Path) -> None:
    jpeg, webp, png = (picture(kind, 40, 30) for kind in ("JPEG", "WEBP", "PNG"))
    for name, data in (("1.jpg", jpeg), ("2.webp", webp), ("3.png", png), ("notes.txt", b"hi")):
        (tmp_path / name).write_bytes(data)
    (tmp_path / "._1.jpg").write_bytes(b"a file browser's own notes")
    info, frames = read(FolderReader(tmp_path, FrameFormat(4, 1_000_000)))
    assert info == SourceInfo(40, 30, 4, 750, live=False)
    assert [f.capture_ms for f in frames] == [0, 250, 500]
    assert [f.data for f in frames[:2]] == [jpeg, webp]
    assert [f.media_type for f in frames] == ["image/jpeg", "image/webp", "image/jpeg"]


def test_b36_c23_a_large_picture_is_scaled_down(tmp_path: Path) -> None:
    (tmp_path / "4k.png").write_bytes(picture("PNG", 3840, 2160, compress_level=1))
    frame = read(FolderReader(tmp_path, FrameFormat(1, 240 * 135)))[1][0]
    assert (frame.width, frame.height) == (240, 135)
    assert len(frame.data) < 20_000


def test_c22_a_bad_picture_is_passed_over_counted_and_bends_no_time(tmp_path: Path) -> None:
    good = picture("JPEG")
    contents = [good, good[:100], b"", b"GIF89a" + bytes(9), good]
    for number, data in enumerate(contents):
        (tmp_path / f"{number}.jpg").write_bytes(data)
    (tmp_path / "5.jpg").mkdir()
    reader = FolderReader(tmp_path, FrameFormat(1, 1_000_000))
    assert [f.capture_ms for f in read(reader)[1]] == [0, 4000]
    assert reader.counts.broken == 4


def test_a_folder_loops_and_its_clock_goes_on(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.jpg").write_bytes(picture("JPEG"))
    frames = read(FolderReader(tmp_path, FrameFormat(2, 10_000), loop=True), at_most=5)[1]
    assert [f.capture_ms for f in frames] == [0, 500, 1000, 1500, 2000]


def test_one_picture_is_a_clip_of_one_frame(tmp_path: Path) -> None:
    (tmp_path / "one.png").write_bytes(picture("PNG"))
    assert len(read(FolderReader(tmp_path / "one.png", FrameFormat(1, 10_000)))[1]) == 1


@pytest.mark.parametrize(("content", "code"), [(None, "empty_folder"), (b"", "no_frames")])
def test_a_folder_without_a_usable_picture_is_refused(
    tmp_path: Path, content: bytes | None, code: str
) -> None:
    if content is not None:
        (tmp_path / "0.jpg").write_bytes(content)
    with pytest.raises(SourceError) as refused:
        read(FolderReader(tmp_path, FrameFormat(1, 10_000)))
    assert refused.value.code == code
    assert "\n" not in refused.value.message


def test_stopping_ends_the_reading(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.jpg").write_bytes(picture("JPEG"))
    stop = threading.Event()
    reader = FolderReader(tmp_path, FrameFormat(2, 10_000), loop=True)
    reader.open(stop)
    frames = reader.frames()
    next(frames)
    stop.set()
    assert list(frames) == []
