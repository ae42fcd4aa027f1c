"""What a tick tells the client when it ends."""

from __future__ import annotations

from typing import assert_never

from onlooker.decision import Action, ActionKind, Delegate, Respond, Silence
from onlooker.memory import Boundary, Memory
from onlooker.orchestrator.cachewatch import MESSAGE, CacheWatch
from onlooker.orchestrator.camera import Glance
from onlooker.orchestrator.events import ModelFailed
from onlooker.orchestrator.notices import (
    BoundaryCrossed,
    DecisionMade,
    DecisionSource,
    MemoryGauged,
    Trouble,
)
from onlooker.orchestrator.opentick import OpenTick, Outcome
from onlooker.orchestrator.outputs import Outputs
from onlooker.types import Ms, TickIndex, Usage


class Reports:
    """Turns the ends of ticks into notices."""

    def __init__(self, memory: Memory, out: Outputs) -> None:
        self._memory = memory
        self._out = out
        self._cache = CacheWatch()

    def trouble(self, event: ModelFailed, now_ms: Ms) -> None:
        self._out.emit(Trouble(now_ms, event.code, event.message, event.retryable))

    def boundary(self, boundary: Boundary, now_ms: Ms) -> None:
        self._out.emit(
            BoundaryCrossed(
                chunk=boundary.chunk,
                at_ms=now_ms,
                reason=boundary.reason,
                carried_ticks=boundary.carried_ticks,
                carried_frames=boundary.carried_frames,
                head_chars=boundary.head_chars,
                fallback=boundary.fallback,
            )
        )

    def skipped(
        self,
        index: TickIndex,
        trigger: str,
        glance: Glance,
        source: DecisionSource,
        now_ms: Ms,
        slots_missed: int,
    ) -> None:
        """A tick that made no call."""
        self._out.emit(
            DecisionMade(
                tick=index,
                at_ms=now_ms,
                action=ActionKind.SILENCE,
                source=source,
                text="",
                question="",
                trigger=trigger,
                chunk=self._memory.chunk,
                video=glance.video,
                frames=tuple(frame.uuid for frame in glance.frames),
                label_ms=glance.frames[0].capture_ms if glance.frames else None,
                frames_dropped=glance.dropped,
                slots_missed=slots_missed,
            )
        )

    def decided(self, tick: OpenTick, outcome: Outcome, now_ms: Ms) -> None:
        """A tick that called the model, whatever came of it."""
        action = outcome.action
        self._out.emit(
            DecisionMade(
                tick=tick.index,
                at_ms=tick.began_ms,
                action=action_kind(action),
                source=outcome.source,
                text=spoken_text(action),
                question=action.question if isinstance(action, Delegate) else "",
                trigger=tick.trigger,
                chunk=self._memory.chunk,
                video=tick.glance.video,
                frames=tuple(frame.uuid for frame in tick.glance.frames),
                label_ms=tick.look.label_ms,
                first_token_ms=tick.first_delta_ms,
                latency_ms=now_ms - tick.called_ms,
                usage=outcome.usage,
                frames_dropped=tick.glance.dropped,
                slots_missed=tick.slots_missed,
            )
        )
        if outcome.source not in (DecisionSource.FAILED, DecisionSource.ABORTED):
            self._gauge(outcome.usage, now_ms)
        if outcome.usage is not None and self._cache.is_cold(tick.look.prompt, outcome.usage):
            self._out.emit(Trouble(now_ms, "prefix_cache_cold", MESSAGE, retryable=False))

    def _gauge(self, usage: Usage | None, now_ms: Ms) -> None:
        gauge = self._memory.gauge()
        self._out.emit(
            MemoryGauged(
                at_ms=now_ms,
                chunk=gauge.chunk,
                chunk_ticks=gauge.chunk_ticks,
                chunk_frames=gauge.chunk_frames,
                max_frames=gauge.max_frames,
                mids=gauge.mids,
                blocks=gauge.blocks,
                qa_entries=gauge.qa_entries,
                prompt_tokens=gauge.prompt_tokens if usage is None else usage.prompt_tokens,
                budget_tokens=gauge.budget_tokens,
                cached_tokens=usage.cached_tokens if usage is not None else None,
                gated=gauge.gated,
            )
        )


def action_kind(action: Action) -> str:
    match action:
        case Silence():
            return ActionKind.SILENCE
        case Respond():
            return ActionKind.RESPOND
        case Delegate():
            return ActionKind.DELEGATE
        case _:
            assert_never(action)


def spoken_text(action: Action) -> str:
    match action:
        case Silence():
            return ""
        case Respond(text):
            return text
        case Delegate(note, _):
            return note
        case _:
            assert_never(action)
