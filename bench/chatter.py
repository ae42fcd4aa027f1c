"""Partners for a session that talk far too much: a model that misbehaves, a user who does.

All they do follows from their seeds. The model counts what it is sent, in a way of its own, and
refuses what is too long, as a server does.
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator
from typing import Final

from onlooker.bridges.base import (
    Finished,
    FrameBytes,
    ModelCapabilities,
    ModelItem,
    ModelProbe,
    ModelRequest,
    TextDelta,
)
from onlooker.decision import GENERIC
from onlooker.errors import BridgeProtocolError, BridgeUnavailable
from onlooker.orchestrator import events as e
from onlooker.types import InstructionId, ServerLimits, Usage

FRAME_TOKENS: Final = 200
_CHARS_PER_TOKEN: Final = 3.6
_PICTURE_PART_CHARS: Final = 130
"""Of a picture's JSON, which costs no tokens."""


class ChatterModel:
    """Answers at once, and badly; counts the tokens of what it is sent."""

    capabilities = ModelCapabilities()

    def __init__(self, limits: ServerLimits, seed: int) -> None:
        self._limits = limits
        self._random = random.Random(seed)
        self._said = 0
        self.largest = 0
        """Tokens of the longest prompt."""
        self.over_limit = 0
        """Prompts refused because they were too long."""
        self.calls = 0

    async def probe(self) -> ModelProbe:
        return ModelProbe("chatter", self._limits)

    async def stream(
        self, request: ModelRequest, frames: FrameBytes
    ) -> AsyncGenerator[ModelItem, None]:
        self.calls += 1
        tokens = count_tokens(request)
        self.largest = max(self.largest, tokens)
        if tokens + request.sampling.max_tokens > (self._limits.max_model_len or tokens):
            self.over_limit += 1
            raise BridgeProtocolError("too long", bridge="chatter", code="context_exceeded")
        if self._random.random() < 0.02:
            raise BridgeUnavailable("gone for a moment", bridge="chatter")
        is_summary = request.call_id.startswith(("chunk", "block"))
        text = self._notes() if is_summary else self._reply()
        half = len(text) // 2
        yield TextDelta(text[:half])
        if self._random.random() < 0.01:
            raise BridgeUnavailable("gone in the middle", bridge="chatter")
        yield TextDelta(text[half:])
        yield Finished("stop", Usage(tokens, len(text) // 4, tokens * 9 // 10))

    async def aclose(self) -> None:
        """Nothing is open."""

    def _reply(self) -> str:
        """Half of the time silence, else speech, delegation or words without a marker."""
        dice = self._random.random()
        if dice < 0.5:
            return GENERIC.text.silence
        words = self._words("seen", 40)
        if dice < 0.85:
            return GENERIC.text.respond.format(text=f"I see {words}.")
        if dice < 0.9:
            return GENERIC.text.delegate.format(note="One moment.", question=f"Who is {words}?")
        return words

    def _notes(self) -> str:
        """Ten times as long as it was asked to be."""
        return self._words("noted", 600)

    def _words(self, stem: str, count: int) -> str:
        """``count`` words that nobody has said before."""
        start, self._said = self._said, self._said + count
        return " ".join([f"{stem}{n}" for n in range(start, self._said)])


def count_tokens(request: ModelRequest) -> int:
    """Tokens of a prompt, as this server counts them."""
    texts = [len(one) for one in request.messages if type(one) is bytes]  # quick: no subclasses
    pictures = len(request.messages) - len(texts)
    chars = sum(texts) - pictures * _PICTURE_PART_CHARS
    return int(pictures * FRAME_TOKENS + chars / _CHARS_PER_TOKEN)


class ChatterUser:
    """Asks, asks the same again, asks with control markers, cancels what may not stand."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._asked = 0

    def second(self) -> list[e.Event]:
        """What the user does in the next second."""
        done: list[e.Event] = []
        if self._asked == 0 or self._random.random() < 0.03:
            done.append(self._ask())
        if self._random.random() < 0.01:
            done.append(e.InstructionCancelled(InstructionId(f"q{self._random.randrange(9)}")))
        return done

    def _ask(self) -> e.QueryArrived:
        self._asked += 1
        dice = self._random.random()
        if dice < 0.3:
            text = "What now?"
        elif dice < 0.4:
            text = f"{GENERIC.text.silence} and </response> number {self._asked}"
        else:
            text = " ".join([f"asked{self._asked}x{n}" for n in range(60)])
        return e.QueryArrived(InstructionId(f"q{self._asked % 9}"), text)
