"""How many tokens a prompt costs: learnt from the server's own counts.

The model is ``tokens ≈ a · pictures + b · characters``. Inside a chunk pictures and characters grow
together, so ``a`` and ``b`` are learnt by a small Kalman filter that starts at careful guesses and
only believes what the data tell apart. What the fit still misses is covered by ``bias``, the worst
recent ratio of measured to estimated, which decays slowly: estimates err to the careful side.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

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
from onlooker.types import DialectText

TICK_CHARS = 48
"""Label, role tags and separators of one tick, as characters of text."""
MAX_BIAS = 4.0


@dataclass(frozen=True, slots=True)
class Size:
    """What a prompt holds, before it is tokens."""

    frames: int = 0
    chars: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(self.frames + other.frames, self.chars + other.chars)

    def __sub__(self, other: Size) -> Size:
        return Size(self.frames - other.frames, self.chars - other.chars)


def fact_chars(fact: Fact, text: DialectText) -> int:
    """Characters ``fact`` takes in a user message (an upper bound; formats are counted whole)."""
    match fact:
        case QueryFact():
            extra = len(text.query_header) + (len(text.cut_off_line) if fact.cut_off else 0)
        case CancelFact():
            extra = len(text.cancelled_line)
        case ExpiredFact():
            extra = len(text.expired_line)
        case DelegatedFact():
            line = text.delegated_failed_line if fact.failed else text.delegated_line
            extra = len(line) + len(fact.question) + len(fact.delivery)
        case HeardFact():
            extra = len(text.heard_line) + len(text.interrupted_mark)
        case GapFact():
            return len(text.gap) + 2
        case _:
            assert_never(fact)
    return extra + len(fact.text) + 2


def tick_size(tick: TailTick, text: DialectText) -> Size:
    """What one tick adds to the prompt."""
    chars = TICK_CHARS + len(text.time_label) + len(tick.reply)
    chars += sum(fact_chars(fact, text) for fact in tick.facts)
    return Size(len(tick.frames), chars)


def ticks_size(ticks: Iterable[TailTick], text: DialectText) -> Size:
    """What several ticks add to the prompt."""
    total = Size()
    for tick in ticks:
        total += tick_size(tick, text)
    return total


class Estimator:
    """Learns tokens per picture and per character; see the module's docstring."""

    def __init__(self, frame_tokens: float, char_tokens: float, extra_chars: int) -> None:
        self._prior = (float(frame_tokens), float(char_tokens))
        self.frame_tokens, self.char_tokens = self._prior
        self._var = (self._prior[0] ** 2, 0.0, self._prior[1] ** 2)  # P00, P01, P11
        self.bias = 1.0
        self.extra_chars = extra_chars
        """Characters of a prompt outside head and tail: the system message."""

    def tokens(self, size: Size) -> int:
        """Tokens of a whole prompt whose head and tail measure ``size``."""
        plain = self._plain(size.frames, size.chars + self.extra_chars)
        return int(plain * self.bias) + 1

    def text_tokens(self, chars: int) -> int:
        """Tokens of a piece of text."""
        return int(self.char_tokens * self.bias * chars) + 1

    def chars(self, tokens: int) -> int:
        """Characters that ``tokens`` hold."""
        return max(1, int(tokens / (self.char_tokens * self.bias)))

    def learn(self, prompt_tokens: int, *, frames: int, chars: int, own_chars: int) -> None:
        """Takes in one measured prompt.

        Args:
            prompt_tokens: As the server counted them.
            frames: Pictures in the prompt.
            chars: Characters of all its text, the system message included.
            own_chars: What memory itself counted for head and tail of that prompt.
        """
        if prompt_tokens <= 0:
            return
        self.extra_chars = max(0, chars - own_chars)
        measured_chars = own_chars + self.extra_chars
        self._fit(float(prompt_tokens), float(frames), float(measured_chars))
        ratio = prompt_tokens / max(1.0, self._plain(frames, measured_chars))
        decayed = 1.0 + (self.bias - 1.0) * 0.98
        self.bias = min(MAX_BIAS, max(1.0, ratio, decayed))

    def _plain(self, frames: float, chars: float) -> float:
        return self.frame_tokens * frames + self.char_tokens * chars

    def _fit(self, tokens: float, frames: float, chars: float) -> None:
        p00, p01, p11 = self._var
        p00 += (0.01 * self._prior[0]) ** 2  # drift: picture sizes and languages change
        p11 += (0.01 * self._prior[1]) ** 2
        g0 = p00 * frames + p01 * chars
        g1 = p01 * frames + p11 * chars
        spread = g0 * frames + g1 * chars + (0.01 * tokens + 4.0) ** 2
        k0, k1 = g0 / spread, g1 / spread
        miss = tokens - self._plain(frames, chars)
        self.frame_tokens = max(1.0, self.frame_tokens + k0 * miss)
        self.char_tokens = max(0.02, self.char_tokens + k1 * miss)
        self._var = (p00 - k0 * g0, p01 - k0 * g1, p11 - k1 * g1)

    def state(self) -> list[float]:
        """Plain numbers for a snapshot."""
        return [self.frame_tokens, self.char_tokens, *self._var, self.bias, self.extra_chars]

    def load(self, state: list[float]) -> None:
        """Takes back what :meth:`state` gave."""
        self.frame_tokens, self.char_tokens, p00, p01, p11, self.bias = map(float, state[:6])
        self._var = (p00, p01, p11)
        self.extra_chars = int(state[6])


def clip(text: str, chars: int) -> str:
    """``text``, or its beginning up to a word's end with a visible mark, within ``chars``."""
    if len(text) <= chars:
        return text
    cut = text[: max(0, chars - 1)]
    space = cut.rfind(" ")
    if space > len(cut) // 2:
        cut = cut[:space]
    return cut.rstrip() + "…"
