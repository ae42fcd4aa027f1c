"""Recordings on disk: whole, torn, refused, and on a full disk."""

from __future__ import annotations

import errno
import io
import json
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from onlooker.errors import RecordingError
from onlooker.orchestrator.codec import dumps, encode
from onlooker.orchestrator.commands import Close, Command, Emit
from onlooker.orchestrator.events import (
    Event,
    QueryArrived,
    SessionClosed,
    SessionOpened,
    TroubleNoted,
)
from onlooker.orchestrator.notices import SessionEnded
from onlooker.orchestrator.recorder import FORMAT, Recorder, Recording
from onlooker.types import InstructionId, Ms
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.shell

STEPS: list[tuple[int, Event, list[Command]]] = [
    (0, SessionOpened(), []),
    (40, QueryArrived(InstructionId("i1"), "告诉我 \ud800 when"), []),
    (90, SessionClosed(), [Emit(SessionEnded(Ms(90), "client")), Close("client")]),
]


class FullDisk(io.FileIO):
    """A file on a disk with room for so many bytes, that takes them in small pieces."""

    room = 0
    piece = 7
    fails_on_close = False

    def write(self, data: memoryview) -> int:  # type: ignore[override]
        if self.room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = data[: min(self.piece, self.room)]
        self.room -= len(taken)
        return super().write(taken)

    def close(self) -> None:
        super().close()
        if self.fails_on_close:
            raise OSError("quota")


def no_trouble(event: TroubleNoted) -> None:
    raise AssertionError(event)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def write(path: Path, on_trouble: Callable[[TroubleNoted], None] = no_trouble) -> None:
    with Recorder(path, {"dialect": "generic"}, on_trouble) as recorder:
        for now_ms, event, commands in STEPS:
            recorder.record(Ms(now_ms), event, commands)


def on_disk_with_room(path: Path, room: int, troubles: list[TroubleNoted]) -> Recorder:
    recorder = Recorder(path, {}, troubles.append)
    recorder.close()
    disk = FullDisk(path, "ab")
    disk.room = room
    recorder._file = disk
    return recorder


def test_a_recording_is_read_back_step_by_step(path: Path) -> None:
    write(path)
    recording = Recording(path)
    assert recording.settings == {"dialect": "generic"}
    assert recording.written_by
    steps = list(recording)
    assert [(step.now_ms, step.event) for step in steps] == [(t, e) for t, e, _ in STEPS]
    assert [step.line for step in steps] == [2, 3, 4]
    assert steps[2].commands == tuple(dumps({"cmd": encode(c)}) for c in STEPS[2][2])
    assert recording.warning is None


def test_the_file_is_lines_of_json_with_a_header_first(path: Path) -> None:
    write(path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines[0]["format"] == FORMAT
    assert [next(iter(line)) for line in lines] == ["format", "t", "t", "t", "cmd", "cmd"]
    assert [line["n"] for line in lines[1:4]] == [0, 0, 2]


def test_a_recording_can_be_read_by_its_owner_alone(path: Path) -> None:
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


def test_a_file_that_exists_is_not_written_over(path: Path) -> None:
    path.write_text("precious", encoding="utf-8")
    with pytest.raises(RecordingError, match="exists already"):
        Recorder(path, {}, no_trouble)
    assert path.read_text(encoding="utf-8") == "precious"


def test_a_folder_that_is_missing_is_said_at_once(path: Path) -> None:
    with pytest.raises(RecordingError, match="cannot be written: No such file"):
        Recorder(path / "deeper", {}, no_trouble)


def test_every_step_is_in_the_file_before_the_next(path: Path) -> None:
    with Recorder(path, {}, no_trouble) as recorder:
        for count, (now_ms, event, commands) in enumerate(STEPS, 1):
            recorder.record(Ms(now_ms), event, commands)
            assert len(list(Recording(path))) == count


def test_a_killed_process_leaves_what_it_recorded(path: Path) -> None:
    source = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from onlooker.orchestrator.events import TimerFired\n"
        "from onlooker.orchestrator.recorder import Recorder\n"
        "recorder = Recorder(Path(sys.argv[1]), {}, print)\n"
        "for n in range(100):\n    recorder.record(n, TimerFired(), [])\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    command = [sys.executable, "-c", source, str(path)]
    done = subprocess.run(command, cwd=ROOT, env={"PYTHONPATH": "src"}, timeout=60, check=False)
    assert done.returncode == -9
    recording = Recording(path)
    assert len(list(recording)) == 100
    assert recording.warning is None


def test_a_recording_cut_anywhere_gives_its_whole_steps(path: Path, tmp_path: Path) -> None:
    write(path)
    data = path.read_bytes()
    header = data.index(b"\n") + 1
    whole = {header: 0, len(data): 3}
    second = data.index(b"\n", header) + 1
    third = data.index(b"\n", second) + 1
    whole |= {second: 1, third: 2}
    cut = tmp_path / "cut.jsonl"
    for end in range(header, len(data) + 1):
        cut.write_bytes(data[:end])
        recording = Recording(cut)
        steps = list(recording)
        assert len(steps) == max(count for at, count in whole.items() if at <= end)
        assert (recording.warning is None) == (end in whole)


def test_the_warning_names_the_line_of_the_step_that_is_left_out(path: Path) -> None:
    write(path)
    path.write_bytes(path.read_bytes()[:-30])
    recording = Recording(path)
    assert len(list(recording)) == 2
    assert recording.warning is not None
    assert "line 4" in recording.warning


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ('{"format":1', "is empty or ends in its header"),
        ("nonsense\n", "Line 1 .*is not JSON"),
        ('{"format":2}\n', "is not a recording of format 1"),
        ('{"format":1}\n', "does not say how its core was built"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_at_once(path: Path, text: str, reason: str) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecordingError, match=reason):
        Recording(path)


def test_a_file_that_is_not_there_is_refused(path: Path) -> None:
    with pytest.raises(RecordingError, match="cannot be read: No such file"):
        Recording(path)


EVENT = '{"t":1,"event":{"type":"TimerFired"},"n":%s}\n'


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("nonsense\n", "Line 2 .*is not JSON"),
        ('{"cmd":{}}\n', "Line 2 .*should hold an event"),
        (EVENT % -1, "Line 2 .*should hold an event"),
        (EVENT % "true", "Line 2 .*should hold an event"),
        ('{"t":true,"event":{"type":"TimerFired"},"n":0}\n', "Line 2 .*should hold an event"),
        ('{"t":1,"event":{"type":"Nothing"},"n":0}\n', "Line 2 .*no event known"),
        (EVENT % 1 + EVENT % 0, "Line 3 .*should hold a command"),
        (EVENT % 0 + "\xff\n", "Line 3 .*is not JSON"),
    ],
)
def test_a_damaged_line_is_refused_with_its_number(path: Path, lines: str, reason: str) -> None:
    path.write_bytes(('{"format":1,"settings":{}}\n' + lines).encode("latin-1"))
    with pytest.raises(RecordingError, match=reason):
        list(Recording(path))


def test_a_full_disk_is_one_trouble_and_the_session_goes_on(path: Path) -> None:
    troubles: list[TroubleNoted] = []
    recorder = on_disk_with_room(path, 60, troubles)
    for _ in range(5):
        recorder.record(Ms(1), SessionOpened(), [])
    assert not recorder.is_recording
    assert [trouble.code for trouble in troubles] == ["recording_failed"]
    assert "No space left" in troubles[0].message
    recorder.close()
    recording = Recording(path)
    assert len(list(recording)) == 1
    assert recording.warning is not None


def test_a_disk_that_takes_little_at_a_time_gets_everything(path: Path) -> None:
    troubles: list[TroubleNoted] = []
    with on_disk_with_room(path, 10_000, troubles) as recorder:
        recorder.record(Ms(1), *STEPS[2][1:])
        assert recorder.is_recording
    assert not troubles
    assert [step.event for step in Recording(path)] == [STEPS[2][1]]


def test_trouble_at_the_very_end_is_reported_too(path: Path) -> None:
    troubles: list[TroubleNoted] = []
    recorder = on_disk_with_room(path, 10_000, troubles)
    assert isinstance(recorder._file, FullDisk)
    recorder._file.fails_on_close = True
    recorder.close()
    assert [trouble.message for trouble in troubles] == [
        "The recording stopped: unknown error. The session goes on without it."
    ]


def test_a_disk_that_fails_twice_is_reported_once(path: Path) -> None:
    troubles: list[TroubleNoted] = []
    recorder = on_disk_with_room(path, 0, troubles)
    assert isinstance(recorder._file, FullDisk)
    recorder._file.fails_on_close = True
    recorder.record(Ms(1), SessionOpened(), [])
    assert len(troubles) == 1


def test_a_recorder_that_was_closed_takes_nothing(path: Path) -> None:
    write(path)
    before = path.read_bytes()
    recorder = Recorder(path.with_suffix(".other"), {}, no_trouble)
    recorder.close()
    recorder.close()
    recorder.record(Ms(1), SessionOpened(), [])
    assert path.read_bytes() == before
    assert not recorder.is_recording


async def test_recording_a_step_is_nothing_the_guard_of_the_event_loop_stops(path: Path) -> None:
    write(path)
    with Recorder(path.with_suffix(".more"), {}, no_trouble) as recorder:
        recorder.record(Ms(1), SessionOpened(), [])
        assert recorder.is_recording
