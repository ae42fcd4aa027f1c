"""What a session remembers: pure values, no clock, no I/O.

:class:`Memory` is the only thing most callers need; see ``state.py`` for how it works.
"""

from onlooker.memory.config import MemoryConfig, MemorySettings, resolve
from onlooker.memory.entries import (
    Boundary,
    CancelFact,
    DelegatedFact,
    EndMark,
    ExpiredFact,
    Fact,
    GapFact,
    HeardFact,
    Instruction,
    MemoryGauge,
    QueryFact,
    SummaryRequest,
    TailTick,
)
from onlooker.memory.prefix import seconds
from onlooker.memory.state import Memory

__all__ = [
    "Boundary",
    "CancelFact",
    "DelegatedFact",
    "EndMark",
    "ExpiredFact",
    "Fact",
    "GapFact",
    "HeardFact",
    "Instruction",
    "Memory",
    "MemoryConfig",
    "MemoryGauge",
    "MemorySettings",
    "QueryFact",
    "SummaryRequest",
    "TailTick",
    "resolve",
    "seconds",
]
