"""Replies until they are settled to what was heard (C1, C3, C5).

A reply is provisional from its commit until its playback ended (settled) or, when interrupted,
until its grace is over (frozen). Only then is it forgotten here. Where its words are meanwhile:

- its tick is in the chunk: the tick's canonical text, rewritten when words turn out unheard;
- its tick has left: the words heard so far are archived, those heard later are held back and
  become one ``HeardFact`` when the reply is final.
"""

from __future__ import annotations

from dataclasses import dataclass

from onlooker.types import DialectText, Ms, ResponseId

MAX_LIVE = 8


@dataclass(slots=True)
class Reply:
    """One response that is not final."""

    response_id: ResponseId
    spoken: str
    """All that was generated to be spoken."""
    question: str = ""
    """What it delegated; kept whatever was heard."""
    canonical: str = ""
    """Its reply form when all of it was heard; empty for a read-out, which has no tick."""
    heard: int = 0
    """Characters of ``spoken`` that were heard."""
    is_settled: bool = False
    archived: int | None = None
    """Characters already in the Q&A history; None while its tick is in the chunk."""

    def heard_text(self, mark: str = "") -> str:
        """The words that were heard, with ``mark`` when they are not all and none follows."""
        heard = self.spoken[: self.heard].rstrip()
        return heard + mark if heard and self.is_settled and not self.is_whole else heard

    def archived_text(self, mark: str) -> str:
        """The archived words, less those that turned out unheard."""
        if self.heard <= (self.archived or 0):
            return self.heard_text(mark)
        return self.spoken[: self.archived].rstrip()

    @property
    def is_whole(self) -> bool:
        """Whether all of it was heard."""
        return self.heard >= len(self.spoken)

    def rest(self) -> str:
        """Words heard since the archived part."""
        return self.spoken[min(self.archived or 0, self.heard) : self.heard].strip()

    def clamp(self, chars: int) -> int:
        """``chars`` as a possible offset."""
        return max(0, min(chars, len(self.spoken)))


def canonical_heard(reply: Reply, text: DialectText) -> str:
    """The canonical text of what was heard of ``reply`` so far."""
    if reply.is_whole:
        return reply.canonical
    said = reply.heard_text(text.interrupted_mark)
    if reply.question:
        return text.delegate.format(note=said, question=reply.question)
    return text.respond.format(text=said) if said else text.silence


class Replies:
    """The responses that are not final, oldest first."""

    def __init__(self) -> None:
        self.live: dict[ResponseId, Reply] = {}
        self.times: dict[ResponseId, Ms] = {}
        """When the newest responses, final ones too, were decided."""

    def add(self, reply: Reply, at_ms: Ms) -> list[Reply]:
        """A response was committed; returns those pushed out as final to stay bounded."""
        self.live[reply.response_id] = reply
        self.times[reply.response_id] = at_ms
        if len(self.times) > 4 * MAX_LIVE:
            self.times.pop(next(iter(self.times)))
        return [self.live[key] for key in list(self.live)[:-MAX_LIVE]]

    def get(self, response_id: ResponseId | None) -> Reply | None:
        """The response, unless it is final or unknown."""
        return None if response_id is None else self.live.get(response_id)

    def archive(self, reply: Reply, mark: str) -> str:
        """Its tick leaves the chunk: gives the words to archive."""
        reply.archived = reply.heard
        return reply.heard_text(mark)

    def on_head_rendered(self) -> None:
        """The head now shows corrected words: what it lacks again would be a continuation."""
        for reply in self.live.values():
            if reply.archived is not None:
                reply.archived = min(reply.archived, reply.heard)

    def forget(self, response_id: ResponseId) -> None:
        """The response is final."""
        self.live.pop(response_id, None)
