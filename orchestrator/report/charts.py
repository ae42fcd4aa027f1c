"""The charts below the lanes: latencies and the share of cached tokens, as SVG paths. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from onlooker.orchestrator.report.timeline import Timeline
from onlooker.orchestrator.report.words import percentile

_CHART_WIDTH: Final = 10_000
_CHART_HEIGHT: Final = 100


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    summary: str
    """The chart in words."""
    top: str
    """Value at its upper edge."""
    paths: tuple[tuple[str, str], ...]
    """Style and SVG path, drawn in order."""


def build_charts(timeline: Timeline, span_ms: int) -> tuple[Chart, ...]:
    return tuple(
        chart
        for chart in (_latency_chart(timeline, span_ms), _cached_chart(timeline, span_ms))
        if chart is not None
    )


def _latency_chart(timeline: Timeline, span_ms: int) -> Chart | None:
    ticks = [call for call in timeline.calls if call.kind == "tick"]
    if not ticks:
        return None
    top = max(1, *(call.total_ms for call in ticks))
    totals = [call.total_ms for call in ticks if call.ok]
    firsts = [call.first_ms for call in ticks if call.first_ms is not None]
    parts = [f"{len(ticks)} tick calls"]
    for name, values in (("first word", firsts), ("whole call", totals)):
        middle, high = percentile(values, 0.5), percentile(values, 0.95)
        if middle is not None:
            parts.append(f"{name} p50 {middle:.0f} ms, p95 {high:.0f} ms")
    paths = (
        ("total", stems([(c.at_ms, c.total_ms / top) for c in ticks if c.ok], span_ms)),
        ("lost", stems([(c.at_ms, c.total_ms / top) for c in ticks if not c.ok], span_ms)),
        (
            "first",
            stems([(c.at_ms, c.first_ms / top) for c in ticks if c.first_ms is not None], span_ms),
        ),
    )
    return Chart("Latency of calls (wall time)", "; ".join(parts), f"{top} ms", paths)


def cached_shares(timeline: Timeline) -> list[tuple[int, float]]:
    return [
        (d.at_ms, d.usage.cached_tokens / d.usage.prompt_tokens)
        for d in timeline.decisions
        if d.usage is not None and d.usage.cached_tokens is not None and d.usage.prompt_tokens
    ]


def _cached_chart(timeline: Timeline, span_ms: int) -> Chart | None:
    shares = cached_shares(timeline)
    if not shares:
        return None
    mean = 100 * sum(share for _, share in shares) / len(shares)
    low = 100 * min(share for _, share in shares)
    return Chart(
        "Prompt tokens found in the cache",
        f"mean {mean:.0f} %, lowest {low:.0f} %",
        "100 %",
        (("cached", stems(shares, span_ms)),),
    )


def stems(points: Iterable[tuple[int, float]], span_ms: int) -> str:
    """One vertical line for each point, as a path in chart units."""
    return "".join(
        f"M{_CHART_WIDTH * ms / span_ms:.1f} {_CHART_HEIGHT}"
        f"V{_CHART_HEIGHT * (1 - min(1.0, max(0.0, share))):.1f}"
        for ms, share in points
    )
