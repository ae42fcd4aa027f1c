"""Delegated jobs of one session: bounded, each answered exactly once."""

from __future__ import annotations

from collections import deque
from typing import assert_never

from onlooker.decision import Policy, neutralise
from onlooker.memory import DelegatedFact, Memory
from onlooker.orchestrator import events as e
from onlooker.orchestrator.commands import CancelDelegation, StartDelegation
from onlooker.orchestrator.config import CoreConfig
from onlooker.orchestrator.notices import DelegationChanged, StaleDropped, Trouble
from onlooker.orchestrator.outputs import Outputs
from onlooker.orchestrator.speech import Speech
from onlooker.types import FrameRef, Ms, Ticket

DelegationEvent = (
    e.DelegationStarted
    | e.DelegationProgressed
    | e.DelegationDone
    | e.DelegationFailed
    | e.DelegationCancelled
)


class Delegations:
    """Hands questions to the background brain and brings the answers back.

    An answer reaches the client at once, the model as a fact of its very next tick, and the
    user as a response of its own. The ring of recent frames is independent of the chunk, so a
    question asked just after a boundary still has its context (B26).
    """

    def __init__(
        self, config: CoreConfig, memory: Memory, policy: Policy, speech: Speech, out: Outputs
    ) -> None:
        self._config = config
        self._memory = memory
        self._policy = policy
        self._speech = speech
        self._out = out
        self._open: dict[Ticket, str] = {}
        self._ring: deque[FrameRef] = deque(maxlen=config.ring_frames)
        self._count = 0

    @property
    def ring(self) -> tuple[FrameRef, ...]:
        """Recent frames, oldest first."""
        return tuple(self._ring)

    def see(self, frame: FrameRef) -> None:
        self._ring.append(frame)

    def forget(self, frames: tuple[FrameRef, ...]) -> None:
        """The server cannot read one of these; the brain is not given them either (C22)."""
        kept = [frame for frame in self._ring if frame not in frames]
        self._ring.clear()
        self._ring.extend(kept)

    def start(self, note: str, question: str, now_ms: Ms) -> None:
        """The model delegates ``question``. Without a brain, or with too many open jobs, the
        client and the model are told at once."""
        self._count += 1
        ticket = Ticket(f"d{self._count}")
        if not self._config.has_delegate:
            why = "No background model is connected, so the question was not passed on."
            self._no_answer(ticket, "unavailable", question, why, now_ms)
            return
        if len(self._open) >= self._config.max_delegations:
            why = "Too many questions are open; ask again when one of them is answered."
            self._no_answer(ticket, "refused", question, why, now_ms)
            return
        self._open[ticket] = question
        self._tell(ticket, "requested", question, "", now_ms)
        standing = self._memory.standing
        user_text = standing[-1].text if standing else ""
        self._out.add(StartDelegation(ticket, note, question, user_text, self.ring))

    def on_event(self, event: DelegationEvent, now_ms: Ms) -> bool:
        """News of a job; True when the model should hear of it at once.

        Whatever comes for a job that was settled before is stale (C15).
        """
        question = self._open.get(event.ticket)
        if question is None:
            self._out.emit(StaleDropped("delegation", event.ticket, now_ms))
            return False
        match event:
            case e.DelegationStarted(ticket):
                self._tell(ticket, "running", question, "", now_ms)
            case e.DelegationProgressed(ticket, text):
                self._tell(ticket, "progress", question, text, now_ms)
            case e.DelegationDone(ticket, text):
                self._answer(ticket, question, neutralise(text.strip()), now_ms)
                return True
            case e.DelegationFailed(ticket, code, message):
                del self._open[ticket]
                self._no_answer(ticket, "failed", question, neutralise(message), now_ms)
                self._out.emit(Trouble(now_ms, code, message, retryable=False))
                return True
            case e.DelegationCancelled(ticket):
                del self._open[ticket]
                self._out.add(CancelDelegation(ticket))
                why = "The user cancelled this question."
                self._no_answer(ticket, "cancelled", question, why, now_ms)
            case _:
                assert_never(event)
        return False

    def abort(self) -> None:
        """The session ends."""
        for ticket in self._open:
            self._out.add(CancelDelegation(ticket))

    def _answer(self, ticket: Ticket, question: str, text: str, now_ms: Ms) -> None:
        del self._open[ticket]
        self._tell(ticket, "done", question, text, now_ms)
        self._policy.on_delegated_result()
        response_id = self._speech.next_id() if text else None
        delivery = "being read aloud" if text else "empty"
        fact = DelegatedFact(ticket, neutralise(question), text, now_ms, delivery=delivery)
        self._memory.add_delegated(fact, response_id)
        if response_id is not None:
            self._speech.read_aloud(response_id, text, now_ms)

    def _no_answer(self, ticket: Ticket, status: str, question: str, why: str, now_ms: Ms) -> None:
        self._tell(ticket, status, question, why, now_ms)
        self._policy.on_delegated_result()
        fact = DelegatedFact(ticket, neutralise(question), why, now_ms, failed=True)
        self._memory.add_delegated(fact)

    def _tell(self, ticket: Ticket, status: str, question: str, text: str, now_ms: Ms) -> None:
        self._out.emit(DelegationChanged(ticket, now_ms, status, question, text))
