"""What of a response was heard: four watermarks in time, and the way from time to words.

Theory of operation. While a response is generated, synthesised, sent and played, a different
amount of it exists at each of these stages. :class:`PlaybackCursor` keeps the four watermarks in
order whatever is reported, in whatever order. :class:`SpokenText` knows which characters each
clause of the response covers and how long its sound lasts, and so tells which words lie before a
watermark. It always rounds down: a word counts as heard when all of it was played. Where the
synthesiser gives no word timings, words are laid out over the clause in proportion to their
characters (C2). Without a voice nothing is played, and *heard* means written to the client.

An interrupted response still takes acks and a truncate for a while (the smaller wins); its owner
then freezes it, and nothing counts any more.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from onlooker.orchestrator.clauses import Clause, is_wide

__all__ = ["PlaybackCursor", "SpokenText", "word_ends"]


class PlaybackCursor:
    """The watermarks of one response: ``committed <= played <= sent <= generated``.

    Each watermark only rises, and each report is clamped to the watermark above it, so that no
    client can claim to have heard what was never sent. All values are milliseconds of this
    response's sound.
    """

    __slots__ = ("_acked", "_committed", "_generated", "_limit", "_played", "_sent")

    def __init__(self) -> None:
        self._generated = 0
        self._sent = 0
        self._played = 0
        self._committed = 0
        self._acked: int | None = None
        self._limit: int | None = None

    @property
    def generated_ms(self) -> int:
        return self._generated

    @property
    def sent_ms(self) -> int:
        return self._sent

    @property
    def played_ms(self) -> int:
        """The most that was ever reported as played."""
        return self._played

    @property
    def committed_ms(self) -> int:
        """What memory keeps for good."""
        return self._committed

    @property
    def heard_ms(self) -> int:
        """What was heard as known now: the smaller of the acks and the truncate.

        Never above ``played_ms``, never below ``committed_ms``.
        """
        reports = [report for report in (self._acked, self._limit) if report is not None]
        return max(self._committed, min(reports, default=0))

    def generate(self, to_ms: int) -> None:
        self._generated = max(self._generated, to_ms)

    def send(self, to_ms: int) -> None:
        self._sent = max(self._sent, min(to_ms, self._generated))

    def play(self, to_ms: int) -> None:
        """An ack of the client: this much was played so far."""
        self._acked = max(self._acked or 0, min(to_ms, self._sent))
        self._played = max(self._played, self._acked)

    def truncate(self, to_ms: int) -> None:
        """The client's word that no more than this was played.

        A client that never acks says by its truncate how much it played; of several the
        smallest counts.
        """
        claimed = max(0, min(to_ms, self._sent))
        self._limit = claimed if self._limit is None else min(self._limit, claimed)
        if self._acked is None:
            self._played = max(self._played, self._limit)

    def commit(self, to_ms: int) -> None:
        """Keep this much for good; clamped to what was heard."""
        self._committed = max(self._committed, min(to_ms, self.heard_ms))


@dataclass(frozen=True, slots=True)
class _Sound:
    duration_ms: int
    word_ends_ms: tuple[int, ...] | None


class SpokenText:
    """The text of one response, and how much of it was heard.

    With a voice: :meth:`add` each clause in order as it is handed to the synthesiser, report its
    sound with :meth:`on_spoken`, then what is sent and played. Without: :meth:`append` the text
    and report what was written. Say :meth:`complete` when no more text will come, and
    :meth:`freeze` when what was heard is settled.

    Every report returns False when it was not taken: the response is frozen, or the report names
    a clause that does not exist or has its sound already. The caller counts those (C6).

    Args:
        has_voice: False when *heard* means written.
    """

    __slots__ = (
        "_clauses",
        "_complete",
        "_frozen",
        "_parts",
        "_sounds",
        "_written",
        "cursor",
        "has_voice",
    )

    def __init__(self, *, has_voice: bool = True) -> None:
        self.has_voice = has_voice
        self.cursor = PlaybackCursor()
        self._parts: list[str] = []
        self._clauses: list[Clause] = []
        self._sounds: dict[int, _Sound] = {}
        self._written = 0
        self._complete = False
        self._frozen = False

    @property
    def text(self) -> str:
        """All the text so far."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    @property
    def is_frozen(self) -> bool:
        return self._frozen

    @property
    def is_over(self) -> bool:
        """True when the text is complete and nothing of it is left to be heard."""
        if not self._complete:
            return False
        if not self.has_voice:
            return self._written >= len(self.text)
        has_all_sound = all(index in self._sounds for index in range(len(self._clauses)))
        return has_all_sound and self.cursor.heard_ms >= self.cursor.generated_ms

    @property
    def heard_chars(self) -> int:
        """Characters of :attr:`text` that were heard, rounded down to the end of a word."""
        if not self.has_voice:
            return self._written_chars()
        heard_ms = self.cursor.heard_ms
        if heard_ms <= 0:
            return 0
        return len(self.text) if self.is_over else self._chars_before(heard_ms)

    @property
    def heard_text(self) -> str:
        return self.text[: self.heard_chars]

    def append(self, text: str) -> None:
        """More text of a response without a voice."""
        if self.has_voice:
            raise AssertionError("with a voice the text comes in clauses")
        self._parts.append(text)

    def add(self, clause: Clause) -> int:
        """The next clause of the response, with a voice or without.

        Returns:
            Its index, as ``Speak.clause``.
        """
        if clause.start != len(self.text) or len(clause.text) != clause.end - clause.start:
            raise AssertionError("clauses follow one another without gaps")
        self._clauses.append(clause)
        self._parts.append(clause.text)
        return len(self._clauses) - 1

    def complete(self) -> None:
        """No more text will come."""
        self._complete = True

    def freeze(self) -> None:
        """What is heard by now is settled; later reports are refused."""
        self._frozen = True
        self.cursor.commit(self.cursor.heard_ms)

    def on_spoken(
        self, clause: int, duration_ms: int, word_ends_ms: Sequence[int] | None = None
    ) -> bool:
        """Clause ``clause`` has its sound; timings count from the clause's start."""
        is_known = 0 <= clause < len(self._clauses)
        if self._frozen or not is_known or clause in self._sounds:
            return False
        timings = None if word_ends_ms is None else tuple(accumulate(word_ends_ms, max))
        self._sounds[clause] = _Sound(max(0, duration_ms), timings)
        self.cursor.generate(sum(sound.duration_ms for _, sound in self._voiced()))
        return True

    def on_sent(self, sent_ms: int) -> bool:
        """This much sound has left for the client so far."""
        if self._frozen:
            return False
        self.cursor.send(sent_ms)
        return True

    def on_played(self, played_ms: int) -> bool:
        """An ack of the client."""
        if self._frozen:
            return False
        self.cursor.play(played_ms)
        return True

    def on_truncated(self, audio_end_ms: int) -> bool:
        """The client's word on where its playback ended."""
        if self._frozen:
            return False
        self.cursor.truncate(audio_end_ms)
        return True

    def on_written(self, chars: int) -> bool:
        """This many characters have left for the client so far."""
        if self._frozen:
            return False
        self._written = max(self._written, min(chars, len(self.text)))
        return True

    def _voiced(self) -> Iterator[tuple[Clause, _Sound]]:
        """Clauses with their sound, up to the first that has none yet."""
        for index, clause in enumerate(self._clauses):
            sound = self._sounds.get(index)
            if sound is None:
                return
            yield clause, sound

    def _chars_before(self, heard_ms: int) -> int:
        chars, begin_ms = 0, 0
        for clause, sound in self._voiced():
            if begin_ms > heard_ms:
                break
            if heard := _heard_in(clause.text, sound, heard_ms - begin_ms):
                chars = clause.start + heard
            begin_ms += sound.duration_ms
        return chars

    def _written_chars(self) -> int:
        if self._complete and self._written == len(self.text):
            return self._written
        known = self.text[: self._written + 1]
        ends = word_ends(known)
        if not self._complete and ends and ends[-1] == len(self.text):
            ends.pop()  # it may be the middle of a word still to come
        return _last_up_to(ends, self._written)


def word_ends(text: str) -> list[int]:
    """Positions in ``text`` just behind a word; its end is taken to be the end of one.

    Words end at blanks. In scripts without blanks each character is a word, with the marks that
    follow it.
    """
    ends = []
    for at in range(1, len(text)):
        before, after = text[at - 1], text[at]
        is_between = after.isalnum() and (is_wide(before) or is_wide(after))
        if not before.isspace() and (after.isspace() or is_between):
            ends.append(at)
    if text and not text[-1].isspace():
        ends.append(len(text))
    return ends


def _heard_in(text: str, sound: _Sound, elapsed_ms: int) -> int:
    """Characters of one clause that were heard ``elapsed_ms`` after it began."""
    ends = word_ends(text)
    if elapsed_ms >= sound.duration_ms:
        return ends[-1] if ends else 0
    if sound.word_ends_ms is not None:
        words = bisect_right(sound.word_ends_ms, elapsed_ms)
        blank_ends = [end for end in ends if end == len(text) or text[end].isspace()]
        for candidates in (blank_ends, ends):
            if len(candidates) == len(sound.word_ends_ms):
                return candidates[words - 1] if words else 0
        # The engine counted other words ("3.5" is three to it): its timings fit no place.
    return _last_up_to(ends, len(text.rstrip()) * elapsed_ms // sound.duration_ms)


def _last_up_to(ends: Sequence[int], limit: int) -> int:
    index = bisect_right(ends, limit)
    return ends[index - 1] if index else 0
