"""Times, tokens and decisions in words. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from onlooker.orchestrator.notices import DecisionMade, DecisionSource
from onlooker.orchestrator.report.timeline import CallTiming

_MAX_TEXT: Final = 4_000
UNDECIDED: Final = frozenset(
    {
        DecisionSource.GATE,
        DecisionSource.COOLDOWN,
        DecisionSource.NO_PICTURE,
        DecisionSource.ABORTED,
    }
)
"""Ticks whose silence no model decided: no call was made, or it was cut off."""
_SOURCE_WORDS: Final = {
    DecisionSource.MODEL: "decided by the model",
    DecisionSource.GATE: "nothing was asked, the model was not called",
    DecisionSource.COOLDOWN: "cool-down, the model was not called",
    DecisionSource.DEDUP: "the model repeated what was just heard",
    DecisionSource.BUSY: "a response was live",
    DecisionSource.MALFORMED: "the model's output had no marker",
    DecisionSource.NO_PICTURE: "no picture, the model was not called",
    DecisionSource.FAILED: "the model call failed, the tick was rolled back",
    DecisionSource.ABORTED: "a barge-in or the end cut the call off",
}


def seconds(ms: int) -> str:
    """Stream time for people: ``4.5 s``, ``12:04.5``."""
    tenths = round(ms / 100)
    if tenths < 600:
        return f"{tenths / 10:.1f} s"
    minutes, rest = divmod(tenths, 600)
    hours, minutes = divmod(minutes, 60)
    head = f"{hours}:{minutes:02d}" if hours else f"{minutes}"
    return f"{head}:{rest / 10:04.1f}"


def decision_kind(decision: DecisionMade) -> str:
    """``spoke``, ``delegated``, ``failed``, ``skipped`` (nobody decided) or ``silent``."""
    if decision.action == "respond":
        return "spoke"
    if decision.action == "delegate":
        return "delegated"
    if decision.source is DecisionSource.FAILED:
        return "failed"
    return "skipped" if decision.source in UNDECIDED else "silent"


def decision_why(decision: DecisionMade) -> str:
    return _SOURCE_WORDS.get(decision.source, decision.source.value)


def tokens(decision: DecisionMade) -> str:
    """``812 tokens, 96 % cached``; empty without usage."""
    usage = decision.usage
    if usage is None:
        return ""
    text = f"{usage.prompt_tokens} tokens"
    if usage.cached_tokens is not None and usage.prompt_tokens:
        text += f", {100 * usage.cached_tokens / usage.prompt_tokens:.0f} % cached"
    return text


def timing(call: CallTiming) -> str:
    """``512 ms, first word after 120 ms``, wall time."""
    first = "" if call.first_ms is None else f", first word after {call.first_ms} ms"
    return f"{call.total_ms} ms{first}{'' if call.ok else ', failed'}"


def clip(text: str, limit: int = _MAX_TEXT) -> str:
    """At most ``limit`` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def percentile(values: Sequence[float], share: float) -> float | None:
    """Nearest-rank percentile; None without values."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
