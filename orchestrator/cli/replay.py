"""``onlooker replay``: the same events, and are they the same commands?"""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from onlooker.orchestrator.live import clean
from onlooker.orchestrator.replay import ReplayResult, replay
from onlooker.orchestrator.watch.recording import core_from


def replay_file(file: Path, console: Console | None = None) -> int:
    """Replay one recording and say how it went; 0 when every command was the same.

    Raises:
        RecordingError: it cannot be read or replayed.
    """
    screen = console or Console(highlight=False)
    result = replay(file, core_from)
    for text in lines(result):
        screen.print(Text(text), soft_wrap=True)
    return 0 if result.is_same else 1


def lines(result: ReplayResult) -> list[str]:
    """The result for people."""
    found = [] if result.warning is None else [f"note: {result.warning}"]
    if result.is_same:
        same = f"same: {result.commands} commands for {result.events} events, byte for byte"
        return [*found, same]
    for difference in result.differences:
        first, *rest = str(difference).splitlines()
        found += [clean(first), *(f"  {clean(line)}" for line in rest)]
    count = len(result.differences)
    return [*found, f"different: {count} of {result.commands} commands (first ones shown)"]
