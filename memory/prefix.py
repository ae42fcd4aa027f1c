"""The text of the prompt head: constants first, then what changes least (S3, C27).

The head holds no clock, no id and no user name, only times of what it tells about.
"""

from __future__ import annotations

from collections.abc import Iterable

from onlooker.memory.entries import Instruction, Span
from onlooker.memory.qa import QaDelegated, QaItem, QaQuery
from onlooker.types import DialectText, Ms


def seconds(ms: Ms | int) -> str:
    """Stream time in seconds with one decimal, halves rounded up."""
    tenths = (ms + 50) // 100
    return f"{tenths // 10}.{tenths % 10}"


def one_line(text: str) -> str:
    """``text`` without line breaks, so that it cannot pose as an entry of its own."""
    return " ".join(text.split())


def span_text(span: Span, text: DialectText) -> str:
    """A stretch of the past as the head shows it."""
    start, end = seconds(span.start_ms), seconds(span.end_ms)
    if span.kind == "gap":
        return text.gap.format(start=start, end=end)
    return f"{text.range_label.format(start=start, end=end)}\n{span.text}"


def qa_text(item: QaItem, text: DialectText) -> str:
    """One line of the Q&A history."""
    if isinstance(item, QaQuery):
        return text.qa_query.format(n=item.n, seconds=seconds(item.at_ms), text=one_line(item.text))
    if isinstance(item, QaDelegated):
        line = text.delegated_failed_line if item.failed else text.delegated_line
        return line.format(
            question=one_line(item.question), text=one_line(item.text), delivery=item.delivery
        )
    said = one_line(item.text)
    if item.question:
        said = f"{said} ({one_line(item.question)})".lstrip()
    return text.qa_response.format(seconds=seconds(item.at_ms), text=said)


def render_head(
    spans: Iterable[Span],
    items: Iterable[QaItem],
    standing: Iterable[Instruction],
    text: DialectText,
) -> str:
    """The whole head; empty when there is nothing to tell."""
    history = [line for span in spans if (line := span_text(span, text))]
    answers = [qa_text(item, text) for item in items]
    stands = [text.standing_line.format(text=one.text) for one in standing]
    sections = []
    if history:
        sections.append("\n".join([text.video_history_header, "\n\n".join(history)]))
    if answers:
        sections.append("\n".join([text.qa_history_header, *answers]))
    if stands:
        sections.append("\n".join([text.standing_header, *stands]))
    return "\n\n".join(sections)
