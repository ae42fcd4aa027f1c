"""What people type on the command line, as values. Pure."""

from __future__ import annotations

import re
from typing import Final

from onlooker.errors import ConfigError
from onlooker.types import Ms

_CLOCK: Final = re.compile(r"(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2}(?:\.\d{1,3})?)", re.ASCII)
_UNITS: Final = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?", re.ASCII)
_MILLISECONDS: Final = re.compile(r"(\d+)ms", re.ASCII)
_SECONDS: Final = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
MAX_MOMENT_MS: Final = 7 * 24 * 3_600_000
"""A week: later than any run."""


def parse_moment(text: str) -> Ms | None:
    """``12``, ``12.5s``, ``1500ms``, ``1m30s``, ``2h``, ``1:30`` or ``0:01:30``; else None."""
    word = text.strip().lower()
    if _SECONDS.fullmatch(word):
        return _bounded(float(word))
    if match := _MILLISECONDS.fullmatch(word):
        return _bounded(int(match[1]) / 1000)
    match = _CLOCK.fullmatch(word) or (_UNITS.fullmatch(word) if word else None)
    if match is None:
        return None
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return _bounded(3600 * hours + 60 * minutes + seconds)


def _bounded(seconds: float) -> Ms | None:
    ms = round(seconds * 1000)
    return Ms(ms) if ms <= MAX_MOMENT_MS else None


def parse_at(text: str) -> tuple[Ms, str]:
    """``12s=what is this?`` as moment and query.

    Raises:
        ConfigError: ``invalid_at``.
    """
    when, equals, query = text.partition("=")
    moment = parse_moment(when) if equals else None
    if moment is None or not query.strip():
        raise ConfigError(
            "--at wants a time and a query — write it as --at '12s=TEXT', or 1m30s=TEXT, 1:30=TEXT",
            code="invalid_at",
        )
    return moment, query
