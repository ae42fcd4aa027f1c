"""Recordings: a session's events with their times, and the commands each one led to.

A recording is a file of lines, each a JSON object. The first is the header: the version of the
format, the version that wrote it, and what is needed to build the same core again. Then each event
``{"t":now_ms,"event":{…},"n":count}`` is followed by its ``count`` commands ``{"cmd":{…}}``.

A step is handed to the operating system whole and at once, so that a process that is killed leaves
a file that can be read up to its last step. The count tells a whole last step from a torn one.

A recording holds what the user asked and what was said: personal data. It is written only on
demand, readable by its owner alone, and nothing of it is ever logged.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from onlooker.errors import RecordingError
from onlooker.orchestrator.codec import decode_event, dumps, encode, parse_line
from onlooker.orchestrator.commands import Command
from onlooker.orchestrator.events import Event, TroubleNoted
from onlooker.types import Ms

__all__ = ["FORMAT", "Recorder", "Recording", "Step"]

FORMAT: Final = 1
"""Version of the format; a reader refuses any other."""
_VERSION: Final = version("onlooker")


class Recorder:
    """Writes one recording. It never raises once it is made.

    When the file cannot be written any more (a full disk), ``on_trouble`` is called once with an
    event to post to the session, and nothing further is recorded. The session goes on.

    Args:
        path: a file that does not exist yet.
        settings: what a replay needs to build the core, as plain data without secrets.
        on_trouble: called at most once.

    Raises:
        RecordingError: the file exists, or cannot be made.
    """

    def __init__(
        self,
        path: Path,
        settings: Mapping[str, Any],
        on_trouble: Callable[[TroubleNoted], None],
    ) -> None:
        self._on_trouble = on_trouble
        file = _create(path)
        self._file: io.FileIO | None = file
        header = {"format": FORMAT, "onlooker": _VERSION, "settings": dict(settings)}
        self._write(file, [dumps(header)])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def is_recording(self) -> bool:
        return self._file is not None

    def record(self, now_ms: Ms, event: Event, commands: Sequence[Command]) -> None:
        """Keep one step of the core: the event it took and the commands it gave."""
        file = self._file
        if file is None:
            return
        step = {"t": now_ms, "event": encode(event), "n": len(commands)}
        self._write(file, [dumps(step), *(command_line(command) for command in commands)])

    def close(self) -> None:
        """Stop recording. May be called again."""
        file, self._file = self._file, None
        if file is None:
            return
        try:
            file.close()
        except OSError as error:  # some file systems say only now that the disk is full
            self._report(error)

    def _write(self, file: io.FileIO, lines: Sequence[str]) -> None:
        data = memoryview(("\n".join(lines) + "\n").encode())
        try:
            while data:
                data = data[file.write(data) :]
        except OSError as error:
            self._file = None
            self._report(error)
            with suppress(OSError):  # it is reported already
                file.close()

    def _report(self, error: OSError) -> None:
        reason = os.strerror(error.errno) if error.errno else "unknown error"
        message = f"The recording stopped: {reason}. The session goes on without it."
        self._on_trouble(TroubleNoted("recording_failed", message))


def command_line(command: Command) -> str:
    """The line that stands for a command in a recording."""
    return dumps({"cmd": encode(command)})


def _create(path: Path) -> io.FileIO:
    try:
        # No buffer of Python's: what a step wrote survives the process.
        return open(path, "xb", buffering=0, opener=_open_private)
    except FileExistsError as error:
        raise RecordingError(f"{path} exists already; name a new file.") from error
    except OSError as error:
        raise RecordingError(f"{path} cannot be written: {error.strerror}.") from error


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_APPEND, 0o600)


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a recording and what it led to then."""

    line: int
    """Line of the event in the file, from 1."""
    now_ms: Ms
    event: Event
    commands: tuple[str, ...]
    """The lines of its commands, as written."""


class Recording:
    """Reads one recording, a step at a time.

    Iterate it once; then :attr:`warning` tells whether its end was missing.

    Raises:
        RecordingError: at once, when the file is no recording of this format; while iterating,
            when a line in its middle is damaged. The message names the line.
    """

    def __init__(self, path: Path) -> None:
        self._lines = _numbered(path)
        self.warning: str | None = None
        first = next(self._lines, None)
        if first is None or not first[1].endswith("\n"):
            raise RecordingError(f"{path} is empty or ends in its header.")
        header = parse_line(first[1], 1)
        if header.get("format") != FORMAT:
            raise RecordingError(f"{path} is not a recording of format {FORMAT}.")
        settings = header.get("settings")
        if not isinstance(settings, dict):
            raise RecordingError(f"{path} does not say how its core was built.")
        self.settings: Mapping[str, Any] = settings
        self.written_by = str(header.get("onlooker", "unknown"))

    def __iter__(self) -> Iterator[Step]:
        for line, text in self._lines:
            if not text.endswith("\n"):
                self._cut_off(line)
                return
            now_ms, event, count = _event_line(text, line)
            commands = self._commands(count)
            if commands is None:
                self._cut_off(line)
                return
            yield Step(line, now_ms, event, commands)

    def _commands(self, count: int) -> tuple[str, ...] | None:
        """The next ``count`` command lines; None when the file ends before them."""
        commands: list[str] = []
        while len(commands) < count:
            line, text = next(self._lines, (0, ""))
            if not text.endswith("\n"):
                return None
            if not text.startswith('{"cmd":'):
                raise RecordingError(f"Line {line} of the recording should hold a command.")
            commands.append(text[:-1])
        return tuple(commands)

    def _cut_off(self, line: int) -> None:
        self.warning = (
            f"The recording is cut off in the step at line {line}; that step is left out."
        )


def _numbered(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open("rb") as file:
            for line, data in enumerate(file, 1):
                yield line, data.decode("utf-8", "backslashreplace")
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}.") from error


def _event_line(text: str, line: int) -> tuple[Ms, Event, int]:
    data = parse_line(text, line)
    now_ms, count = data.get("t"), data.get("n")
    if type(now_ms) is not int or type(count) is not int or count < 0:
        raise RecordingError(f"Line {line} of the recording should hold an event and its time.")
    return Ms(now_ms), decode_event(data.get("event"), line), count
