"""The words of one tick in a dialect: what a user message says, in its fixed order.

Order: fresh queries under their header, late facts, one time label or the camera's state, pictures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from onlooker.decision.dialect import Dialect
from onlooker.memory.entries import (
    CancelFact,
    DelegatedFact,
    ExpiredFact,
    Fact,
    GapFact,
    HeardFact,
    QueryFact,
    TailTick,
)
from onlooker.types import DialectText, FrameRef, Ms, VideoState


def seconds(ms: Ms | int) -> str:
    """Stream time in seconds with one decimal, halves rounded up."""
    tenths = (ms + 50) // 100
    return f"{tenths // 10}.{tenths % 10}"


def tick_items(tick: TailTick, dialect: Dialect) -> Iterator[str | FrameRef]:
    """Texts and pictures of the tick's user message, in order."""
    queries = [fact for fact in tick.facts if isinstance(fact, QueryFact)]
    others = [fact for fact in tick.facts if not isinstance(fact, QueryFact)]
    for place, query in enumerate(queries, 1):
        last = place == len(queries) and not others
        yield query_text(query, dialect.text) + (dialect.part_end if last else "\n")
    for fact in others:
        yield fact_text(fact, dialect.text) + "\n"
    yield look_text(tick, dialect.text) + dialect.part_end
    yield from tick.frames


def query_text(fact: QueryFact, text: DialectText) -> str:
    """A query under its header; also one that is asked again (B13) or was cut off."""
    words = text.cut_off_line.format(text=fact.text) if fact.cut_off else fact.text
    return f"{text.query_header}\n{words}"


def fact_text(fact: Fact, text: DialectText) -> str:
    """One fact as the tail shows it."""
    match fact:
        case QueryFact():
            return query_text(fact, text)
        case CancelFact():
            return text.cancelled_line.format(text=fact.text)
        case ExpiredFact():
            return text.expired_line.format(text=fact.text)
        case DelegatedFact():
            line = text.delegated_failed_line if fact.failed else text.delegated_line
            return line.format(question=fact.question, text=fact.text, delivery=fact.delivery)
        case HeardFact():
            mark = text.interrupted_mark if fact.interrupted else ""
            return text.heard_line.format(text=fact.text + mark)
        case GapFact():
            return text.gap.format(start=seconds(fact.start_ms), end=seconds(fact.end_ms))
        case _:
            assert_never(fact)


def look_text(tick: TailTick, text: DialectText) -> str:
    """The time label of the pictures, or what is the matter with the camera."""
    match tick.video:
        case VideoState.NO_VIDEO:
            return text.no_video
        case VideoState.CAMERA_OFF:
            return text.camera_off
        case VideoState.UNCHANGED:
            return text.unchanged
        case VideoState.FRESH:
            when = tick.at_ms if tick.label_ms is None else tick.label_ms
            return text.time_label.format(seconds=seconds(when))
        case _:
            assert_never(tick.video)
