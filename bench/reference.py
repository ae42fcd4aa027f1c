"""The reference's prompt layout, rebuilt in our words from what its public sources do.

A chunk is closed when it holds its number of pictures, and all of them leave at once. Its summary
is written in the background and joins the prompt head, which is the first text of the chunk's
first user message, whenever it is ready. The query stands in the head of every later chunk.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from bench.pictures import picture
from onlooker.decision import JOYVL, canonical, system_prompt
from onlooker.decision.actions import Silence
from onlooker.types import Segment, Segments

QUERY: Final = "Tell me when a bicycle appears."
SUMMARY: Final = "Notes {n}: a street, cars passing; no bicycle so far."
_NULL_PICTURE: Final = b'"image_url":null'

Messages = list[dict[str, Any]]


def reference_prompts(ticks: int, frames: int, summary_ms: int) -> Iterator[Messages]:
    """The message list of every tick, one a second.

    Args:
        ticks: how many.
        frames: pictures in a full chunk.
        summary_ms: from the close of a chunk until its summary is ready.
    """
    start, ready = 0, 0
    due: list[int] = []
    for tick in range(ticks):
        if tick - start == frames:
            due.append(tick * 1000 + summary_ms)
            start = tick
        while due and due[0] <= tick * 1000:
            due.pop(0)
            ready += 1
        yield list(_messages(range(start, tick + 1), ready, frames))


def _messages(shown: range, summaries: int, frames: int) -> Iterator[dict[str, Any]]:
    yield {"role": "system", "content": system_prompt(JOYVL, "default")}
    for tick in shown:
        parts: list[dict[str, Any]] = []
        if tick == shown.start and tick > 0:
            parts.append({"type": "text", "text": _head(summaries, frames)})
        if tick == 0:
            parts.append({"type": "text", "text": f"{JOYVL.text.query_header}\n{QUERY}"})
        label = JOYVL.text.time_label.format(seconds=f"{tick}.0")
        parts += [
            {"type": "text", "text": label},
            {"type": "image_url", "image_url": None, "uuid": picture(tick).ref.uuid},
        ]
        yield {"role": "user", "content": parts}
        if tick < shown[-1]:
            yield {"role": "assistant", "content": canonical(Silence(), JOYVL.text)}


def _head(summaries: int, frames: int) -> str:
    sections = []
    if summaries:
        spans = [
            f"<{n * frames}.0 seconds-{(n + 1) * frames - 1}.0 seconds>\n{SUMMARY.format(n=n)}"
            for n in range(summaries)
        ]
        sections.append("\n\n".join([JOYVL.text.video_history_header, *spans]))
    sections.append(f"{JOYVL.text.query_header}\n{QUERY}")
    return "\n\n".join(sections)


def as_canonical(messages: Messages) -> str:
    """The list in canonical form: ``null`` for every picture."""
    return json.dumps(messages, ensure_ascii=False, separators=(",", ":"))


def as_segments(messages: Messages, shown: range) -> Segments:
    """The list as a backend takes it. ``shown``: seconds of its pictures, in order."""
    pieces = as_canonical(messages).encode().split(_NULL_PICTURE)
    key = _NULL_PICTURE.removesuffix(b"null")
    segments: list[Segment] = []
    for piece, second in zip(pieces, shown, strict=False):
        segments += [piece + key, picture(second).ref]
    return (*segments, pieces[-1])


def shown_in(messages: Messages) -> int:
    """Number of pictures."""
    contents = (one["content"] for one in messages if one["role"] == "user")
    return sum(part["type"] == "image_url" for parts in contents for part in parts)
