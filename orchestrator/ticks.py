"""The tick as a transaction: one look, one call, one decision, one commit or rollback.

Theory of operation. A tick takes the newest frames and the staged facts (:meth:`Ticks.begin`) and
sends the whole prompt. Its point of no return is the first output handed to the client. Before
it, whatever goes wrong rolls back: facts and frames are staged again in order, and at most a few
recoveries are tried within the tick's deadline (``recovery.py``). After it the tick commits what
was said, and the query is re-armed as cut off. At most one tick call is in flight; a trigger
that comes meanwhile is remembered and begins the next tick at once.
"""

from __future__ import annotations

from typing import assert_never

from onlooker.decision import (
    Action,
    ActionDecided,
    ActionKind,
    Delegate,
    GateVerdict,
    ParseEvent,
    Policy,
    ReplyEnded,
    Respond,
    Silence,
    SpeechText,
    canonical,
    neutralise,
)
from onlooker.memory import Memory
from onlooker.orchestrator import events as e
from onlooker.orchestrator.asking import Asker
from onlooker.orchestrator.camera import Camera, Glance
from onlooker.orchestrator.commands import AbortModel
from onlooker.orchestrator.config import CoreConfig
from onlooker.orchestrator.notices import DecisionSource
from onlooker.orchestrator.opentick import OpenTick, Outcome
from onlooker.orchestrator.outputs import Outputs
from onlooker.orchestrator.recovery import Recovery, deadline_missed, recovery_for
from onlooker.orchestrator.reports import Reports
from onlooker.orchestrator.speech import Speech
from onlooker.types import BoundaryReason, CallId, FrameRef, Ms, TickIndex, Usage, VideoState


class Ticks:
    """Begins, feeds, commits and rolls back ticks."""

    def __init__(
        self,
        config: CoreConfig,
        memory: Memory,
        policy: Policy,
        camera: Camera,
        speech: Speech,
        out: Outputs,
    ) -> None:
        self._config = config
        self._memory = memory
        self._policy = policy
        self._camera = camera
        self._speech = speech
        self._out = out
        self._reports = Reports(memory, out)
        self._asker = Asker(config, memory, policy, self._reports, out)
        self._open: OpenTick | None = None
        self._next_trigger: str | None = None
        self._next_index = 0
        self._slots_missed = 0
        self._forced = False
        self._urgent = False
        self._last_trouble: str | None = None
        self._delegated: list[tuple[str, str]] = []
        self._has_changed = False

    # -- views --------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """A call is in flight."""
        return self._open is not None

    def take_changed(self) -> bool:
        """Whether a tick began or ended since the last call."""
        changed, self._has_changed = self._has_changed, False
        return changed

    @property
    def shown(self) -> tuple[FrameRef, ...]:
        """Pictures the tick in flight shows for the first time."""
        return self._open.glance.frames if self._open is not None else ()

    @property
    def deadline_ms(self) -> Ms | None:
        return self._open.deadline_ms if self._open is not None else None

    # -- beginning ----------------------------------------------------------------------------

    def request(
        self, trigger: str, now_ms: Ms, *, forced: bool = False, urgent: bool = False
    ) -> None:
        """Begin a tick now, or right after the one in flight."""
        self._forced |= forced
        self._urgent |= urgent
        if self._open is not None:
            self._next_trigger = self._next_trigger or trigger
        else:
            self._begin(trigger, now_ms)

    def on_slot(self, missed: int, now_ms: Ms) -> None:
        """A cadence slot is due. While a call is in flight it coalesces with the next."""
        self._slots_missed += missed
        if self._open is not None:
            self._slots_missed += 1
            return
        self._begin(self._take_trigger() or "cadence", now_ms)

    def resume_pending(self, now_ms: Ms) -> None:
        """Begin the tick a trigger asked for while another was in flight or no picture was
        there; does nothing when that still holds."""
        if self._next_trigger is None or self._open is not None:
            return
        if self._can_look(now_ms):
            self._begin(self._take_trigger() or "cadence", now_ms)

    def change_system(self, system: str) -> None:
        """A new persona; takes effect with the next tick, as an immediate boundary."""
        self._asker.change_system(system)

    def _take_trigger(self) -> str | None:
        trigger, self._next_trigger = self._next_trigger, None
        return trigger

    def _can_look(self, now_ms: Ms) -> bool:
        """A tick without a picture can be sent only where the dialect has words for it."""
        if self._camera.waiting:
            return True
        return self._config.dialect.text.has_text_only_ticks

    def _begin(self, trigger: str, now_ms: Ms) -> None:
        is_triggered = trigger != "cadence"
        verdict = self._policy.gate(
            now_ms,
            has_instruction=not self._memory.is_gated,
            has_trigger=is_triggered or bool(self._memory.staged),
            has_picture=bool(self._camera.waiting),
        )
        if verdict is not GateVerdict.NO_QUERY and self._has_nothing_new(is_triggered, now_ms):
            verdict = GateVerdict.NO_PICTURE
        index = TickIndex(self._next_index)
        self._next_index += 1
        self._has_changed = True
        match verdict:
            case GateVerdict.CALL:
                self._open_tick(index, trigger, self._camera.take(now_ms), now_ms)
            case GateVerdict.NO_QUERY:
                glance = self._camera.take(now_ms)
                self._memory.observe_gated(glance.frames, now_ms, index, glance.video)
                self._skip(index, trigger, glance, DecisionSource.GATE, now_ms)
            case GateVerdict.NO_PICTURE:
                # The trigger keeps waiting for the picture it needs.
                self._next_trigger = trigger if is_triggered else self._next_trigger
                glance = Glance((), self._camera.state(now_ms), 0)
                self._skip(index, trigger, glance, DecisionSource.NO_PICTURE, now_ms)
            case GateVerdict.COOL_DOWN:
                glance = self._camera.take(now_ms)
                self._asker.look(index, glance, now_ms)
                self._memory.commit_tick(canonical(Silence(), self._config.dialect.text))
                self._skip(index, trigger, glance, DecisionSource.COOLDOWN, now_ms)
            case _:
                assert_never(verdict)

    def _has_nothing_new(self, is_triggered: bool, now_ms: Ms) -> bool:
        """A slot between two frames of a slow source: neither a picture nor *no video*."""
        return (
            not is_triggered
            and not self._camera.waiting
            and self._camera.state(now_ms) is VideoState.FRESH
            and not self._memory.staged
        )

    def _skip(
        self, index: TickIndex, trigger: str, glance: Glance, source: DecisionSource, now_ms: Ms
    ) -> None:
        self._reports.skipped(index, trigger, glance, source, now_ms, self._slots_missed)
        self._slots_missed = 0

    def _open_tick(self, index: TickIndex, trigger: str, glance: Glance, now_ms: Ms) -> None:
        look = self._asker.look(index, glance, now_ms)
        tick = OpenTick(
            index=index,
            trigger=trigger,
            began_ms=now_ms,
            glance=glance,
            look=look,
            slots_missed=self._slots_missed,
            forced=self._forced,
            urgent=self._urgent,
            called_ms=now_ms,
            deadline_ms=Ms(now_ms + self._config.tick_deadline_ms),
        )
        self._slots_missed, self._forced, self._urgent = 0, False, False
        self._open = tick
        self._asker.call(tick, now_ms)

    # -- the answer ---------------------------------------------------------------------------

    def is_current(self, call_id: CallId) -> bool:
        return self._open is not None and self._open.call_id == call_id

    def on_delta(self, text: str, now_ms: Ms) -> None:
        tick = self._opened()
        if tick.first_delta_ms is None:
            tick.first_delta_ms = Ms(now_ms - tick.called_ms)
        for parsed in tick.parser.feed(text):
            self._apply(tick, parsed, now_ms)

    def on_done(self, event: e.ModelDone, now_ms: Ms) -> None:
        tick = self._opened()
        self._last_trouble = None
        for parsed in tick.parser.finish(cut=event.finish_reason == "length"):
            if isinstance(parsed, ReplyEnded):
                self._conclude(tick, parsed, event.usage, now_ms)
            else:
                self._apply(tick, parsed, now_ms)

    def discard(self) -> bool:
        """The client cancels an answer that has not begun; True when there was one to cancel."""
        if self._open is None or self._open.is_past_return:
            return False
        self._open.discarded = True
        return True

    def _opened(self) -> OpenTick:
        if self._open is None:
            raise AssertionError("the caller checks is_current first")
        return self._open

    def _apply(self, tick: OpenTick, parsed: ParseEvent, now_ms: Ms) -> None:
        match parsed:
            case ActionDecided(kind):
                if kind is not ActionKind.SILENCE:
                    tick.judge = self._policy.judge(now_ms, forced=tick.forced)
            case SpeechText(text) if tick.judge is not None and not tick.discarded:
                self._say(tick, tick.judge.feed(text), now_ms)
            case _:
                pass  # questions and ends are looked at when the reply is whole

    def _say(self, tick: OpenTick, text: str, now_ms: Ms) -> None:
        if not text or tick.busy:
            return
        if tick.reply is None:
            tick.reply = self._speech.open(tick.trigger, urgent=tick.urgent, now_ms=now_ms)
            if tick.reply is None:
                tick.busy = True
                return
        self._speech.say(tick.reply, text, now_ms)

    def _conclude(self, tick: OpenTick, ended: ReplyEnded, usage: Usage | None, now_ms: Ms) -> None:
        if tick.judge is not None and not tick.discarded:
            _, rest = tick.judge.finish()
            self._say(tick, rest, now_ms)
        question = ended.action.question if isinstance(ended.action, Delegate) else ""
        is_new = bool(question) and self._policy.may_delegate(question, now_ms)
        self._commit(tick, tick.outcome(ended, usage, may_delegate=is_new), now_ms)

    # -- the end of a tick --------------------------------------------------------------------

    def _commit(self, tick: OpenTick, outcome: Outcome, now_ms: Ms) -> None:
        action = outcome.action
        self._store_reply(tick, action)
        if isinstance(action, Silence) and outcome.source is DecisionSource.MODEL:
            self._policy.on_silence()
        if isinstance(action, Delegate):
            self._policy.on_delegation_started(action.question, now_ms)
            self._delegated.append((action.note, action.question))
        if outcome.usage is not None:
            self._memory.on_usage(
                outcome.usage, frames=tick.look.prompt.frames, chars=tick.look.prompt.chars
            )
        self._open, self._has_changed = None, True
        self._reports.decided(tick, outcome, now_ms)
        if tick.reply is not None:
            self._speech.complete(tick.reply, now_ms)

    def _store_reply(self, tick: OpenTick, action: Action) -> None:
        text = canonical(action, self._config.dialect.text)
        # Memory shows these words again, whole or in part: they must not act there either.
        question = neutralise(action.question) if isinstance(action, Delegate) else ""
        if tick.reply is None:
            self._memory.commit_tick(text, question=question)
            return
        self._memory.commit_tick(
            text,
            tick.reply.response_id,
            spoken=neutralise(tick.reply.text),
            question=question,
        )
        self._speech.remember(tick.reply)

    def take_delegated(self) -> tuple[tuple[str, str], ...]:
        """(note, question) of every delegation decided since the last call."""
        taken, self._delegated = tuple(self._delegated), []
        return taken

    # -- failure ------------------------------------------------------------------------------

    def on_failed(self, event: e.ModelFailed, now_ms: Ms) -> None:
        tick = self._opened()
        if tick.is_past_return:
            self._break_off(tick, event, now_ms)
            return
        recovery = recovery_for(
            event.code,
            tried=tick.tried,
            requests=tick.requests,
            max_requests=self._config.max_requests,
        )
        if recovery is Recovery.FAIL or now_ms >= tick.deadline_ms:
            self._give_up(tick, event, now_ms)
            return
        tick.tried |= {event.code}
        self._recover(tick, recovery, event, now_ms)

    def _recover(
        self, tick: OpenTick, recovery: Recovery, event: e.ModelFailed, now_ms: Ms
    ) -> None:
        if recovery is Recovery.COMPACT:
            too_long = event.code == "context_exceeded"
            self._memory.rollback_tick()
            self._memory.shrink_to(
                max_tokens=event.limit if too_long else None,
                max_images=None if too_long else event.limit,
            )
            self._memory.force_boundary(BoundaryReason.FORCED)
            tick.look = self._asker.look(tick.index, tick.glance, now_ms)
        elif recovery is Recovery.DROP_FRAMES:
            self._reports.trouble(event, now_ms)
            tick.glance = tick.glance.without_frames()
            if not self._config.dialect.text.has_text_only_ticks:
                self._undo(tick, DecisionSource.FAILED, now_ms)
                return
            self._memory.rollback_tick()
            tick.look = self._asker.look(tick.index, tick.glance, now_ms)
        self._asker.call(tick, now_ms, fresh_connection=recovery is Recovery.RECONNECT)

    def _give_up(self, tick: OpenTick, event: e.ModelFailed, now_ms: Ms) -> None:
        """Before the point of no return: nothing happened, and nothing is lost."""
        self._undo(tick, DecisionSource.FAILED, now_ms)
        if event.code != self._last_trouble:
            self._reports.trouble(event, now_ms)
        self._last_trouble = event.code

    def _undo(self, tick: OpenTick, source: DecisionSource, now_ms: Ms) -> None:
        self._open, self._has_changed = None, True
        self._memory.rollback_tick()
        self._camera.give_back(tick.glance.frames)
        self._forced |= tick.forced
        self._urgent |= tick.urgent
        self._reports.decided(tick, Outcome(Silence(), source), now_ms)

    def _break_off(self, tick: OpenTick, event: e.ModelFailed, now_ms: Ms) -> None:
        """After the point of no return: what was said stands, and the query is asked again."""
        if tick.reply is None:
            raise AssertionError("past the point of no return means something was said")
        self._store_reply(tick, Respond(tick.reply.text))
        self._memory.rearm_cut_off(now_ms)
        self._open, self._has_changed = None, True
        self._reports.decided(
            tick, Outcome(Respond(tick.reply.text), DecisionSource.FAILED), now_ms
        )
        self._reports.trouble(event, now_ms)
        self._speech.break_off(tick.reply, now_ms)

    def abort(self, now_ms: Ms) -> None:
        """A barge-in or the end of the session: the call in flight dies.

        What it already said stays said (the caller settles it to what was heard); a tick that
        said nothing rolls back.
        """
        tick = self._open
        if tick is None:
            return
        self._out.add(AbortModel(tick.call_id))
        if tick.reply is None:
            self._undo(tick, DecisionSource.ABORTED, now_ms)
            return
        self._store_reply(tick, Respond(tick.reply.text))
        self._open, self._has_changed = None, True
        self._reports.decided(
            tick, Outcome(Respond(tick.reply.text), DecisionSource.ABORTED), now_ms
        )

    def on_deadline(self, now_ms: Ms) -> None:
        """The tick's time is up."""
        tick = self._opened()
        self._out.add(AbortModel(tick.call_id))
        late = deadline_missed(tick.call_id, self._config.tick_deadline_ms)
        tick.tried |= {late.code}
        self.on_failed(late, now_ms)
