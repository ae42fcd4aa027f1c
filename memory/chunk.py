"""The live chunk: its ticks, how full it is, its cut, and the gated ring at its end.

Counters are kept, not recomputed: a tick costs what is new in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

from onlooker.memory.budget import Size, tick_size
from onlooker.memory.config import MemoryConfig
from onlooker.memory.entries import EndMark, TailTick
from onlooker.types import DialectText, Ms, ResponseId

AGE_GRACE_MS = 60_000
"""How long a chunk that is full by age waits for its summary."""


class Fullness(IntEnum):
    """How full a chunk is; ordered."""

    OPEN = 0
    NEAR = 1
    """The summary is due: fix the cut."""
    FULL = 2
    """The boundary is due as soon as the summary is there."""
    HARD = 3
    """The boundary cannot wait."""


@dataclass(frozen=True, slots=True)
class Cut:
    """End of the range that is being summarised."""

    ticks: int
    """Ticks of the chunk before the cut."""
    at_ms: Ms
    """When it was fixed."""
    job: int | None
    """Number of its summary job; None when there is nothing to summarise."""


@dataclass(frozen=True, slots=True)
class Next:
    """What the tick that is about to open adds."""

    now_ms: Ms
    frames: int
    prompt_tokens: int
    """Estimated tokens of the whole prompt with it."""


class Chunk:
    """Committed ticks since the last boundary (carried ones included)."""

    def __init__(self, text: DialectText) -> None:
        self._text = text
        self.ticks: list[TailTick] = []
        self.size = Size()
        self.cut: Cut | None = None
        self.ring_from: int | None = None
        """Index of the first gated tick at the end of ``ticks``; None while not gated."""

    def append(self, tick: TailTick) -> None:
        """Adds a committed tick."""
        self.ticks.append(tick)
        self.size += tick_size(tick, self._text)

    def rewrite(self, place: int, reply: str, spoken: str) -> None:
        """An interruption: another reply for one tick; nothing before it changes."""
        old = self.ticks[place]
        if old.reply != reply:
            self._put(place, replace(old, reply=reply, spoken=spoken, revision=old.revision + 1))

    def mark(self, place: int, ends: tuple[EndMark, ...]) -> None:
        """Notes, invisibly, what ended with a tick."""
        self.ticks[place] = replace(self.ticks[place], ends=self.ticks[place].ends + ends)

    def replace_facts(self, place: int, tick: TailTick) -> None:
        """At a boundary only: a tick with other facts."""
        self._put(place, tick)

    def _put(self, place: int, new: TailTick) -> None:
        self.size += tick_size(new, self._text) - tick_size(self.ticks[place], self._text)
        self.ticks[place] = new

    def find(self, response_id: ResponseId) -> int | None:
        """Index of the tick that holds a response, newest first."""
        for place in range(len(self.ticks) - 1, -1, -1):
            if self.ticks[place].response_id == response_id:
                return place
        return None

    def take(self, count: int) -> list[TailTick]:
        """Removes the first ``count`` ticks; cut and ring move with the rest."""
        gone, self.ticks = self.ticks[:count], self.ticks[count:]
        for tick in gone:
            self.size -= tick_size(tick, self._text)
        if self.cut is not None:
            left = self.cut.ticks - count
            self.cut = replace(self.cut, ticks=left) if left > 0 else None
        if self.ring_from is not None:
            self.ring_from = max(0, self.ring_from - count)
        return gone

    def ring_frames(self) -> int:
        """Pictures in the gated ring."""
        start = len(self.ticks) if self.ring_from is None else self.ring_from
        return sum(len(tick.frames) for tick in self.ticks[start:])

    def pace_ms(self) -> float:
        """Milliseconds per tick, as seen in this chunk; 1,000 until two ticks are known."""
        if len(self.ticks) < 2:
            return 1_000.0
        span = self.ticks[-1].at_ms - self.ticks[0].at_ms
        return max(1.0, span / (len(self.ticks) - 1))

    def frames_per_tick(self) -> int:
        """Pictures of the newest tick; at least 1."""
        return max(1, len(self.ticks[-1].frames)) if self.ticks else 1

    def is_near(self, config: MemoryConfig, lead: int, now_ms: Ms, prompt_tokens: int) -> bool:
        """Whether the summary is due, ``lead`` pictures before the chunk is full."""
        if not self.ticks:
            return False
        count, step = len(self.ticks), self.frames_per_tick()
        ticks_ahead = -(-lead // step)
        per_tick = self.size.frames / count * config.frame_tokens + 24
        return (
            self.size.frames + step > config.chunk_frames - lead
            or count + 1 > config.chunk_ticks - ticks_ahead
            or now_ms - self.ticks[0].at_ms + ticks_ahead * self.pace_ms() >= config.max_age_ms
            or prompt_tokens + ticks_ahead * per_tick >= config.token_watermark
        )

    def fullness(self, config: MemoryConfig, lead: int, new: Next) -> Fullness:
        """How full the chunk is for a tick that adds ``new``."""
        if not self.ticks:
            return Fullness.OPEN
        frames, count = self.size.frames, len(self.ticks)
        spare = config.hard_cap_frames - config.chunk_frames
        if (
            frames + new.frames > config.hard_cap_frames
            or count >= config.chunk_ticks + 2 * spare
            or new.prompt_tokens > config.max_prompt_tokens
        ):
            return Fullness.HARD
        is_old = new.now_ms - self.ticks[0].at_ms >= config.max_age_ms
        if is_old and self.cut is not None and new.now_ms - self.cut.at_ms >= AGE_GRACE_MS:
            return Fullness.HARD
        if (
            is_old
            or frames >= config.chunk_frames
            or frames + new.frames > config.chunk_frames
            or count >= config.chunk_ticks
            or new.prompt_tokens > config.token_watermark
        ):
            return Fullness.FULL
        near = self.is_near(config, lead, new.now_ms, new.prompt_tokens)
        return Fullness.NEAR if near else Fullness.OPEN
