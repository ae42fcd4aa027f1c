"""The pure core of a session: events in, commands out, no clock, no I/O.

Theory of operation. :meth:`SessionCore.handle` is called with one event and the stream time it
happened at; it returns what to do, in order. The same (time, event) sequence fed to a fresh core
gives the same commands, byte for byte. The core composes four values: ``Turn`` (inside
:class:`Speech`), the playback cursor (inside each reply), ``Memory`` and ``Policy``; and splits
its work in three: :class:`Ticks` looks and decides, :class:`Speech` says, :class:`Delegations`
waits. Fences: a tick call by call id, output by epoch, a summary by job, a delegated job by
ticket, a transcript by utterance; whatever is late is dropped and reported.
"""

from __future__ import annotations

from collections import deque
from typing import Final, assert_never

from onlooker.decision import Policy, neutralise
from onlooker.memory import Memory
from onlooker.orchestrator import events as e
from onlooker.orchestrator.cadence import Cadence
from onlooker.orchestrator.camera import Camera
from onlooker.orchestrator.commands import Close, Command, ReleaseFrames
from onlooker.orchestrator.config import CoreConfig
from onlooker.orchestrator.delegations import Delegations
from onlooker.orchestrator.notices import (
    InstructionChanged,
    SessionEnded,
    StaleDropped,
    Trouble,
)
from onlooker.orchestrator.outputs import Outputs
from onlooker.orchestrator.speech import Speech
from onlooker.orchestrator.summaries import Summaries
from onlooker.orchestrator.ticks import Ticks
from onlooker.orchestrator.turn import Phase
from onlooker.types import Epoch, FrameRef, FrameUuid, InstructionId, Ms, UtteranceId

SpeechEvent = (
    e.SpeechStarted
    | e.SpeechEnded
    | e.TranscriptArrived
    | e.ResponseCancelled
    | e.ClauseSpoken
    | e.ClauseFailed
    | e.OutputSent
    | e.TextWritten
    | e.PlaybackAck
    | e.PlaybackTruncated
)

_KEPT_UTTERANCES: Final = 64
"""Utterances whose transcript is known to have come."""


class SessionCore:
    """One session's state and rules. See the module docstring for the contract.

    Raises:
        InvalidTransition: a bug of ours; nothing has changed.
    """

    def __init__(self, config: CoreConfig, memory: Memory | None = None) -> None:
        self.config = config
        self._out = Outputs()
        self._memory = memory if memory is not None else Memory(config.memory, config.dialect.text)
        self._policy = Policy(
            config.gates,
            config.dialect,
            has_structured_outputs=config.has_structured_outputs,
        )
        self._camera = Camera(config.frames_per_tick, stale_after_ms=2 * config.period_ms)
        self._cadence = Cadence(config.period_ms)
        epoch = Epoch(config.first_epoch)
        self._speech = Speech(config, self._memory, self._policy, self._out, epoch)
        self._ticks = Ticks(
            config, self._memory, self._policy, self._camera, self._speech, self._out
        )
        self._delegations = Delegations(config, self._memory, self._policy, self._speech, self._out)
        self._summaries = Summaries(config, self._memory, self._out)
        self._held: set[FrameUuid] = set()
        self._transcribed: deque[UtteranceId] = deque(maxlen=_KEPT_UTTERANCES)
        self._is_open = False
        self._is_ending = False

    @property
    def held_frames(self) -> frozenset[FrameUuid]:
        """Pictures whose bytes the shell must keep."""
        return frozenset(self._held)

    @property
    def has_unsettled_response(self) -> bool:
        """A response is live, waits, or may still be rewritten in its grace."""
        return not self._speech.is_settled

    @property
    def _may_summarise(self) -> bool:
        """A range's last reply belongs in its summary as it was heard, so the request waits for
        that; but no longer than until the next call of the model."""
        return self._speech.is_quiet or self._ticks.is_open

    @property
    def memory(self) -> Memory:
        """For views and snapshots; never changed from outside."""
        return self._memory

    @property
    def next_timer_ms(self) -> Ms | None:
        """When the core wants ``TimerFired``; None when it waits for events only."""
        if not self._is_open:
            return None
        times = (
            self._cadence.due_ms,
            self._ticks.deadline_ms,
            self._speech.next_timer_ms,
            self._memory.next_expiry_ms,
            self._memory.next_summary_ms if self._may_summarise else None,
        )
        return min((t for t in times if t is not None), default=None)

    def handle(self, event: e.Event, now_ms: Ms) -> list[Command]:
        """Take one event; return the commands it leads to, in order."""
        if isinstance(event, e.SessionOpened):
            self._open(now_ms)
        elif self._is_open:
            self._dispatch(event, now_ms)
            if self._is_open:
                self._follow_up(now_ms)
        return self._out.drain()

    def _open(self, now_ms: Ms) -> None:
        if self._speech.phase is not Phase.CLOSED and not self._is_open:
            self._is_open = True
            self._cadence.start(now_ms)

    # -- dispatch -----------------------------------------------------------------------------

    def _dispatch(self, event: e.Event, now_ms: Ms) -> None:  # noqa: C901 (a closed union)
        match event:
            case e.FrameArrived(frame):
                self._on_frame(frame, now_ms)
            case e.CameraSwitched(on):
                self._camera.switch(on)
            case e.SourceEnded():
                self._on_source_ended(now_ms)
            case e.TimerFired():
                self._on_timer(now_ms)
            case e.TroubleNoted(code, message, retryable):
                self._out.emit(Trouble(now_ms, code, message, retryable))
            case e.SessionClosed(reason):
                self._close(reason, now_ms)
            case e.QueryArrived() | e.InstructionCancelled() | e.PersonaChanged():
                self._dispatch_request(event, now_ms)
            case e.ModelDelta() | e.ModelDone() | e.ModelFailed():
                self._dispatch_model(event, now_ms)
            case e.SummaryDone() | e.SummaryFailed():
                self._summaries.on_answer(event, now_ms)
            case (
                e.DelegationStarted()
                | e.DelegationProgressed()
                | e.DelegationDone()
                | e.DelegationFailed()
                | e.DelegationCancelled()
            ):
                if self._delegations.on_event(event, now_ms):
                    self._ticks.request("delegation", now_ms)
            case e.SessionOpened():
                raise AssertionError("handled before dispatch")
            case _:
                self._dispatch_speech(event, now_ms)

    def _dispatch_request(
        self, event: e.QueryArrived | e.InstructionCancelled | e.PersonaChanged, now_ms: Ms
    ) -> None:
        match event:
            case e.QueryArrived():
                self._on_query(event, now_ms)
            case e.InstructionCancelled(instruction_id):
                gone = self._memory.cancel(instruction_id, now_ms)
                if gone is None:
                    self._out.emit(StaleDropped("instruction", instruction_id, now_ms))
                else:
                    self._tell_instruction(gone.instruction_id, "cancelled", gone.text, now_ms)
            case e.PersonaChanged(_, system):
                self._ticks.change_system(system)
            case _:
                assert_never(event)

    def _dispatch_model(
        self, event: e.ModelDelta | e.ModelDone | e.ModelFailed, now_ms: Ms
    ) -> None:
        if not self._ticks.is_current(event.call_id):
            self._out.emit(StaleDropped("model", event.call_id, now_ms))
            return
        match event:
            case e.ModelDelta(_, text):
                self._ticks.on_delta(text, now_ms)
            case e.ModelDone():
                self._ticks.on_done(event, now_ms)
            case e.ModelFailed():
                if event.code == "bad_image":
                    self._delegations.forget(self._ticks.shown)
                self._ticks.on_failed(event, now_ms)
            case _:
                assert_never(event)

    def _dispatch_speech(self, event: SpeechEvent, now_ms: Ms) -> None:
        """Sound, playback and the user's voice."""
        match event:
            case e.SpeechStarted() | e.SpeechEnded():
                self._speech.listen()
                if self._speech.on_user_speech(event, now_ms):
                    self._interrupt(now_ms)
            case e.TranscriptArrived():
                self._on_transcript(event, now_ms)
            case e.ResponseCancelled(response_id):
                self._on_cancel(response_id, now_ms)
            case e.PlaybackTruncated(response_id):
                # The client stopped playing: its word ends a response that is still live.
                if response_id == self._speech.live_id and self._speech.cancel(now_ms):
                    self._interrupt(now_ms)
                self._speech.on_playback(event, now_ms)
            case _:
                self._speech.on_playback(event, now_ms)

    # -- video and time -----------------------------------------------------------------------

    def _on_frame(self, frame: FrameRef, now_ms: Ms) -> None:
        self._speech.listen()
        self._held.add(frame.uuid)
        if self._camera.arrive(frame, now_ms):
            self._delegations.see(frame)
        else:
            self._out.emit(StaleDropped("frame", frame.uuid, now_ms))

    def _on_source_ended(self, now_ms: Ms) -> None:
        """One last look at what no tick has seen, then the end."""
        self._is_ending = True
        if self._camera.waiting or self._memory.staged:
            self._ticks.request("source_end", now_ms)

    def _on_timer(self, now_ms: Ms) -> None:
        deadline = self._ticks.deadline_ms
        if deadline is not None and now_ms >= deadline:
            self._ticks.on_deadline(now_ms)
        if self._speech.on_timer(now_ms):
            self._interrupt(now_ms)
        for gone in self._memory.expire(now_ms):
            self._tell_instruction(gone.instruction_id, "expired", gone.text, now_ms)
        due = self._cadence.due_ms
        if due is not None and now_ms >= due:
            self._ticks.on_slot(self._cadence.take(now_ms).missed, now_ms)

    # -- what the user wants ------------------------------------------------------------------

    def _on_query(self, event: e.QueryArrived, now_ms: Ms) -> None:
        limit = self.config.max_query_chars
        text = event.text.strip()
        if not text or len(text) > limit:
            code, why = (
                ("query_too_long", f"is longer than {limit} characters")
                if text
                else (
                    "query_empty",
                    "is empty",
                )
            )
            message = f"The request {why}; it was not taken. Send 1 to {limit} characters."
            self._out.emit(Trouble(now_ms, code, message, retryable=False))
            return
        plain = neutralise(text)
        if plain != text:
            message = "Control markers in the request were made harmless; the rest stands."
            self._out.emit(Trouble(now_ms, "query_neutralised", message, retryable=False))
        self._speech.listen()
        stood = {one.instruction_id: one.text for one in self._memory.standing}
        changes = self._memory.arm(
            event.instruction_id, plain, event.lifetime, now_ms, urgent=event.urgent
        )
        for instruction_id, status in changes:
            words = stood[instruction_id] if status == "replaced" else plain
            self._tell_instruction(instruction_id, status, words, now_ms)
        self._policy.on_query()
        self._ticks.request("query", now_ms, forced=event.forced, urgent=event.urgent)

    def _on_transcript(self, event: e.TranscriptArrived, now_ms: Ms) -> None:
        if event.utterance_id in self._transcribed:
            self._out.emit(StaleDropped("transcript", event.utterance_id, now_ms))
            return
        self._speech.listen()
        if self._speech.on_transcript(event, now_ms):
            self._interrupt(now_ms)
        if event.text.strip():
            self._transcribed.append(event.utterance_id)
            # What was said is a request like any other, under the utterance's own id.
            instruction_id = InstructionId(f"u-{event.utterance_id}")
            self._on_query(e.QueryArrived(instruction_id, event.text), now_ms)

    def _on_cancel(self, response_id: str | None, now_ms: Ms) -> None:
        """Stop what is said, or what is about to be said (C14)."""
        is_meant = self._speech.live_id is not None and response_id in (
            None,
            self._speech.live_id,
        )
        if is_meant and self._speech.cancel(now_ms):
            self._interrupt(now_ms)
        elif response_id is not None or not self._ticks.discard():
            self._out.emit(StaleDropped("cancel", response_id or "", now_ms))

    def _interrupt(self, now_ms: Ms) -> None:
        """A confirmed barge-in: the tick call and all output die, the head is untouched."""
        self._ticks.abort(now_ms)
        self._speech.flush(now_ms)

    # -- after every event --------------------------------------------------------------------

    def _follow_up(self, now_ms: Ms) -> None:
        for note, question in self._ticks.take_delegated():
            self._delegations.start(note, question, now_ms)
        self._ticks.resume_pending(now_ms)
        self._speech.start_waiting(now_ms)
        if self._may_summarise:
            self._summaries.ask(now_ms)
        if self._ticks.take_changed():
            self._release_frames()
        if self._is_ending and not self._ticks.is_open and self._speech.is_quiet:
            self._close("source_ended", now_ms)

    def _release_frames(self) -> None:
        used = self._memory.frames_in_use()
        used.update(frame.uuid for frame in self._delegations.ring)
        used.update(frame.uuid for frame in self._camera.waiting)
        used.update(self._summaries.frames_in_use())
        gone = self._held - used
        if gone:
            self._held -= gone
            self._out.add(ReleaseFrames(tuple(sorted(gone))))

    def _close(self, reason: str, now_ms: Ms) -> None:
        self._ticks.abort(now_ms)
        self._speech.close(now_ms)
        self._summaries.abort()
        self._delegations.abort()
        self._is_open = False
        self._out.emit(SessionEnded(now_ms, reason))
        self._out.add(Close(reason))

    # -- notices ------------------------------------------------------------------------------

    def _tell_instruction(
        self, instruction_id: InstructionId, status: str, text: str, now_ms: Ms
    ) -> None:
        self._out.emit(InstructionChanged(instruction_id, now_ms, status, text))
