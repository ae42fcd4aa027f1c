"""Responses: at most one live, others waiting, one in its grace after a flush.

Theory of operation. A response is *provisional* until it is settled to what was heard. This part
owns the turn machine, the barge-in machine and the playback of every response, and tells memory
what was heard. It never touches the model call (``ticks.py`` does): methods that can confirm a
barge-in return True, and the core then aborts the call and comes back with :meth:`Speech.flush`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, assert_never

from onlooker.decision import Policy
from onlooker.memory import Memory
from onlooker.orchestrator import events as e
from onlooker.orchestrator.bargein import (
    BargeIn,
    Confirmed,
    Dismissed,
    Frozen,
    SignalSource,
    Suspected,
    TurnChange,
)
from onlooker.orchestrator.commands import FlushOutput, PauseOutput, ResumeOutput, Speak
from onlooker.orchestrator.config import CoreConfig
from onlooker.orchestrator.notices import (
    BargeInChanged,
    InstructionChanged,
    ResponseDelta,
    ResponseEnded,
    ResponseStarted,
    StaleDropped,
    Trouble,
)
from onlooker.orchestrator.outputs import Outputs
from onlooker.orchestrator.reply import Reply
from onlooker.orchestrator.turn import Phase, Turn
from onlooker.types import Epoch, Ms, ResponseId, UtteranceId

_READ_ALOUD: Final = "delegation"
_LONGEST_SPEECH_MS: Final = 30_000
_MAX_SPEAKERS: Final = 32
_SOURCES: Final = frozenset(source.value for source in SignalSource)

OutputReport = e.ClauseSpoken | e.OutputSent | e.TextWritten
PlaybackReport = OutputReport | e.ClauseFailed | e.PlaybackAck | e.PlaybackTruncated


class Speech:
    """Everything that is said in one session."""

    def __init__(
        self,
        config: CoreConfig,
        memory: Memory,
        policy: Policy,
        out: Outputs,
        epoch: Epoch,
    ) -> None:
        self._config = config
        self._memory = memory
        self._policy = policy
        self._out = out
        self._turn = Turn(epoch)
        self._barge_in = BargeIn(config.barge_in)
        self._live: Reply | None = None
        self._waiting: deque[Reply] = deque()
        self._graced: Reply | None = None
        self._speaking: dict[UtteranceId, Ms] = {}
        self._count = 0

    # -- views --------------------------------------------------------------------------------

    @property
    def live_id(self) -> ResponseId | None:
        """The live response."""
        return self._live.response_id if self._live is not None else None

    @property
    def is_quiet(self) -> bool:
        """Nothing is being said or waits to be."""
        return self._live is None and not self._waiting

    @property
    def is_settled(self) -> bool:
        """What was heard of every response is final."""
        return self.is_quiet and self._graced is None

    @property
    def epoch(self) -> Epoch:
        return self._turn.epoch

    @property
    def phase(self) -> Phase:
        return self._turn.phase

    @property
    def next_timer_ms(self) -> Ms | None:
        return self._barge_in.next_timer_ms

    # -- saying -------------------------------------------------------------------------------

    def listen(self) -> None:
        """Something came in."""
        self._turn.on_input()

    def next_id(self) -> ResponseId:
        """A fresh id; it carries the epoch a restored session began above."""
        self._count += 1
        return ResponseId(f"r{self._turn.epoch}-{self._count}")

    def open(self, trigger: str, *, urgent: bool, now_ms: Ms) -> Reply | None:
        """A response for the tick in flight: live at once, or waiting behind the live one.

        An urgent one pre-empts. None when another is live and this one may not wait.
        """
        if self._live is not None and urgent and self._pre_empt(now_ms):
            self.flush(now_ms)
        reply = Reply.new(self.next_id(), trigger, has_voice=self._config.has_voice)
        if self._live is None:
            self._start(reply, now_ms)
            return reply
        if not self._config.queue_while_speaking or any(one.is_attached for one in self._waiting):
            return None
        self._waiting.append(reply)
        return reply

    def read_aloud(self, response_id: ResponseId, text: str, now_ms: Ms) -> None:
        """Say a delegated answer, as a response of its own, at the next polite moment."""
        reply = Reply.new(response_id, _READ_ALOUD, has_voice=self._config.has_voice)
        reply.is_attached = False
        reply.is_in_memory = True
        self._waiting.append(reply)
        self.say(reply, text, now_ms)
        self.complete(reply, now_ms)

    def start_waiting(self, now_ms: Ms) -> None:
        """Let the next waiting response begin, unless somebody speaks or was just cut in on."""
        is_polite = not self._is_spoken_to(now_ms) and self._barge_in.in_grace is None
        if self._waiting and self._live is None and is_polite:
            self._start(self._waiting.popleft(), now_ms)

    def say(self, reply: Reply, text: str, now_ms: Ms) -> None:
        """More text of a response. After its end it is dropped."""
        if reply.is_ended:
            return
        reply.add(text)
        self._hand_out(reply)

    def complete(self, reply: Reply, now_ms: Ms) -> None:
        """No more text will come; its tick is committed."""
        if reply.is_ended:
            return
        reply.complete()
        self._hand_out(reply)
        self._progress(reply, now_ms)

    def remember(self, reply: Reply) -> None:
        """The tick of the response is committed: from now on memory follows what is heard."""
        reply.is_in_memory = True
        if reply.is_ended:
            self._memory.settle(reply.response_id, reply.heard, interrupted=True)
            if reply is not self._graced:
                self._memory.freeze(reply.response_id)
        else:
            self._memory.hear(reply.response_id, reply.heard)

    def break_off(self, reply: Reply, now_ms: Ms) -> None:
        """The model failed in the middle: what was said stands, the response ends as failed."""
        reply.status = "failed"
        self.complete(reply, now_ms)

    def _start(self, reply: Reply, now_ms: Ms) -> None:
        self.listen()  # who speaks unasked, or after a restore, has looked at least
        self._live = reply
        reply.epoch = self._turn.start(reply.response_id)
        self._barge_in.on_started(reply.response_id)
        self._out.emit(ResponseStarted(reply.response_id, reply.epoch, now_ms, reply.trigger))
        self._hand_out(reply)
        self._progress(reply, now_ms)

    def _hand_out(self, reply: Reply) -> None:
        """Give the client and the synthesiser what they have not had yet."""
        if reply.epoch is None:
            return
        if text := reply.take_text():
            self._out.emit(ResponseDelta(reply.response_id, reply.epoch, text))
        for clause, words, is_last in reply.take_clauses():
            self._out.add(Speak(reply.response_id, reply.epoch, clause, words, is_last))

    # -- hearing back -------------------------------------------------------------------------

    def on_playback(self, event: PlaybackReport, now_ms: Ms) -> None:
        """A report of the synthesiser, the outbox or the client about one response."""
        reply = self._find(event.response_id)
        if isinstance(event, e.ClauseFailed):
            self._on_clause_failed(reply, event, now_ms)
        elif reply is None or not reply.report(event):
            is_ack = isinstance(event, e.PlaybackAck | e.PlaybackTruncated)
            kind = "ack" if is_ack else "output"
            self._out.emit(StaleDropped(kind, event.response_id, now_ms))
        else:
            self._progress(reply, now_ms)

    def _find(self, response_id: ResponseId) -> Reply | None:
        """The live response of that id, or the flushed one in its grace."""
        for reply in (self._live, self._graced):
            if reply is not None and reply.response_id == response_id:
                return reply
        return None

    def _on_clause_failed(self, reply: Reply | None, event: e.ClauseFailed, now_ms: Ms) -> None:
        """The synthesiser failed: this response ends, the session does not."""
        if reply is None or reply is not self._live or event.epoch != reply.epoch:
            self._out.emit(StaleDropped("output", event.response_id, now_ms))
            return
        self._out.emit(Trouble(now_ms, event.code, event.message, retryable=False))
        self._carry_out(self._barge_in.cancel(now_ms), now_ms)
        self._cut_off(reply)
        self._end(reply, "failed", now_ms)

    def _progress(self, reply: Reply, now_ms: Ms) -> None:
        """More of it may have been heard."""
        if reply is self._graced:
            self._memory.settle(reply.response_id, reply.heard, interrupted=True)
            return
        if reply.is_in_memory:
            self._memory.hear(reply.response_id, reply.heard)
        if reply is self._live and reply.is_over:
            self._finish(reply, now_ms)

    def _finish(self, reply: Reply, now_ms: Ms) -> None:
        """Heard to its end."""
        if reply.epoch is None:
            raise AssertionError("a live response has an epoch")
        self._turn.finish(reply.epoch)
        self._barge_in.on_finished()
        self._live = None
        # What broke off is asked again, so it answered nothing.
        answered = () if reply.status else self._memory.answered(reply.response_id, now_ms)
        self._memory.settle(reply.response_id, len(reply.text), interrupted=False)
        self._end(reply, reply.status or "completed", now_ms)
        for one in answered:
            self._out.emit(InstructionChanged(one.instruction_id, now_ms, "answered", one.text))

    def _end(self, reply: Reply, status: str, now_ms: Ms) -> None:
        if reply.epoch is None:
            raise AssertionError("only a started response ends")
        is_whole = reply.is_complete and reply.heard >= len(reply.text)
        self._policy.on_response_ended(reply.text, now_ms, fully_heard=is_whole)
        reply.is_ended = True
        heard = reply.text[: reply.heard]
        self._out.emit(
            ResponseEnded(reply.response_id, reply.epoch, now_ms, status, reply.text, heard)
        )

    # -- being interrupted --------------------------------------------------------------------

    def on_user_speech(self, event: e.SpeechStarted | e.SpeechEnded, now_ms: Ms) -> bool:
        """The user begins or stops to speak; True when that confirms a barge-in."""
        if isinstance(event, e.SpeechStarted):
            self._note_speaker(event.utterance_id, now_ms)
            changes = self._on_speech_started(event, now_ms)
        else:
            self._speaking.pop(event.utterance_id, None)
            changes = self._barge_in.on_speech_ended(event.utterance_id, event.duration_ms, now_ms)
        return self._carry_out(changes, now_ms)

    def _on_speech_started(self, event: e.SpeechStarted, now_ms: Ms) -> tuple[TurnChange, ...]:
        """A source nobody knows is not trusted: what it says interrupts nothing."""
        if event.source not in _SOURCES:
            known = ", ".join(sorted(_SOURCES))
            message = f"This source of speech signals is not known; use one of {known}."
            self._out.emit(Trouble(now_ms, "unknown_signal_source", message, retryable=False))
            return ()
        source = SignalSource(event.source)
        return self._barge_in.on_speech_started(event.utterance_id, source, now_ms)

    def on_transcript(self, event: e.TranscriptArrived, now_ms: Ms) -> bool:
        """True when the words confirm a barge-in."""
        self._speaking.pop(event.utterance_id, None)
        changes = self._barge_in.on_transcript(event.utterance_id, event.text, now_ms)
        return self._carry_out(changes, now_ms)

    def cancel(self, now_ms: Ms) -> bool:
        """The client's order to stop; True when a response is live."""
        return self._carry_out(self._barge_in.cancel(now_ms), now_ms)

    def on_timer(self, now_ms: Ms) -> bool:
        """Time has passed; True when that confirms a barge-in."""
        return self._carry_out(self._barge_in.on_timer(now_ms), now_ms)

    def _note_speaker(self, utterance_id: UtteranceId, now_ms: Ms) -> None:
        self._speaking[utterance_id] = now_ms
        if len(self._speaking) > _MAX_SPEAKERS:
            del self._speaking[next(iter(self._speaking))]

    def _is_spoken_to(self, now_ms: Ms) -> bool:
        """Somebody speaks. A detector that never reports the end does not silence us for good."""
        return any(now_ms - began < _LONGEST_SPEECH_MS for began in self._speaking.values())

    def _carry_out(self, changes: Iterable[TurnChange], now_ms: Ms) -> bool:
        is_confirmed = False
        for change in changes:
            match change:
                case Suspected():
                    self._pause(now_ms)
                case Dismissed():
                    self._resume(now_ms)
                case Frozen(response_id):
                    self._freeze(response_id)
                case Confirmed():
                    is_confirmed = True
                case _:
                    assert_never(change)
        return is_confirmed

    def _pre_empt(self, now_ms: Ms) -> bool:
        return self._carry_out(self._barge_in.confirm(SignalSource.SERVER_POLICY, now_ms), now_ms)

    def _pause(self, now_ms: Ms) -> None:
        reply, epoch = self._started()
        self._out.add(PauseOutput(reply.response_id, epoch))
        self._out.emit(BargeInChanged(now_ms, "suspected", reply.response_id, epoch))

    def _resume(self, now_ms: Ms) -> None:
        reply, epoch = self._started()
        self._out.add(ResumeOutput(reply.response_id, epoch, reply.spoken.cursor.heard_ms))
        self._out.emit(BargeInChanged(now_ms, "dismissed", reply.response_id, epoch))

    def _freeze(self, response_id: ResponseId) -> None:
        if self._graced is None or self._graced.response_id != response_id:
            raise AssertionError("the barge-in machine knows which response is in its grace")
        self._graced.spoken.freeze()
        self._graced = None
        self._memory.freeze(response_id)

    def _started(self) -> tuple[Reply, Epoch]:
        if self._live is None or self._live.epoch is None:
            raise AssertionError("the barge-in machine knows which response is live")
        return self._live, self._live.epoch

    def flush(self, now_ms: Ms) -> None:
        """Carry out a confirmed barge-in: all output dies now; what was heard stays.

        The tick in flight must have been ended before. Delegated answers that wait to be read
        out survive; a model's waiting response does not: nobody heard it.
        """
        reply, _ = self._started()
        epoch = self._cut_off(reply)
        self._out.emit(BargeInChanged(now_ms, "confirmed", reply.response_id, epoch))
        self._end(reply, reply.status or "cancelled", now_ms)
        self._drop_waiting()

    def _cut_off(self, reply: Reply) -> Epoch:
        """The live response is stale from now on; what of it was heard may change for a while."""
        epoch = self._turn.barge_in()
        self._live, self._graced = None, reply
        self._out.add(FlushOutput(epoch, reply.response_id))
        if reply.is_in_memory:
            self._memory.settle(reply.response_id, reply.heard, interrupted=True)
        return epoch

    def _drop_waiting(self) -> None:
        for waiting in [one for one in self._waiting if one.is_attached]:
            self._waiting.remove(waiting)
            waiting.is_ended = True
            self._memory.settle(waiting.response_id, 0, interrupted=True)
            self._memory.freeze(waiting.response_id)

    def close(self, now_ms: Ms) -> None:
        """The session is over: the live response is settled to what was heard."""
        if (live := self._live) is not None:
            self._carry_out(self._barge_in.cancel(now_ms), now_ms)
            self._cut_off(live)
            self._end(live, live.status or "cancelled", now_ms)
        self._drop_waiting()
        if self._graced is not None:
            self._freeze(self._graced.response_id)
        self._turn.close()
