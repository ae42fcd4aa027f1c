"""Two hours of adversarial chatter against a server that counts for itself."""

from __future__ import annotations

from random import Random

import pytest

from onlooker.memory import DelegatedFact, Memory, MemorySettings
from onlooker.types import (
    BoundaryReason,
    InstructionId,
    Lifetime,
    LifetimeKind,
    Ms,
    ResponseId,
    ServerLimits,
    Ticket,
    TickIndex,
    Usage,
    VideoState,
)
from tests.memory.words import WORDY, frame, make

pytestmark = pytest.mark.pure

SYSTEM_CHARS = 2_400


def prompt_chars(memory: Memory) -> int:
    """Characters of the whole prompt, as a prompt builder would count them."""
    total = SYSTEM_CHARS + len(memory.head)
    for tick in memory.tail:
        total += len(tick.reply) + 12 * len(tick.frames[:1])
        for fact in tick.facts:
            total += len(getattr(fact, "text", "")) + len(getattr(fact, "question", "")) + 40
    return total


class Server:
    """Counts tokens in its own way and refuses what is too long."""

    def __init__(self, limit: int, per_frame: float, per_char: float) -> None:
        self.limit, self.per_frame, self.per_char = limit, per_frame, per_char
        self.worst = 0

    def count(self, memory: Memory) -> int:
        frames = sum(len(tick.frames) for tick in memory.tail)
        roles = 9 * 2 * len(memory.tail)
        return int(frames * self.per_frame + prompt_chars(memory) * self.per_char) + roles


class Chatter:
    """Users, model, delegates and summaries, all talking far too much."""

    def __init__(self, memory: Memory, server: Server, seed: int) -> None:
        self.memory, self.server, self.random = memory, server, Random(seed)
        self.said: list[tuple[str, int]] = []
        self.running: list[tuple[int, str]] = []
        self.refused = 0
        self.n = 0

    def text(self, kind: str, longest: int) -> str:
        word = f"{kind}{self.n}z"
        self.said.append((word, self.n * 1000))
        return " ".join([word, *["blah"] * self.random.randint(0, longest // 5)])

    def tick(self) -> None:
        self.n += 1
        self.arrive()
        pictures = [frame(self.n, self.n * 1000)]
        for _ in range(4):
            self.memory.begin_tick(TickIndex(self.n), Ms(self.n * 1000), pictures, VideoState.FRESH)
            if self.fits():
                break
            self.refused += 1
            self.memory.rollback_tick()
            self.memory.shrink_to(max_tokens=self.memory.config.max_prompt_tokens * 9 // 10)
            self.memory.force_boundary(BoundaryReason.FORCED)
        else:
            raise AssertionError("a tick never fitted")
        gauge = self.memory.gauge()
        assert gauge.prompt_tokens <= gauge.budget_tokens
        self.answer()

    def fits(self) -> bool:
        count = self.server.count(self.memory)
        self.server.worst = max(self.server.worst, count)
        if count > self.server.limit:
            return False
        frames = sum(len(tick.frames) for tick in self.memory.tail)
        usage = Usage(count, 10, None)
        self.memory.on_usage(usage, frames=frames, chars=prompt_chars(self.memory))
        return True

    def arrive(self) -> None:
        now = Ms(self.n * 1000 - 5)
        if self.random.random() < 0.2 or not self.memory.standing:
            kind = self.random.choice((LifetimeKind.CANCELLED, LifetimeKind.ANSWERED))
            text = self.text("Q", 3_000)
            self.memory.arm(InstructionId(f"i{self.n}"), text, Lifetime(kind), now)
        if self.random.random() < 0.1:
            answer = self.text("A", 9_000)
            self.memory.add_delegated(DelegatedFact(Ticket("t"), "what", answer, now, "aloud"))
        if self.random.random() < 0.05 and len(self.memory.standing) > 1:
            self.memory.cancel(self.memory.standing[0].instruction_id, now)
        for request in self.memory.summary_requests(now):
            self.running.append((self.n + self.random.randint(1, 25), request.job_id))
        for due, job in [one for one in self.running if one[0] <= self.n]:
            self.running.remove((due, job))
            if self.random.random() < 0.2:
                self.memory.on_summary_failed(job, now)
            else:
                self.memory.on_summary(job, "summary " * self.random.randint(1, 400), now)

    def answer(self) -> None:
        if self.random.random() < 0.5:
            self.memory.commit_tick(WORDY.silence)
            return
        rid = ResponseId(f"r{self.n}")
        words = self.text("R", 800)
        self.memory.commit_tick(WORDY.respond.format(text=words), rid, words)
        self.memory.settle(rid, len(words), interrupted=False)

    def unfindable(self) -> list[str]:
        memory = self.memory
        shown = (
            memory.head
            + "\n"
            + " ".join(
                " ".join([tick.reply, *(getattr(fact, "text", "") for fact in tick.facts)])
                for tick in memory.tail
            )
        )
        view = memory.view()
        spans = [*view["long_term"], *view["mid_term"]]  # type: ignore[misc]
        shown += " " + " ".join(fact["text"] for fact in view["staged"])  # type: ignore[attr-defined]
        words = set(shown.replace("[", " ").split())
        return [
            word
            for word, at in self.said
            if word not in words and not any(s["start_ms"] < at <= s["end_ms"] for s in spans)
        ]


def test_c31_b6_b7_two_hours_of_chatter_stay_within_budget_and_findable():
    limits = ServerLimits(max_model_len=65_536, max_images=256)
    memory = make(MemorySettings(chunk_frames=100, block_window=60), WORDY, limits)
    chatter = Chatter(memory, Server(65_536 - 256, 252, 0.27), seed=1)
    for _ in range(7_200):
        chatter.tick()
    memory.integrity()
    assert chatter.refused == 0
    assert chatter.unfindable() == []
    assert memory.gauge().qa_entries <= memory.config.qa_entries
    assert memory.gauge().blocks > 5
    assert len(memory.snapshot()) < 200_000


@pytest.mark.parametrize(
    ("per_frame", "per_char"), [(252, 0.27), (90, 0.75), (420, 0.25)],
    ids=["english", "chinese", "large pictures"],
)  # fmt: skip
def test_c31_j10_a_small_context_is_learnt_and_kept(per_frame, per_char):
    limits = ServerLimits(max_model_len=8_192, max_images=64)
    memory = make(MemorySettings(), WORDY, limits)
    chatter = Chatter(memory, Server(8_192 - 256, per_frame, per_char), seed=2)
    for _ in range(1_500):
        chatter.tick()
    memory.integrity()
    assert chatter.refused <= 2
    assert chatter.server.worst > 4_000  # the room is used
