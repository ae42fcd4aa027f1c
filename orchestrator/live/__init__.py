"""What a person sees while ``onlooker watch`` runs: live view, plain lines, or JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TextIO

from rich.console import Console

from onlooker.orchestrator.live.status import LiveView
from onlooker.orchestrator.live.story import Line, Story, clean, notice_json
from onlooker.orchestrator.live.views import JsonView, PlainView, TerminalConsole, View

__all__ = [
    "JsonView",
    "Line",
    "LiveView",
    "PlainView",
    "Story",
    "TerminalConsole",
    "View",
    "clean",
    "make_view",
    "notice_json",
]


def make_view(
    *,
    as_json: bool,
    plain: bool,
    console: Console,
    out: TextIO | None = None,
    on_gone: Callable[[], None] = lambda: None,
) -> View:
    """JSON when asked for; the live view on a terminal; plain lines elsewhere."""
    if as_json:
        return JsonView(out or sys.stdout, on_gone)
    if plain or not console.is_terminal or console.is_dumb_terminal:
        return PlainView(console)
    return LiveView(console)
