"""Timeline and facts to one HTML file that needs nothing else, not even a network.

Everything that came from a user, a model or a file passes through autoescaping; the page's own
style and script are allowed by hash, and nothing else may load or run.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from onlooker.orchestrator.report.charts import build_charts, cached_shares, stems
from onlooker.orchestrator.report.lanes import Lane, Mark, build_lanes
from onlooker.orchestrator.report.timeline import RunFacts, Timeline
from onlooker.orchestrator.report.words import percentile, seconds
from onlooker.orchestrator.report.writing import not_writable, write_atomically

_PACKAGE = "onlooker.orchestrator.report"
_QUIET = {"silent", "skipped"}


@dataclass(frozen=True, slots=True)
class TableRow:
    """One line of the text form: a thing that happened, or a run of quiet ticks."""

    start_ms: int
    end_ms: int
    kind: str
    what: str
    text: str
    more: str

    @property
    def when(self) -> str:
        start = seconds(self.start_ms)
        return start if self.end_ms <= self.start_ms else f"{start} to {seconds(self.end_ms)}"


def render_report(timeline: Timeline, facts: RunFacts) -> str:
    """The whole page."""
    # A little air on the right, so that the last mark does not sit on the edge.
    span_ms = max(1_000, round(timeline.end_ms * 1.02))
    lanes = build_lanes(timeline)
    # Our own two files; everything else on the page is escaped.
    style, script = _asset("page.css"), _asset("page.js")
    return (
        _environment()
        .from_string(_asset("page.html"))
        .render(
            facts=facts,
            timeline=timeline,
            span_ms=span_ms,
            lanes=lanes,
            charts=build_charts(timeline, span_ms),
            stats=_stats(timeline),
            rows=table_rows(lanes),
            details=[[_detail(mark) for mark in lane.marks] for lane in lanes],
            axis=_axis(span_ms),
            frame_path=stems([(ms, 1.0) for _, ms in timeline.frames], span_ms),
            style=style,
            script=script,
            csp=_policy(style, script),
            x=lambda ms: f"{100 * ms / span_ms:.4f}%",
            width=lambda mark: f"{100 * (mark.end_ms - mark.start_ms) / span_ms:.4f}%",
            seconds=seconds,
        )
    )


def write_report(path: Path, timeline: Timeline, facts: RunFacts) -> None:
    """Write the page to ``path`` at once or not at all.

    Raises:
        ConfigError: ``report_not_writable``, when the file cannot be written.
    """
    html = render_report(timeline, facts)
    try:
        write_atomically(path, html)
    except OSError as error:
        raise not_writable(path, error, "report") from error


def table_rows(lanes: Sequence[Lane]) -> tuple[TableRow, ...]:
    """Everything on the lanes as text, in time order; runs of like quiet ticks become one row."""
    rows: list[TableRow] = []
    for lane in lanes:
        run: list[Mark] = []
        for mark in lane.marks:
            is_quiet = lane.name == "decisions" and mark.kind in _QUIET
            if run and not (is_quiet and _alike(run[-1], mark)):
                rows.append(_row(run))
                run = []
            run.append(mark)
            if not is_quiet:
                rows.append(_row(run))
                run = []
        if run:
            rows.append(_row(run))
    return tuple(sorted(rows, key=lambda row: row.start_ms))


def _alike(one: Mark, other: Mark) -> bool:
    return (one.kind, one.details[0]) == (other.kind, other.details[0])


def _row(run: Sequence[Mark]) -> TableRow:
    first, last = run[0], run[-1]
    what = first.name if len(run) == 1 else f"{first.name}, {len(run)} ticks"
    details = first.details if len(run) == 1 else first.details[:1]
    more = "; ".join(f"{name}: {value}" for name, value in details)
    return TableRow(first.start_ms, last.end_ms, first.kind.split()[0], what, first.text, more)


def _detail(mark: Mark) -> dict[str, Any]:
    span = seconds(mark.start_ms)
    if mark.end_ms > mark.start_ms:
        span += f" to {seconds(mark.end_ms)}"
    return {
        "t": mark.start_ms,
        "head": f"{span} · {mark.name}",
        "text": mark.text,
        "rows": [list(pair) for pair in mark.details],
        "frame": mark.frame,
    }


def _stats(timeline: Timeline) -> tuple[tuple[str, str], ...]:
    """The numbers above the timeline."""
    words = [("watched", seconds(timeline.end_ms)), ("ticks", str(timeline.tick_count))]
    lanes = {lane.name: lane for lane in build_lanes(timeline)}
    counts = Counter(mark.kind for mark in lanes["decisions"].marks)
    order = ("spoke", "silent", "delegated", "skipped", "failed")
    words += [(kind, str(counts[kind])) for kind in order if counts[kind]]
    staged = sum(s.status in {"staged", "replaced"} for s in timeline.summaries)
    words += [("boundaries", str(len(timeline.boundaries))), ("summaries", str(staged))]
    totals = [call.total_ms for call in timeline.calls if call.kind == "tick" and call.ok]
    for name, share in (("call p50", 0.5), ("call p95", 0.95)):
        value = percentile(totals, share)
        if value is not None:
            words.append((name, f"{value:.0f} ms"))
    shares = [share for _, share in cached_shares(timeline)]
    if shares:
        words.append(("cached tokens", f"{100 * sum(shares) / len(shares):.0f} %"))
    return tuple(words)


def _axis(span_ms: int) -> tuple[int, ...]:
    """About five round moments; the script draws a finer axis when one zooms in."""
    steps = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
    step_ms = 1000 * next((s for s in steps if span_ms / (1000 * s) <= 5), steps[-1])
    return tuple(range(0, span_ms, step_ms))


def _policy(style: str, script: str) -> str:
    return (
        "default-src 'none'; img-src data:; "
        f"style-src 'sha256-{_digest(style)}'; script-src 'sha256-{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


@cache
def _asset(name: str) -> str:
    return files(_PACKAGE).joinpath(name).read_text(encoding="utf-8")


def _environment() -> Environment:
    return Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
