"""Reads a prompt the way a model would: what stands, what was seen, what was said.

The eye keeps nothing between requests. Whatever it needs to know about the past (that it has
already told of the bicycle) it reads here, from its own earlier replies and from the head.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from onlooker.bridges.model.embedded.dialect import Dialect, Line, Reply, ReplyKind
from onlooker.bridges.model.embedded.sight.picture import Picture

CHUNK_SUMMARY: Final = "Write a factual summary"
BLOCK_SUMMARY: Final = "Merge these summaries"
"""How a request for a summary opens, in every dialect."""
_NOTES: Final = re.compile(r"\b(?:notes|summary|summaries|summarise|summarize)\b", re.IGNORECASE)
"""What a system message speaks of that asks for one in other words and teaches no reply form."""


@dataclass(frozen=True, slots=True)
class Said:
    """Something the user heard, as the Q&A history tells it."""

    text: str
    at_ms: int | None


@dataclass(slots=True)
class Head:
    standing: list[str] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    """Replies and delegated answers, in order."""
    history: str = ""
    """Text of the video history: summaries with their ranges."""


@dataclass(slots=True)
class Turn:
    """One tick: its user message and, unless it is the open one, the reply."""

    at_ms: int | None = None
    """From the last time label; None without pictures."""
    pictures: list[Picture] = field(default_factory=list)
    times: list[int | None] = field(default_factory=list)
    """Of each picture: the label before it."""
    queries: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    """Queries cancelled or expired."""
    said: list[str] = field(default_factory=list)
    """What the user heard in this tick beside the reply: delegated answers, heard continuations."""
    notice: str | None = None
    """``no_video``, ``camera_off`` or ``unchanged``."""
    reply: Reply | None = None
    texts: list[str] = field(default_factory=list)
    """All its text, as it came."""


@dataclass(slots=True)
class Reading:
    system: str = ""
    head: Head = field(default_factory=Head)
    turns: list[Turn] = field(default_factory=list)
    summary: str | None = None
    """``chunk`` or ``block`` when a summary is asked for."""

    @property
    def pictures(self) -> list[Picture]:
        return [picture for turn in self.turns for picture in turn.pictures]


@dataclass(frozen=True, slots=True)
class Part:
    """One content part: text or a picture."""

    text: str = ""
    picture: Picture | None = None


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.parts if part.text)


def read_prompt(messages: Sequence[Message], dialect: Dialect) -> Reading:
    """Understands a validated message list; never raises."""
    reading = Reading(summary=_asked_summary(messages, dialect))
    for message in messages:
        if message.role == "system":
            reading.system = message.text
        elif message.role == "user":
            reading.turns.append(_read_user(message, dialect, reading))
        elif reading.turns:
            reading.turns[-1].reply = dialect.read_reply(message.text)
    return reading


def _asked_summary(messages: Sequence[Message], dialect: Dialect) -> str | None:
    """Only the system message and the last user message can ask: a user who says the same words
    long ago must not stop the eye from watching."""
    system = next((message for message in messages if message.role == "system"), None)
    users = [message for message in messages if message.role == "user"]
    asking = [message for message in (system, *users[-1:]) if message is not None]
    for text in (part.text.lstrip() for message in asking for part in message.parts):
        if text.startswith(CHUNK_SUMMARY):
            return "chunk"
        if text.startswith(BLOCK_SUMMARY):
            return "block"
    if system is None or dialect.teaches_replies(system.text) or not _NOTES.search(system.text):
        return None
    return "chunk" if any(part.picture for m in users for part in m.parts) else "block"


def _read_user(message: Message, dialect: Dialect, reading: Reading) -> Turn:
    turn = Turn()
    for number, part in enumerate(message.parts):
        if part.picture is not None:
            turn.pictures.append(part.picture)
            turn.times.append(turn.at_ms)
            continue
        turn.texts.append(part.text)
        sections = tuple(dialect.sections(part.text))
        first = number == 0 and not reading.turns
        is_head = first and any(kind not in ("query", "plain") for kind, _ in sections)
        for kind, body in sections:
            if is_head:
                _read_head(kind, body, dialect, reading.head)
            else:
                _read_tail(kind, body, dialect, turn)
    return turn


def _read_head(kind: str, body: str, dialect: Dialect, head: Head) -> None:
    if kind == "history":
        head.history += body
    elif kind == "qa":
        for line in _lines(body, dialect):
            _read_history(line, head)
    else:
        head.standing += _read_standing(body, dialect)


def _read_history(line: Line | str, head: Head) -> None:
    if isinstance(line, Line):
        text = " ".join(line.fields.get(name, "") for name in ("text", "question")).strip()
        if line.kind in ("qa_response", "delegated_line", "delegated_failed_line") and text:
            head.said.append(Said(text, _milliseconds(line.fields.get("seconds"))))


def _read_standing(body: str, dialect: Dialect) -> list[str]:
    template = dialect.standing_line
    if not template.opening:
        lines = [body] if dialect.words.max_instructions == 1 else body.splitlines()
        return [line.strip() for line in lines if line.strip()]
    grouped: list[str] = []
    for line in body.splitlines():
        if line.strip().startswith(template.opening) or not grouped:
            grouped.append(line)
        else:
            grouped[-1] += "\n" + line
    fields = (template.read(text) for text in grouped)
    return [found["text"] for found in fields if found and found["text"]]


def _read_tail(kind: str, body: str, dialect: Dialect, turn: Turn) -> None:
    query: list[str] = []
    for line in _lines(body, dialect):
        if isinstance(line, Line):
            _read_fact(line, turn)
        elif kind != "plain":
            query.append(line)
    if text := "\n".join(query).strip():
        turn.queries.append(dialect.read_query(text))


def _lines(body: str, dialect: Dialect) -> Iterator[Line | str]:
    """The facts of a text, each with its continuation lines, and the lines that are none."""
    pending: list[str] = []
    for raw in [*body.strip("\n").split("\n"), None]:
        is_new = raw is None or dialect.opens_line(raw)
        if pending and (is_new or not dialect.opens_line(pending[0])):
            text = "\n".join(pending)
            yield dialect.read_line(text) or text
            pending = []
        if raw is not None:
            pending.append(raw)


def _read_fact(line: Line, turn: Turn) -> None:
    fields = line.fields
    match line.kind:
        case "time_label":
            turn.at_ms = _milliseconds(fields["seconds"])
        case "cancelled_line" | "expired_line":
            turn.ended.append(fields.get("text", ""))
        case "delegated_line" | "delegated_failed_line":
            turn.said.append(f"{fields.get('question', '')} {fields.get('text', '')}".strip())
        case "heard_line":
            turn.said.append(fields.get("text", ""))
        case "no_video" | "camera_off" | "unchanged":
            turn.notice = line.kind
        case _:
            # Gaps and ranges are for the history; a tick needs nothing of them.
            pass


def _milliseconds(seconds: str | None) -> int | None:
    return round(float(seconds) * 1000) if seconds else None


def spoken(turn: Turn) -> list[str]:
    """All that the user heard in a turn."""
    own = turn.reply
    texts = [own.text, own.question] if own and own.kind is not ReplyKind.SILENCE else []
    return [text for text in (*turn.said, *texts) if text]
