"""Mid and long term: contiguous spans of the past, rolled up and forgotten several at once.

Spans are in order of time: at most one forgotten stretch, blocks, then summaries, with gaps where
nobody looked. Nothing here is shown before the next boundary renders it.
"""

from __future__ import annotations

from dataclasses import replace

from onlooker.memory.entries import Span
from onlooker.types import Ms


class Tiers:
    """The spans, and the roll-up that is under way."""

    def __init__(self, rollup_every: int, block_window: int, block_trim: int) -> None:
        self._every = rollup_every
        self._window = block_window
        self._trim = block_trim
        self.spans: list[Span] = []
        self.rollup_job: int | None = None
        """Job of the block being written."""
        self.rollup_end_ms: Ms | None = None
        """End of the range it covers."""

    @property
    def end_ms(self) -> Ms:
        """Where the spans end and the tail begins."""
        return self.spans[-1].end_ms if self.spans else Ms(0)

    def of_kind(self, kind: str) -> list[Span]:
        """The spans of one kind."""
        return [span for span in self.spans if span.kind == kind]

    def add(self, span: Span) -> None:
        """The newest closed chunk."""
        self.spans.append(span)

    def add_gap(self, end_ms: Ms, frames: int) -> None:
        """Nobody looked until ``end_ms``; adjoining gaps are one."""
        if self.spans and self.spans[-1].kind == "gap":
            last = self.spans[-1]
            self.spans[-1] = replace(last, end_ms=end_ms, frames=last.frames + frames)
        elif end_ms > self.end_ms or frames:
            self.spans.append(Span("gap", self.end_ms, end_ms, "", frames))

    def by_job(self, number: int) -> int | None:
        """Index of the fallback that a job's summary would replace."""
        for place, span in enumerate(self.spans):
            if span.job == number:
                return place
        return None

    def stage_late(self, place: int, text: str) -> None:
        """A real summary came late; it takes over at the next boundary."""
        self.spans[place] = replace(self.spans[place], late=text, job=None)

    def give_up(self, place: int) -> None:
        """No real summary will come: the fallback stays."""
        self.spans[place] = replace(self.spans[place], job=None)

    def adopt_late(self) -> None:
        """At a boundary: late summaries replace their fallbacks."""
        self.spans = [
            span if span.late is None else replace(span, text=span.late, late=None, fallback=False)
            for span in self.spans
        ]

    def rollup_due(self) -> list[Span] | None:
        """Spans of the next block, once enough summaries are there and none is awaited.

        They begin with the first summary; a gap before it stays, gaps between are covered.
        """
        if self.rollup_job is not None:
            return None
        chosen = self._oldest_mids(self._every)
        if chosen is None or any(s.job is not None or s.late is not None for s in chosen):
            return None
        return chosen

    def rollup_overdue(self) -> list[Span] | None:
        """Spans that must be rolled up now, with a fallback if need be (B5)."""
        if len(self.of_kind("chunk")) < 2 * self._every:
            return None
        return self._oldest_mids(self._every)

    def start_rollup(self, job: int, spans: list[Span]) -> None:
        """A block of ``spans`` is being written."""
        self.rollup_job, self.rollup_end_ms = job, spans[-1].end_ms

    def rollup_spans(self) -> list[Span]:
        """The spans that the block under way covers."""
        if self.rollup_end_ms is None:
            raise AssertionError("no roll-up is under way")
        first = next(place for place, s in enumerate(self.spans) if s.kind == "chunk")
        return [s for s in self.spans[first:] if s.end_ms <= self.rollup_end_ms]

    def finish_rollup(self, spans: list[Span], block: Span) -> None:
        """At a boundary: one block takes the place of ``spans``."""
        first = self.spans.index(spans[0])
        self.spans[first : first + len(spans)] = [block]
        self.drop_rollup()

    def drop_rollup(self) -> None:
        """No block is being written any more."""
        self.rollup_job = self.rollup_end_ms = None

    def trim_window(self) -> list[Span]:
        """At a boundary: forgets the oldest blocks, several at once; returns them."""
        if len(self.of_kind("block")) <= self._window:
            return []
        gone: list[Span] = []
        for _ in range(self._trim):
            gone += self.forget_oldest()
        return gone

    def forget_oldest(self) -> list[Span]:
        """The oldest block or summary becomes part of the forgotten stretch; returns it."""
        place = next((at for at, span in enumerate(self.spans) if span.kind != "gap"), None)
        if place is None:
            return []
        span = self.spans[place]
        frames = sum(s.frames for s in self.spans[: place + 1])
        gap = Span("gap", self.spans[0].start_ms, span.end_ms, "", frames)
        rest = self.spans[place + 1 :]
        if rest and rest[0].kind == "gap":
            gap = replace(gap, end_ms=rest[0].end_ms, frames=frames + rest[0].frames)
            rest = rest[1:]
        self.spans = [gap, *rest]
        return [span]

    def _oldest_mids(self, count: int) -> list[Span] | None:
        places = [place for place, span in enumerate(self.spans) if span.kind == "chunk"]
        if len(places) < count:
            return None
        return self.spans[places[0] : places[count - 1] + 1]
