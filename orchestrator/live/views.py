"""The three ways a run is shown. A view never raises: a broken terminal must not end a session."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Final, Protocol, TextIO

from rich.console import Console
from rich.text import Text

from onlooker.orchestrator.live.story import Line, Story, clean, notice_json
from onlooker.orchestrator.notices import (
    Notice,
)
from onlooker.orchestrator.report.timeline import RunFacts
from onlooker.orchestrator.report.words import seconds
from onlooker.types import Ms

STYLES: Final = {
    "silent": "dim",
    "skipped": "dim",
    "spoke": "bold cyan",
    "delegated": "magenta",
    "failed": "bold red",
    "query": "yellow",
    "memory": "green",
    "trouble": "red",
}
STAND_IN_NOTE: Final = "a stand-in that looks with classical computer vision, not a language model"


class View(Protocol):
    """Shows one run. ``begin`` first, ``end`` last; the rest in any order between."""

    def begin(self, facts: RunFacts, duration_ms: int | None) -> None:
        """The run starts; ``duration_ms`` is None for live sources."""
        ...

    def add(self, notice: Notice) -> None: ...

    def at(self, now_ms: Ms) -> None:
        """Stream time has come to ``now_ms``."""
        ...

    def end(self, words: str) -> None:
        """The run is over; ``words`` sum it up."""
        ...


class TerminalConsole(Console):
    """A console whose reader may go away (``| head``): then it falls silent and says so once."""

    def __init__(self, on_gone: Callable[[], None]) -> None:
        super().__init__(highlight=False)
        self._on_gone = on_gone

    def on_broken_pipe(self) -> None:
        self.quiet = True
        silence(sys.stdout)
        self._on_gone()


def silence(out: TextIO) -> None:
    """Point ``out`` nowhere: Python flushes it once more at exit and would complain."""
    try:
        descriptor = out.fileno()
    except OSError:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


class JsonView:
    """One JSON object per notice and nothing else.

    Args:
        out: where the objects go.
        on_gone: called once when the reader has gone away.
    """

    def __init__(self, out: TextIO, on_gone: Callable[[], None]) -> None:
        self._out = out
        self._on_gone = on_gone
        self._is_gone = False

    def begin(self, facts: RunFacts, duration_ms: int | None) -> None:
        """Nothing: the objects are all there is."""

    def add(self, notice: Notice) -> None:
        if self._is_gone:
            return
        try:
            self._out.write(notice_json(notice) + "\n")
            self._out.flush()
        except BrokenPipeError:
            self._is_gone = True
            silence(self._out)
            self._on_gone()

    def at(self, now_ms: Ms) -> None:
        """Nothing."""

    def end(self, words: str) -> None:
        """Nothing."""


def header(facts: RunFacts, duration_ms: int | None) -> Text:
    """What is watched, and by what; a stand-in is called one."""
    length = "live" if duration_ms is None else seconds(duration_ms)
    text = Text.assemble(
        ("watching ", "dim"), (clean(facts.source), "bold"), (f" ({length}, ", "dim")
    )
    text.append(f"speed {facts.speed})\n", "dim")
    text.append("model ", "dim")
    text.append(clean(facts.model), "bold")
    if facts.stand_in:
        text.append(f" — {STAND_IN_NOTE}", "yellow")
    text.append(f"\ndialect {facts.dialect}, persona {facts.persona}", "dim")
    for note in facts.notes:
        text.append(f"\nnote: {clean(note)}", "yellow")
    return text


def styled(line: Line) -> Text:
    style = STYLES[line.style]
    return Text.assemble(
        (f"{line.when:>9}  ", "dim"), (f"{line.what:<16} ", style), (line.text, _body(style))
    )


def _body(style: str) -> str:
    return style if style.startswith("bold") or style == "dim" else ""


class PlainView:
    """Lines as they come, for pipes, files and terminals that cannot redraw."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._story = Story()

    def begin(self, facts: RunFacts, duration_ms: int | None) -> None:
        self._console.print(header(facts, duration_ms), soft_wrap=True)

    def add(self, notice: Notice) -> None:
        for line in self._story.add(notice):
            self._console.print(styled(line), soft_wrap=True)

    def at(self, now_ms: Ms) -> None:
        """Nothing: lines carry their times."""

    def end(self, words: str) -> None:
        for line in self._story.finish():
            self._console.print(styled(line), soft_wrap=True)
        self._console.print(Text(words), soft_wrap=True)
