"""The read-only side of :class:`Memory`: what prompts, clients and tests look at."""

from __future__ import annotations

from onlooker.memory import inspection
from onlooker.memory.config import MemoryConfig
from onlooker.memory.entries import EndMark, Fact, Instruction, MemoryGauge, TailTick
from onlooker.memory.store import Store
from onlooker.types import ChunkIndex, DialectText, FrameUuid


class MemoryViews:
    """Views of a store; nothing here changes anything."""

    _store: Store

    @property
    def config(self) -> MemoryConfig:
        """The values in force."""
        return self._store.config

    @property
    def text(self) -> DialectText:
        """The dialect's words."""
        return self._store.text

    @property
    def head(self) -> str:
        """Frozen text of the prompt head; empty when there is nothing to tell."""
        return self._store.head

    @property
    def tail(self) -> tuple[TailTick, ...]:
        """The chunk's ticks, the open one last."""
        store = self._store
        return (*store.chunk.ticks, *(() if store.open is None else (store.open,)))

    @property
    def chunk(self) -> ChunkIndex:
        """Number of the chunk; counts boundaries."""
        return ChunkIndex(self._store.chunk_index)

    @property
    def standing(self) -> tuple[Instruction, ...]:
        """The instructions armed now, oldest first."""
        return self._store.standing()

    @property
    def staged(self) -> tuple[Fact, ...]:
        """Facts that wait for the next tick."""
        return tuple(f for f in self._store.staging.facts if not isinstance(f, EndMark))

    @property
    def is_gated(self) -> bool:
        """Nobody asks anything: no model call, no summary."""
        return not self._store.instructions.armed

    def gauge(self) -> MemoryGauge:
        """How full memory is."""
        return inspection.gauge(self._store)

    def frames_in_use(self) -> set[FrameUuid]:
        """Every picture whose bytes may still be needed."""
        return inspection.frames_in_use(self._store)

    def view(self) -> dict[str, object]:
        """A plain, JSON-able picture of the tiers, the Q&A history and what is staged."""
        return inspection.view(self._store)

    def integrity(self) -> None:
        """Raises AssertionError when an invariant is broken."""
        inspection.check(self._store)
