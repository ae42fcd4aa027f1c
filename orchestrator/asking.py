"""Looks and asks: opens a tick in memory, builds its prompt, sends its call."""

from __future__ import annotations

from onlooker.decision import Policy, PromptBuilder, ReplyParser
from onlooker.memory import Memory
from onlooker.orchestrator.camera import Glance
from onlooker.orchestrator.commands import CallModel
from onlooker.orchestrator.config import CoreConfig
from onlooker.orchestrator.opentick import Look, OpenTick
from onlooker.orchestrator.outputs import Outputs
from onlooker.orchestrator.reports import Reports
from onlooker.types import BoundaryReason, CallId, Ms, TickIndex


class Asker:
    """The way from a glance to a model call."""

    def __init__(
        self, config: CoreConfig, memory: Memory, policy: Policy, reports: Reports, out: Outputs
    ) -> None:
        self._memory = memory
        self._policy = policy
        self._reports = reports
        self._out = out
        self._prompt = PromptBuilder(config.dialect, config.system)
        self._pending_system: str | None = None
        self._calls = 0

    def change_system(self, system: str) -> None:
        """A new persona. The system message changes with the boundary, in one step."""
        self._pending_system = system
        self._memory.force_boundary(BoundaryReason.PERSONA)

    def look(self, index: TickIndex, glance: Glance, now_ms: Ms) -> Look:
        """Open the tick in memory; a boundary that is due happens here."""
        if self._pending_system is not None:
            self._prompt.set_system(self._pending_system)
            self._pending_system = None
        tail, boundary = self._memory.begin_tick(index, now_ms, glance.frames, glance.video)
        if boundary is not None:
            self._reports.boundary(boundary, now_ms)
        return Look(tail.label_ms, self._prompt.build(self._memory))

    def call(self, tick: OpenTick, now_ms: Ms, *, fresh_connection: bool = False) -> None:
        """Send the tick's prompt; nothing of an earlier call of this tick counts any more."""
        self._calls += 1
        tick.call_id = CallId(f"c{self._calls}")
        tick.called_ms = now_ms
        tick.first_delta_ms = None
        tick.parser = ReplyParser()
        tick.judge = None
        tick.busy = False
        tick.requests += 1
        self._out.add(
            CallModel(
                call_id=tick.call_id,
                messages=tick.look.prompt.messages,
                sampling=self._policy.sampling(forced=tick.forced),
                deadline_ms=tick.deadline_ms,
                fresh_connection=fresh_connection,
            )
        )
