"""OpenCV itself: silent, RTSP over TCP, time-outs, a stream that dies."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from onlooker.bridges.video.capture import (
    CaptureFacts,
    CaptureKind,
    CaptureRequest,
    open_capture,
)
from tests.bridges.video.material import avi_frames, mjpeg_server, number_of, request, write_clip
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.service


def test_a_clip_says_what_it_is(tmp_path: Path) -> None:
    capture = open_capture(request(CaptureKind.FILE, str(write_clip(tmp_path / "clip.avi", 3, 10))))
    assert capture is not None
    assert capture.facts == CaptureFacts(64, 48, 10.0, 3)
    assert capture.retrieve() is None or capture.position_ms() <= 0  # nothing grabbed yet
    assert [capture.grab() for _ in range(4)] == [True, True, True, False]
    capture.release()


def test_what_does_not_open_is_none(tmp_path: Path) -> None:
    (tmp_path / "clip.mp4").write_bytes(b"no video")
    assert open_capture(request(CaptureKind.FILE, str(tmp_path / "clip.mp4"))) is None
    assert open_capture(request(CaptureKind.CAMERA, "973")) is None


def test_an_endless_stream_has_no_frame_count() -> None:
    with mjpeg_server() as server:
        capture = open_capture(CaptureRequest(CaptureKind.STREAM, server.address, 5, 5))
        assert capture is not None
        assert (capture.facts.width, capture.facts.frame_count) == (64, None)
        assert capture.grab()
        capture.release()


def test_a_host_that_says_nothing_is_given_up_after_the_time_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"rtsp://127.0.0.1:{mute.getsockname()[1]}/x"
        assert open_capture(CaptureRequest(CaptureKind.STREAM, address, 0.2, 0.2)) is None


SESSION = (
    "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nt=0 0\r\nm=video 0 RTP/AVP 96\r\n"
    "a=rtpmap:96 H264/90000\r\na=control:track1\r\n"
)


def rtsp_answer(message: str) -> str:
    sequence = next(line for line in message.splitlines() if line.startswith("CSeq"))
    method = message.split(" ", 1)[0]
    if method == "OPTIONS":
        return f"RTSP/1.0 200 OK\r\n{sequence}\r\nPublic: DESCRIBE, SETUP, PLAY\r\n\r\n"
    if method == "DESCRIBE":
        kind = f"Content-Type: application/sdp\r\nContent-Length: {len(SESSION)}"
        return f"RTSP/1.0 200 OK\r\n{sequence}\r\n{kind}\r\n\r\n{SESSION}"
    return f"RTSP/1.0 461 Unsupported Transport\r\n{sequence}\r\n\r\n"


def test_rtsp_is_asked_for_over_tcp() -> None:
    setups: list[str] = []

    def serve(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection, connection.makefile("rb") as lines:
            message = ""
            while line := lines.readline().decode():
                message += line
                if line == "\r\n":
                    if message.startswith("SETUP"):
                        setups.append(message)
                    connection.sendall(rtsp_answer(message).encode())
                    message = ""

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(server,), daemon=True)
        thread.start()
        address = f"rtsp://127.0.0.1:{server.getsockname()[1]}/x"
        assert open_capture(CaptureRequest(CaptureKind.STREAM, address, 5, 5)) is None
        thread.join(10)
    assert setups
    assert all("RTP/AVP/TCP" in setup for setup in setups)


TRY_EVERYTHING = """
import asyncio, sys
from onlooker.bridges.video import open_source
from onlooker.errors import SourceError
assert "cv2" not in sys.modules

async def main():
    for spec in sys.argv[1:]:
        source = open_source(spec, fps=1, max_pixels=10_000)
        try:
            await source.open()
            print("opened", [f.capture_ms async for f in source.frames()], source.broken_frames)
        except SourceError as error:
            print(error.code)
        finally:
            await source.aclose()

asyncio.run(main())
"""


def test_nothing_but_our_own_line_reaches_the_terminal(tmp_path: Path) -> None:
    good = write_clip(tmp_path / "good.mp4", 40, 10, "mp4v")
    data = bytearray(write_clip(tmp_path / "damaged.avi", 40, 10).read_bytes())
    at, length = avi_frames(data)[5]
    data[at : at + length] = bytes(length)
    (tmp_path / "damaged.avi").write_bytes(data)
    (tmp_path / "broken.mp4").write_bytes(good.read_bytes()[:500])
    names = [str(tmp_path / name) for name in ("broken.mp4", "damaged.avi", "good.mp4")]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", TRY_EVERYTHING, *names, "97", "rtsp://127.0.0.1:1/"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "broken_file",
        "opened [0, 1000, 2000, 3000] 1",
        "opened [0, 1000, 2000, 3000] 0",
        "camera_not_found",
        "stream_refused",
    ]


def test_numbered_pictures_survive_the_stream() -> None:
    from onlooker.bridges.video.encode import encode_frame

    with mjpeg_server() as server:
        capture = open_capture(CaptureRequest(CaptureKind.STREAM, server.address, 5, 5))
        assert capture is not None
        assert capture.grab()
        pixels = capture.retrieve()
        capture.release()
    assert pixels is not None
    assert number_of(encode_frame(pixels, 10_000, 90, 0)) == 9
