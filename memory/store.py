"""The parts of a session's memory in one place, and what is measured over all of them."""

from __future__ import annotations

from onlooker.memory.budget import Estimator, Size, fact_chars, tick_size
from onlooker.memory.chunk import Chunk
from onlooker.memory.config import CHARS_PER_TOKEN, MemoryConfig
from onlooker.memory.entries import (
    CancelFact,
    EndMark,
    ExpiredFact,
    Fact,
    Instruction,
    QueryFact,
    Span,
    TailTick,
)
from onlooker.memory.history import History
from onlooker.memory.instructions import Instructions
from onlooker.memory.jobs import Jobs
from onlooker.memory.lead import Lead
from onlooker.memory.prefix import qa_text, render_head
from onlooker.memory.qa import QaItem
from onlooker.memory.replies import Replies
from onlooker.memory.staging import Staging
from onlooker.memory.tiers import Tiers
from onlooker.types import BoundaryReason, DialectText, InstructionId, Ms

MAX_STAGED = 128
"""Facts that wait, beyond which finished askings go straight to the archive."""


class Store:
    """Mutable parts; :mod:`consolidation` and :class:`Memory` work on them."""

    def __init__(self, config: MemoryConfig, text: DialectText) -> None:
        self.config = config
        self.text = text
        self.staging = Staging()
        self.instructions = Instructions(config.max_instructions)
        self.chunk = Chunk(text)
        self.open: TailTick | None = None
        self.replies = Replies()
        self.history = History()
        self.jobs = Jobs(config.summary_attempts)
        self.tiers = Tiers(config.rollup_every, config.block_window, config.block_trim)
        self.lead = Lead(config)
        self.estimator = Estimator(
            config.frame_tokens, 1 / CHARS_PER_TOKEN, config.system_tokens * CHARS_PER_TOKEN
        )
        self.head = ""
        self.chunk_index = 0
        self.forced: BoundaryReason | None = None
        """Why the next tick must begin with a boundary."""
        self.withdrawn: list[InstructionId] = []
        """Cancelled without words: their queries leave the tail at the next boundary."""
        self.is_head_stale = False
        """Something was folded outside a boundary (while gated)."""
        self.fallbacks: list[Span] = []
        """Ranges folded without a summary since the last boundary."""
        self.last_ms = Ms(0)
        """Newest stream time that memory has seen."""
        self.sent = Size()
        """Head and tail of the newest prompt."""
        self.measured_tokens: int | None = None
        self.committed_frames = 0

    def size(self) -> Size:
        """Head and tail as they would be sent now."""
        total = self.chunk.size + Size(0, len(self.head))
        return total if self.open is None else total + tick_size(self.open, self.text)

    def fact_chars(self, fact: Fact) -> int:
        """Characters of one fact in a user message."""
        return fact_chars(fact, self.text)

    @property
    def fact_room(self) -> int:
        """Characters of facts one tick takes, beyond its first."""
        return self.estimator.chars(self.config.max_prompt_tokens // 8)

    def visible_items(self) -> list[QaItem]:
        """Q&A items the next head shows."""
        return self.history.qa.visible(self.history.standing.askings)

    def qa_chars(self, item: QaItem) -> int:
        """Characters of one Q&A item in the head."""
        return len(qa_text(item, self.text))

    def render(self) -> str:
        """The head as folded now."""
        standing = self.history.standing.by_id.values()
        return render_head(self.tiers.spans, self.visible_items(), standing, self.text)

    def trim_qa(self, entries: int, chars: int) -> None:
        """Applies the bounds of the Q&A history."""
        askings = self.history.standing.askings
        self.history.qa.trim(askings, entries=entries, chars=chars, length=self.qa_chars)

    def stage(self, fact: Fact | EndMark) -> None:
        """Something arrived for the next tick."""
        self.staging.add(fact)
        if len(self.staging.facts) > MAX_STAGED:
            self._settle_staging()

    def _settle_staging(self) -> None:
        """A flood between two ticks: askings already over go to the archive unshown."""
        current = {(one.instruction_id, one.at_ms) for one in self.instructions.armed.values()}
        shown = set(self.history.standing.by_id) | {
            fact.instruction_id
            for tick in [*self.chunk.ticks, *([self.open] if self.open else [])]
            for fact in tick.facts
            if isinstance(fact, QueryFact)
        }
        over: set[InstructionId] = set()
        kept: list[Fact | EndMark] = []
        for fact in self.staging.facts:
            if isinstance(fact, QueryFact) and self._is_over(fact, current):
                self.history.qa.add_query(fact)
                over.add(fact.instruction_id)
            elif (
                isinstance(fact, CancelFact | ExpiredFact | EndMark)
                and fact.instruction_id in over - shown
            ):
                continue
            else:
                kept.append(fact)
        self.staging.facts = kept
        self.trim_qa(self.config.qa_entries, self.estimator.chars(self.config.qa_tokens))

    def _is_over(self, fact: QueryFact, current: set[tuple[InstructionId, Ms]]) -> bool:
        if fact.cut_off:
            return fact.instruction_id not in self.instructions.armed
        return (fact.instruction_id, fact.at_ms) not in current

    def standing(self) -> tuple[Instruction, ...]:
        """What is armed now, oldest first."""
        return tuple(self.instructions.armed.values())
