"""Random sessions against the word-level oracle; and proof that the oracle sees mistakes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlooker.errors import OnlookerError
from onlooker.memory import HeardFact, Memory
from onlooker.memory.chunk import Chunk
from onlooker.memory.instructions import FoldedStanding
from onlooker.memory.replies import Replies
from onlooker.memory.staging import Staging
from tests.memory.oracle import Violation, run
from tests.memory.words import SMALL, WORDLESS, WORDY, make

pytestmark = pytest.mark.pure

SEEDS = st.integers(0, 2**32)


@pytest.mark.parametrize("text", [WORDY, WORDLESS], ids=lambda text: text.name)
@given(seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_s1_s2_s6_every_prompt_shows_each_thing_once_in_any_order_of_events(text, seed):
    run(make(text=text), seed)


@pytest.mark.parametrize("text", [WORDY, WORDLESS], ids=lambda text: text.name)
@given(seed=SEEDS)
@settings(max_examples=20, deadline=None)
def test_s6_holds_through_restarts_and_forced_compactions(text, seed):
    run(make(text=text), seed, extra=("restart", "restart", "squeeze"))


@given(seed=SEEDS)
@settings(max_examples=20, deadline=None)
def test_snapshot_with_frames_round_trips(seed):
    memory = run(make(), seed, steps=40).memory
    now = memory._store.last_ms
    once = Memory.restore(memory.snapshot(with_frames=True), memory.config, WORDY, now)
    data = once.snapshot(with_frames=True)
    again = Memory.restore(data, memory.config, WORDY, now)
    assert again.snapshot(with_frames=True) == data
    assert (again.head, again.tail, again.standing) == (once.head, once.tail, once.standing)


class PublishesMidChunk(Memory):
    """Shows a summary as soon as it arrives (B1)."""

    def on_summary(self, job_id, text, now_ms):
        status = super().on_summary(job_id, text, now_ms)
        self._store.head += f"\n{text}"
        return status


class SplicesQuery(Memory):
    """Puts a query into the head instead of the tail (B8)."""

    def arm(self, instruction_id, text, lifetime, now_ms, *, urgent=False):
        changes = super().arm(instruction_id, text, lifetime, now_ms, urgent=urgent)
        self._store.staging.facts.pop()
        self._store.head += f"\n{text}"
        return changes


class ForgetsToSettle(Memory):
    """Never cuts an interrupted reply."""

    def settle(self, response_id, heard_chars, *, interrupted):
        self._store.replies.forget(response_id)


class LosesRolledBack(Memory):
    """A failed tick takes its facts with it (J4, B32)."""

    def rollback_tick(self):
        self._store.open = None


class _Part(Memory):
    """A memory with one faulty part."""

    def __init__(self, config, text):
        super().__init__(config, text)
        self.sabotage()

    def sabotage(self):
        raise NotImplementedError


class ArchivesAllWords(_Part):
    """The close forgets that a live reply is provisional."""

    def sabotage(self):
        class Faulty(Replies):
            def archive(self, reply, mark):
                reply.archived = reply.heard
                return reply.spoken

        self._store.replies = Faulty()


class DropsContinuation(_Part):
    """Words heard after the boundary are lost."""

    def sabotage(self):
        class Faulty(Staging):
            def add(self, fact):
                if not isinstance(fact, HeardFact):
                    super().add(fact)

        self._store.staging = Faulty()


class KeepsFolded(_Part):
    """What was folded stays in the tail as well."""

    def sabotage(self):
        class Faulty(Chunk):
            def take(self, count):
                gone = super().take(count)
                self.ticks = [*gone[-1:], *self.ticks] if count > 1 else self.ticks
                return gone

        self._store.chunk = Faulty(self._store.text)


class ForgetsCancels(_Part):
    """A cancellation is folded without effect."""

    def sabotage(self):
        class Faulty(FoldedStanding):
            def drop(self, instruction_id):
                pass

        self._store.history.standing = Faulty()


class FoldsAtTheBoundary(_Part):
    """The head takes the summary's range and drops everything after the cut as well."""

    def sabotage(self):
        class Faulty(Chunk):
            def take(self, count):
                return super().take(len(self.ticks))

        self._store.chunk = Faulty(self._store.text)


MUTANTS = [
    PublishesMidChunk, SplicesQuery, ForgetsToSettle, LosesRolledBack, ArchivesAllWords,
    DropsContinuation, KeepsFolded, ForgetsCancels, FoldsAtTheBoundary,
]  # fmt: skip


@pytest.mark.parametrize("kind", MUTANTS, ids=lambda kind: kind.__name__)
def test_the_oracle_catches(kind):
    caught = 0
    for seed in range(60):
        try:
            run(make(SMALL, kind=kind), seed)
        except (Violation, AssertionError, OnlookerError):
            caught += 1
        if caught:
            return
    pytest.fail("survived")
