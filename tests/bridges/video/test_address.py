"""What a user may type, and why an address or camera gave no video."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from onlooker.bridges.video.address import SourceSpec, camera_refusal, parse_spec, stream_refusal
from onlooker.bridges.video.capture import CaptureKind, CaptureRequest
from onlooker.errors import SourceError
from tests.bridges.video.material import request

pytestmark = pytest.mark.service

FILE, CAMERA, STREAM, SCREEN = (
    CaptureKind.FILE,
    CaptureKind.CAMERA,
    CaptureKind.STREAM,
    CaptureKind.SCREEN,
)


@pytest.mark.parametrize(
    ("spec", "kind", "target"),
    [
        ("0", CAMERA, "0"),
        ("camera", CAMERA, "0"),
        ("camera:1", CAMERA, "1"),
        ("/dev/video2", CAMERA, "2"),
        ("screen", SCREEN, "1"),
        ("screen:0", SCREEN, "0"),
        ("clip.mp4", FILE, "clip.mp4"),
        ("file:0", FILE, "0"),
        (" ~/a folder ", FILE, "~/a folder"),
        ("screens/one.mp4", FILE, "screens/one.mp4"),
        ("C:\\clips\\a.mp4", FILE, "C:\\clips\\a.mp4"),
        ("RTSP://Host/a", STREAM, "rtsp://Host/a"),
        ("https://host:8443/a.mp4?x=1", STREAM, "https://host:8443/a.mp4?x=1"),
    ],
)
def test_a_source_is_understood(spec: str, kind: CaptureKind, target: str) -> None:
    parsed = parse_spec(spec)
    assert (parsed.kind, parsed.target) == (kind, target)


@pytest.mark.parametrize(
    "spec",
    ["", "file:", "ftp://a/b", "rtsp://", "http://:80/", "http://h:99999/", "http://h:0/",
     "http://a b/", "http://[::1/", "a\0b"],
)  # fmt: skip
def test_what_is_no_source_is_refused_with_what_could_be(spec: str) -> None:
    with pytest.raises(SourceError, match="rtsp://") as refused:
        parse_spec(spec)
    assert refused.value.code == "unsupported_source"


def test_a_label_holds_neither_password_nor_query() -> None:
    spec = "rtsp://admin:se%63ret@[::1]:8554/ch1?token=abc"
    assert parse_spec(spec) == SourceSpec(STREAM, spec, "rtsp://[::1]:8554/ch1")


def refusal_of(address: str) -> SourceError:
    error = stream_refusal(CaptureRequest(STREAM, address, open_timeout_s=0.2), "the camera")
    assert error.message.startswith("the camera: ")
    return error


def test_an_rtsp_host_that_refuses_is_named_as_such() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound but not listening: refuses
        port = held.getsockname()[1]
        error = refusal_of(f"rtsp://u:p@127.0.0.1:{port}/x")
    assert error.code == "stream_refused"
    assert str(port) in error.message


def test_a_host_that_answers_but_gives_no_video() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        error = refusal_of(f"rtsp://127.0.0.1:{server.getsockname()[1]}/x")
    assert error.code == "stream_unusable"


def test_a_host_nobody_knows() -> None:
    assert refusal_of("http://no-such-host.invalid/x").code == "stream_host_unknown"


def test_a_host_without_a_route() -> None:
    assert refusal_of("http://255.255.255.255/x").code == "stream_unreachable"


def test_a_host_that_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        port = server.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        try:
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex(("127.0.0.1", port))
            assert refusal_of(f"http://127.0.0.1:{port}/x").code == "stream_timeout"
        finally:
            for filler in fillers:
                filler.close()


def test_a_camera_that_is_not_there_lists_those_that_are(tmp_path: Path) -> None:
    assert "no camera was found" in camera_refusal(request(), tmp_path).message
    for name in ("video2", "video10", "video-extra"):
        (tmp_path / name).touch()
    error = camera_refusal(request(), tmp_path)
    assert error.code == "camera_not_found"
    assert "found: 2, 10" in error.message


def test_a_camera_that_is_there_but_does_not_open(tmp_path: Path) -> None:
    (tmp_path / "video0").touch()
    assert camera_refusal(request(), tmp_path).code == "camera_busy"
