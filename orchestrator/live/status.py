"""The live view: lines that stay, above a block that redraws itself."""

from __future__ import annotations

from collections import deque
from typing import Final

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from onlooker.orchestrator.live.story import Story, clean
from onlooker.orchestrator.live.views import STYLES, header, styled
from onlooker.orchestrator.notices import (
    DecisionMade,
    MemoryGauged,
    Notice,
    ResponseDelta,
    ResponseEnded,
)
from onlooker.orchestrator.report.timeline import RunFacts
from onlooker.orchestrator.report.words import decision_kind, seconds
from onlooker.types import Ms

_SIGNS: Final = {"silent": "·", "skipped": "-", "spoke": "●", "delegated": "◆", "failed": "x"}


class LiveView:
    """A status block that redraws itself below the lines of the run."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._story = Story()
        self._facts: RunFacts | None = None
        self._duration_ms: int | None = None
        self._now_ms = Ms(0)
        self._strip: deque[tuple[str, str]] = deque(maxlen=60)
        self._gauge: MemoryGauged | None = None
        self._cached: float | None = None
        self._speaking = ""
        self._live = Live(console=console, refresh_per_second=8, get_renderable=self.render)

    def begin(self, facts: RunFacts, duration_ms: int | None) -> None:
        self._facts, self._duration_ms = facts, duration_ms
        self._live.start()

    def add(self, notice: Notice) -> None:
        match notice:
            case DecisionMade():
                kind = decision_kind(notice)
                self._strip.append((_SIGNS[kind], STYLES[kind]))
                if notice.usage is not None and notice.usage.cached_tokens is not None:
                    share = notice.usage.cached_tokens / max(1, notice.usage.prompt_tokens)
                    self._cached = share
            case MemoryGauged():
                self._gauge = notice
            case ResponseDelta():
                self._speaking += notice.text
            case ResponseEnded():
                self._speaking = ""
            case _:
                pass
        for line in self._story.add(notice):
            self._live.console.print(styled(line))

    def at(self, now_ms: Ms) -> None:
        self._now_ms = now_ms

    def end(self, words: str) -> None:
        for line in self._story.finish():
            self._live.console.print(styled(line))
        self._speaking = ""
        self._live.stop()
        self._console.print(Text(words))

    def render(self) -> Panel:
        """The status block as it is now."""
        parts: list[Text | Table] = []
        if self._facts is not None:
            parts.append(header(self._facts, self._duration_ms))
        if self._speaking:
            parts.append(Text(f"speaking: {clean(self._speaking)}", "bold cyan"))
        parts.append(self._bars())
        strip = Text.assemble(("decisions  ", "dim"), *self._strip)
        strip.append("" if self._strip else "none yet", "dim")
        parts.append(strip)
        return Panel(Group(*parts), title="onlooker", title_align="left", border_style="dim")

    def _bars(self) -> Table:
        table = Table.grid(padding=(0, 1))
        table.add_column(style="dim")
        table.add_column(width=32)
        table.add_column()
        if self._duration_ms:
            words = f"{seconds(self._now_ms)} of {seconds(self._duration_ms)}"
            _bar(table, "video", min(1.0, self._now_ms / self._duration_ms), words)
        else:
            table.add_row("video", "", f"{seconds(self._now_ms)} (live)")
        if self._gauge is not None:
            gauge = self._gauge
            held = f"{gauge.chunk_frames} of {gauge.max_frames} pictures in chunk {gauge.chunk}"
            held += f", {gauge.mids} summaries, {gauge.blocks} blocks"
            _bar(table, "memory", gauge.chunk_frames / max(1, gauge.max_frames), held)
            used = f"{gauge.prompt_tokens} of {gauge.budget_tokens} tokens"
            _bar(table, "prompt", gauge.prompt_tokens / max(1, gauge.budget_tokens), used)
        if self._cached is not None:
            _bar(table, "cache", self._cached, f"{self._cached:.0%} of the last prompt's tokens")
        return table


def _bar(table: Table, name: str, share: float, words: str) -> None:
    share = min(1.0, max(0.0, share))
    bar = ProgressBar(total=1.0, completed=share, width=32, complete_style="cyan")
    table.add_row(name, bar, Text(words))
