"""From what a user types to frames, on real files and a real stream."""

from __future__ import annotations

import asyncio
import http.server
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from onlooker.bridges.base import SourceInfo, VideoSource
from onlooker.bridges.video import CountedSource, Reconnect, open_source
from onlooker.bridges.video.capture import CaptureKind, CaptureRequest
from onlooker.errors import ConfigError, OnlookerError, SourceError
from tests.bridges.video.material import (
    FakeCapture,
    FakeClock,
    FakeFactory,
    all_frames,
    bikes,
    first_frames,
    mjpeg_server,
    number_of,
    picture,
    write_clip,
)

pytestmark = pytest.mark.service

PIXELS = 100_000


async def refusal_of(spec: str, **options: Any) -> SourceError:
    source = open_source(spec, fps=1, max_pixels=PIXELS, **options)
    with pytest.raises(SourceError) as refused:
        await source.open()
    await source.aclose()
    assert "\n" not in refused.value.message
    return refused.value


async def test_a_real_clip_gives_forty_exact_frames_of_the_wanted_size() -> None:
    source = open_source(bikes(), fps=4, max_pixels=PIXELS)
    assert isinstance(source, VideoSource)
    assert isinstance(source, CountedSource)
    frames = await all_frames(source)
    assert len(frames) == 40
    assert [f.capture_ms for f in frames[:5]] == [0, 280, 520, 760, 1000]
    assert {(f.width, f.height) for f in frames} == {(485, 206)}
    assert (source.dropped_frames, source.broken_frames) == (0, 0)


async def test_b36_max_pixels_is_what_the_sent_bytes_really_hold() -> None:
    (frame, *_) = await all_frames(open_source(bikes(), fps=0.1, max_pixels=5_000))
    assert frame.width * frame.height <= 5_000


async def test_a_folder_is_told_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "1.jpg").write_bytes(picture("JPEG"))
    assert len(await all_frames(open_source(str(tmp_path), fps=1, max_pixels=PIXELS))) == 1
    one = str(tmp_path / "1.jpg")
    assert len(await all_frames(open_source(one, fps=1, max_pixels=PIXELS))) == 1


async def test_every_refusal_is_one_line_with_its_own_code(tmp_path: Path) -> None:
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "text.mp4").write_bytes(b"hello")
    cut = write_clip(tmp_path / "cut.avi", 3, 10)
    cut.write_bytes(cut.read_bytes().replace(b"MJPG", b"ZZZZ"))
    silent = write_clip(tmp_path / "sound.mp4", 3, 10, "mp4v")
    silent.write_bytes(silent.read_bytes().replace(b"vide", b"soun"))
    (tmp_path / "folder").mkdir()
    expected = {
        "gone.mp4": "source_not_found",
        "empty.mp4": "empty_file",
        "text.mp4": "broken_file",
        "cut.avi": "unsupported_codec",
        "sound.mp4": "no_video_stream",
        "folder": "empty_folder",
        "x" * 300: "source_unreadable",
    }
    for name, code in expected.items():
        error = await refusal_of(str(tmp_path / name))
        assert (name, error.code) == (name, code)


async def test_a_camera_that_is_not_there() -> None:
    assert (await refusal_of("camera:973")).code == "camera_not_found"


async def test_a_stream_that_is_not_there_is_named_without_its_password() -> None:
    error = await refusal_of("rtsp://admin:secret@127.0.0.1:1/door", open_timeout_s=2)
    assert error.code == "stream_refused"
    assert "secret" not in error.message
    assert "rtsp://127.0.0.1:1/door" in error.message


def test_an_unknown_kind_of_source_is_refused_at_once() -> None:
    with pytest.raises(SourceError):
        open_source("gopher://x", fps=1, max_pixels=PIXELS)


@pytest.mark.parametrize(
    "wrong", [{"fps": 0}, {"fps": 1e9}, {"fps": float("nan")}, {"max_pixels": 1},
              {"jpeg_quality": 0}, {"jpeg_quality": 101}],
)  # fmt: skip
def test_numbers_that_cannot_work_are_refused_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as refused:
        open_source("0", **{"fps": 1, "max_pixels": PIXELS, **wrong})
    assert next(iter(wrong)) in refused.value.message


async def test_a_stream_that_dies_comes_back() -> None:
    """The server is stopped and started again; the pause is where that happens."""
    with mjpeg_server() as server:
        restarted = threading.Event()

        def pause(stop: threading.Event, seconds: float) -> None:
            assert stop.is_set() or restarted.wait(10)

        source = open_source(
            server.address, fps=50, max_pixels=PIXELS, pause=pause, read_timeout_s=2
        )
        info = await source.open()
        assert info.live
        stream = source.frames()
        before = await first_frames(stream, 3)
        assert {number_of(f) for f in before} == {9}
        await asyncio.to_thread(server.stop)
        await asyncio.to_thread(server.start)
        restarted.set()
        while source.reconnects == 0:
            last = await anext(stream)
        after = await first_frames(stream, 3)
        assert source.reconnects == 1
        assert server.connections == 2
        times = [f.capture_ms for f in (*before, last, *after)]
        assert times == sorted(times)
        await source.aclose()


async def test_a_stream_that_stays_away_is_given_up() -> None:
    with mjpeg_server() as server:
        pauses_s: list[float] = []
        source = open_source(
            server.address,
            fps=50,
            max_pixels=PIXELS,
            reconnect=Reconnect(tries=2),
            pause=lambda stop, seconds: pauses_s.append(seconds),
            open_timeout_s=2,
            read_timeout_s=2,
        )
        await source.open()
        stream = source.frames()
        await anext(stream)
        await asyncio.to_thread(server.stop)
        with pytest.raises(SourceError, match="did not come back") as lost:
            [f async for f in stream]
        assert lost.value.code == "source_lost"
        assert pauses_s == [0.5, 1]
        await source.aclose()
        server.start()


async def test_a_clip_behind_an_address_ends_as_a_file_does(tmp_path: Path) -> None:
    write_clip(tmp_path / "clip.mp4", 20, 10, "mp4v")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            return

    serve = partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/clip.mp4"
        source = open_source(address, fps=2, max_pixels=PIXELS)
        info = await source.open()
        assert info == SourceInfo(64, 48, 10.0, 2_000, live=False)
        assert [number_of(f) async for f in source.frames()] == [0, 5, 10, 15]
        await source.aclose()
        server.shutdown()


async def test_time_outs_and_kind_reach_the_capture() -> None:
    factory = FakeFactory(FakeCapture(3, clock=FakeClock()))
    source = open_source(
        "rtsp://camera/x",
        fps=5,
        max_pixels=PIXELS,
        open_timeout_s=7,
        read_timeout_s=3,
        capture_factory=factory,
    )
    assert (await source.open()).live
    await source.aclose()
    assert factory.requests == [CaptureRequest(CaptureKind.STREAM, "rtsp://camera/x", 7, 3, 5)]


async def test_c40_a_hundred_sources_leave_no_thread_behind(tmp_path: Path) -> None:
    clip = str(write_clip(tmp_path / "clip.avi", 20, 10))
    before = threading.active_count()
    for number in range(100):
        source = open_source(clip, fps=10, max_pixels=PIXELS, loop=True, live=number % 2 == 0)
        if number % 3:
            await source.open()
            await anext(source.frames())
        await source.aclose()
    assert threading.active_count() == before


def test_every_refusal_is_one_of_ours() -> None:
    assert issubclass(SourceError, OnlookerError)
