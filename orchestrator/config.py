"""What a core is built from: plain values, no settings library."""

from __future__ import annotations

from dataclasses import dataclass, field

from onlooker.decision import Dialect, GateConfig
from onlooker.memory import MemoryConfig
from onlooker.orchestrator.bargein import BargeInConfig


@dataclass(frozen=True, slots=True)
class CoreConfig:
    """Everything one :class:`SessionCore` needs to know."""

    dialect: Dialect
    system: str
    """System prompt of the starting persona, in the dialect."""
    memory: MemoryConfig
    gates: GateConfig = field(default_factory=GateConfig)
    barge_in: BargeInConfig = field(default_factory=BargeInConfig)
    language: str = "en"
    """Language of summaries."""
    period_ms: int = 1_000
    """T: one cadence slot."""
    tick_deadline_ms: int = 10_000
    """A tick's calls must have ended this long after it began."""
    summary_deadline_ms: int = 60_000
    frames_per_tick: int = 1
    """Pictures shown in one tick, 1 to 4."""
    max_requests: int = 4
    """Model requests one tick may make, recoveries included."""
    max_query_chars: int = 4_000
    has_structured_outputs: bool = False
    """The server honours ``structured_outputs.regex``."""
    has_voice: bool = False
    """A synthesiser is attached: *heard* follows the playback cursor."""
    has_delegate: bool = False
    queue_while_speaking: bool = False
    """A new response waits for the live one (at most one does) instead of being dropped."""
    ring_frames: int = 8
    """Recent frames a delegated question carries."""
    max_delegations: int = 4
    first_epoch: int = 0
    """A restored session goes on above its old epochs."""
