"""What a user typed as a source, how messages may name it, and why an address gave no video."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

from onlooker.bridges.video.capture import CaptureKind, CaptureRequest
from onlooker.errors import SourceError

_DEFAULT_PORTS: Final = {"rtsp": 554, "rtsps": 322, "http": 80, "https": 443}
_LONGEST_PROBE_S: Final = 3.0
_DEVICES: Final = Path("/dev")


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """A parsed source. ``FILE`` stands for a file or a folder: only looking tells which."""

    kind: CaptureKind
    target: str
    label: str
    """What messages call it; holds no password."""


def shown(name: object) -> str:
    """A file name as it may stand in a one-line message."""
    return "".join(sign if sign.isprintable() else "?" for sign in str(name))


def parse_spec(spec: str) -> SourceSpec:
    """Understand ``0``, ``camera:1``, ``/dev/video0``, ``screen``, ``screen:2``, ``rtsp://…``,
    ``http(s)://…``, ``file:path`` or a path.

    Raises:
        SourceError: ``unsupported_source``.
    """
    spec = spec.strip()
    if camera := re.fullmatch(r"(?:camera:|/dev/video)?([0-9]{1,4})|camera", spec):
        number = camera.group(1) or "0"
        return SourceSpec(CaptureKind.CAMERA, number, f"camera {number}")
    if screen := re.fullmatch(r"screen(?::([0-9]{1,4}))?", spec):
        number = screen.group(1) or "1"
        return SourceSpec(CaptureKind.SCREEN, number, f"screen {number}")
    if address := re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", spec):
        if address.group(1).lower() not in _DEFAULT_PORTS:
            raise _unsupported(f"{address.group(1)}:// addresses are not supported")
        parts = _split(spec)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        port = f":{parts.port}" if parts.port else ""
        label = shown(f"{parts.scheme}://{host}{port}{parts.path}")
        return SourceSpec(CaptureKind.STREAM, parts.geturl(), label)
    path = spec.removeprefix("file:")
    if not path or "\0" in path:
        raise _unsupported("an empty name is no source")
    return SourceSpec(CaptureKind.FILE, path, shown(path))


def _split(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        if parts.hostname and parts.port != 0 and not re.search(r"\s", address):
            return parts
    except ValueError as error:
        raise _unsupported("this address has no usable host or port") from error
    raise _unsupported("this address has no usable host or port")


def _unsupported(what: str) -> SourceError:
    return SourceError(
        f"{what}; use a video file, a picture folder, a camera number (0), screen, or an rtsp:// "
        "or http(s):// address",
        code="unsupported_source",
    )


def stream_refusal(request: CaptureRequest, label: str) -> SourceError:
    """Why an address gave no video, found out with one plain connection to its host."""
    parts = urlsplit(request.target)
    port = parts.port or _DEFAULT_PORTS[parts.scheme]
    patience_s = min(request.open_timeout_s, _LONGEST_PROBE_S)
    try:
        socket.create_connection((parts.hostname or "", port), patience_s).close()
    except socket.gaierror:
        return SourceError(
            f"{label}: the host name is not known; check its spelling and the network",
            code="stream_host_unknown",
        )
    except TimeoutError:
        return SourceError(
            f"{label}: no answer within {patience_s:g} s; check the address, the "
            "network and the firewall",
            code="stream_timeout",
        )
    except ConnectionRefusedError:
        return SourceError(
            f"{label}: the host refuses connections on port {port}; check the port and that the "
            "camera's streaming is switched on",
            code="stream_refused",
        )
    except OSError as error:
        return SourceError(
            f"{label}: the host cannot be reached ({error.strerror}); check the network",
            code="stream_unreachable",
        )
    return SourceError(
        f"{label}: the host answers but gives no video; check the path, the user name and the "
        "password",
        code="stream_unusable",
    )


def camera_refusal(request: CaptureRequest, devices: Path = _DEVICES) -> SourceError:
    """Why a camera did not open, as far as the device files show."""
    number = int(request.target)
    if (devices / f"video{number}").exists():
        return SourceError(
            f"camera {number} is there but does not open; close other programs that use it and "
            "check that you may read it (on Linux: group video)",
            code="camera_busy",
        )
    found = sorted(
        int(entry.name[5:]) for entry in devices.glob("video*") if entry.name[5:].isdecimal()
    )
    there = f"found: {', '.join(map(str, found))}" if found else "no camera was found"
    return SourceError(
        f"there is no camera {number} ({there}); plug it in, or choose another number",
        code="camera_not_found",
    )
