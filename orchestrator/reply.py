"""One response, from its first word to its settlement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from onlooker.orchestrator import events as e
from onlooker.orchestrator.clauses import Clause, ClauseSegmenter
from onlooker.orchestrator.playback import SpokenText
from onlooker.types import Epoch, ResponseId


@dataclass(slots=True, eq=False)
class Reply:
    """The text of one response, what of it was handed out, and what of it was heard."""

    response_id: ResponseId
    trigger: str
    spoken: SpokenText
    segmenter: ClauseSegmenter
    text: str = ""
    epoch: Epoch | None = None
    """Set when it starts; until then it waits."""
    is_attached: bool = True
    """It is the reply of a tick; otherwise it reads a fact aloud."""
    is_in_memory: bool = False
    """Memory knows it: its tick is committed, or its fact staged."""
    is_complete: bool = False
    is_ended: bool = False
    status: str = ""
    """How it ends, where that is known before."""
    _emitted: int = 0
    _clauses: list[tuple[int, str, bool]] = field(default_factory=list)
    _clause_count: int = 0

    @classmethod
    def new(cls, response_id: ResponseId, trigger: str, *, has_voice: bool) -> Reply:
        return cls(response_id, trigger, SpokenText(has_voice=has_voice), ClauseSegmenter())

    @property
    def heard(self) -> int:
        """Characters of :attr:`text` that were heard, as known now."""
        return min(self.spoken.heard_chars, len(self.text))

    @property
    def is_over(self) -> bool:
        """Complete, and heard to its end."""
        return self.is_complete and self.spoken.is_over

    def add(self, text: str) -> None:
        self.text += text
        if not self.spoken.has_voice:
            self.spoken.append(text)
            return
        for clause in self.segmenter.feed(text):
            self._queue(clause, is_last=False)

    def complete(self) -> None:
        """No more text will come. The last clause, or an empty one, says so."""
        self.is_complete = True
        if self.spoken.has_voice:
            rest = self.segmenter.finish()
            for clause in rest:
                self._queue(clause, is_last=clause is rest[-1])
            if not rest:
                self._clauses.append((self._clause_count, "", True))
        self.spoken.complete()

    def take_text(self) -> str:
        """Text the client has not had yet."""
        text = self.text[self._emitted :]
        self._emitted = len(self.text)
        return text

    def take_clauses(self) -> list[tuple[int, str, bool]]:
        """(index, text, is last) of clauses the synthesiser has not had yet."""
        taken, self._clauses = self._clauses, []
        return taken

    def report(
        self,
        event: e.ClauseSpoken | e.OutputSent | e.TextWritten | e.PlaybackAck | e.PlaybackTruncated,
    ) -> bool:
        """What became of it; False when it does not take the report any more."""
        match event:
            case e.ClauseSpoken():
                if event.epoch != self.epoch or self.is_ended:
                    return False
                return self.spoken.on_spoken(event.clause, event.duration_ms, event.word_ends_ms)
            case e.OutputSent():
                return event.epoch == self.epoch and self.spoken.on_sent(event.sent_ms)
            case e.TextWritten():
                return event.epoch == self.epoch and self.spoken.on_written(event.chars)
            case e.PlaybackAck():
                return self.spoken.on_played(event.played_ms)
            case e.PlaybackTruncated():
                return self.spoken.on_truncated(event.audio_end_ms)
            case _:
                assert_never(event)

    def _queue(self, clause: Clause, *, is_last: bool) -> None:
        self._clause_count += 1
        self._clauses.append((self.spoken.add(clause), clause.text, is_last))
