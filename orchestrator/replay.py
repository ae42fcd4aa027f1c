"""Replay: feed a recording's events to a fresh core and compare what it commands.

The core is a function of its events, so the commands must be the same, byte for byte. Where they
are not, either the recording is of another version, or the core reads something it must not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, Protocol

from onlooker.errors import RecordingError
from onlooker.orchestrator.commands import Command
from onlooker.orchestrator.events import Event
from onlooker.orchestrator.recorder import Recording, Step, command_line
from onlooker.types import Ms

__all__ = ["Core", "Difference", "ReplayResult", "replay"]

_EXCERPT_CHARS: Final = 60


class Core(Protocol):
    """What is replayed."""

    def handle(self, event: Event, now_ms: Ms) -> list[Command]: ...


@dataclass(frozen=True, slots=True)
class Difference:
    """One command that is not what was recorded."""

    index: int
    """Number of the command in the recording's command log, from 0."""
    line: int
    """Line of the event that led to it, from 1."""
    now_ms: Ms
    event: str
    """Type of that event."""
    expected: str | None
    """The recorded line; None when the core gave a command too many."""
    got: str | None
    """The line of the replay; None when a command is missing."""

    def __str__(self) -> str:
        at = self._first_unequal()
        return (
            f"command {self.index}, after {self.event} at {self.now_ms} ms (line {self.line}), "
            f"from character {at}:\n"
            f"  expected {_excerpt(self.expected, at)}\n"
            f"  got      {_excerpt(self.got, at)}"
        )

    def _first_unequal(self) -> int:
        pairs = zip(self.expected or "", self.got or "", strict=False)
        shorter = min(len(self.expected or ""), len(self.got or ""))
        return next((at for at, (one, other) in enumerate(pairs) if one != other), shorter)


@dataclass(frozen=True, slots=True)
class ReplayResult:
    events: int
    """Events fed."""
    commands: int
    """Commands recorded for them."""
    differences: tuple[Difference, ...]
    """In order, at most as many as were asked for."""
    warning: str | None
    """Set when the recording is cut off; what is there was replayed."""

    @property
    def is_same(self) -> bool:
        return not self.differences


def replay(
    path: Path,
    build_core: Callable[[Mapping[str, Any]], Core],
    *,
    max_differences: int = 20,
) -> ReplayResult:
    """Replay the recording at ``path``.

    Args:
        path: the file.
        build_core: makes a fresh core from the settings in the recording's header.
        max_differences: stop after the step in which so many were found; once the core has
            gone another way the rest says little.

    Raises:
        RecordingError: the file cannot be read, or the core failed on one of its events (the
            failure is the cause of this error).
    """
    recording = Recording(path)
    core = build_core(recording.settings)
    events, commands = 0, 0
    differences: list[Difference] = []
    for step in recording:
        differences += _compare(step, _step(core, step), commands)
        events += 1
        commands += len(step.commands)
        if len(differences) >= max_differences:
            break
    found = tuple(differences[:max_differences])
    return ReplayResult(events, commands, found, recording.warning)


def _step(core: Core, step: Step) -> list[str]:
    try:
        given = core.handle(step.event, step.now_ms)
    except Exception as error:
        name = type(error).__name__
        raise RecordingError(f"The core raised {name} on line {step.line}.") from error
    return [command_line(command) for command in given]


def _compare(step: Step, got: Sequence[str], index: int) -> list[Difference]:
    pairs = zip_longest(step.commands, got)
    return [
        Difference(index + at, step.line, step.now_ms, type(step.event).__name__, expected, actual)
        for at, (expected, actual) in enumerate(pairs)
        if expected != actual
    ]


def _excerpt(text: str | None, at: int) -> str:
    if text is None:
        return "nothing"
    start = max(0, at - _EXCERPT_CHARS // 2)
    end = start + _EXCERPT_CHARS
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
