"""Who has the floor: the turn machine, and the epoch that makes old output stale.

Theory of operation
-------------------

A session is in one phase at a time. Input keeps flowing in every phase but the last: that the
``RESPONDING`` phase has an ``INPUT`` loop of its own is what full duplex means. A response is the
only thing that has an end of its own, and at most one is live.

Barge-in is not a phase. It is ``epoch += 1``. Every piece of output carries the epoch of its
response, and whoever is about to let a piece out asks :meth:`Turn.is_stale` first; so in the very
step in which the epoch rises, every piece of the flushed response is dead, wherever it is queued,
and nobody has to chase it. A flag ("interrupted") could not do this: it cannot tell the response
before last from the last. Hence the two rules everything rests on: a started response has a
strictly greater epoch than all before it, and a flushed epoch is stale in the same step.

The table below is the whole of the regular behaviour; ``docs/turn.md`` draws it. What is not in
the table is illegal: it raises :class:`~onlooker.errors.InvalidTransition` and changes nothing.

Irregular cases, which the table cannot say:

* ``finish(epoch)`` of a stale epoch, or of one that has already finished, is no transition: the
  end of a response may cross a barge-in on its way. It returns False. An epoch that was never
  handed out is illegal.
* A second ``close()`` is no transition, so that every path to the end may call it.
* ``start()`` while a response is live is illegal: the caller flushes the live one first, so that
  no response is ever superseded without a flush.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from onlooker.errors import InvalidTransition
from onlooker.types import Epoch, ResponseId

__all__ = ["EFFECTS", "TRANSITIONS", "Phase", "Trigger", "Turn", "diagram"]


class Phase(StrEnum):
    IDLE = "idle"
    """Nothing has come in yet."""
    LISTENING = "listening"
    """Input flows, no response is live."""
    RESPONDING = "responding"
    """Input flows and one response is live."""
    CLOSED = "closed"
    """The end; no way leads out."""


class Trigger(StrEnum):
    INPUT = "input"
    START = "start"
    FINISH = "finish"
    BARGE_IN = "barge_in"
    CLOSE = "close"


TRANSITIONS: Final[Mapping[tuple[Phase, Trigger], Phase]] = MappingProxyType(
    {
        (Phase.IDLE, Trigger.INPUT): Phase.LISTENING,
        (Phase.IDLE, Trigger.CLOSE): Phase.CLOSED,
        (Phase.LISTENING, Trigger.INPUT): Phase.LISTENING,
        (Phase.LISTENING, Trigger.START): Phase.RESPONDING,
        (Phase.LISTENING, Trigger.CLOSE): Phase.CLOSED,
        (Phase.RESPONDING, Trigger.INPUT): Phase.RESPONDING,
        (Phase.RESPONDING, Trigger.FINISH): Phase.LISTENING,
        (Phase.RESPONDING, Trigger.BARGE_IN): Phase.LISTENING,
        (Phase.RESPONDING, Trigger.CLOSE): Phase.CLOSED,
    }
)
"""Phase and trigger to the next phase; a pair that is missing is illegal."""

EFFECTS: Final[Mapping[Trigger, str]] = MappingProxyType(
    {
        Trigger.START: "epoch + 1, response live",
        Trigger.FINISH: "response over",
        Trigger.BARGE_IN: "epoch + 1, response flushed",
        Trigger.CLOSE: "epoch + 1, live response flushed",
    }
)
"""What a trigger does besides the change of phase, in words for the diagram."""


_BEFORE_ALL: Final = Epoch(0)


class Turn:
    """The turn machine of one session.

    Args:
        epoch: the greatest epoch ever used in this session; a restored session goes on above
            the old one. Its restored state counts as input: call :meth:`on_input`.
    """

    __slots__ = ("_epoch", "_live", "_phase")

    def __init__(self, epoch: Epoch = _BEFORE_ALL) -> None:
        self._phase = Phase.IDLE
        self._epoch = epoch
        self._live: ResponseId | None = None

    def __repr__(self) -> str:
        return f"Turn({self._phase}, epoch={self._epoch}, live={self._live})"

    @property
    def phase(self) -> Phase:
        return self._phase

    @property
    def epoch(self) -> Epoch:
        """The newest epoch. It never decreases."""
        return self._epoch

    @property
    def live(self) -> ResponseId | None:
        """The live response; set exactly while the phase is ``RESPONDING``."""
        return self._live

    @property
    def live_epoch(self) -> Epoch | None:
        """The epoch that belongs to :attr:`live`."""
        return self._epoch if self._live is not None else None

    def is_stale(self, epoch: Epoch) -> bool:
        """True when output stamped with ``epoch`` must be dropped."""
        return epoch < self._epoch

    def on_input(self) -> None:
        """Something came in: a picture, sound, a query. Legal in every phase but ``CLOSED``."""
        self._move(Trigger.INPUT)

    def start(self, response_id: ResponseId) -> Epoch:
        """Make ``response_id`` live; returns its epoch. Legal while ``LISTENING``."""
        self._move(Trigger.START)
        self._live = response_id
        return self._raise_epoch()

    def finish(self, epoch: Epoch) -> bool:
        """The response of ``epoch`` has run its course.

        Returns:
            True when that response was live until now; False when it had ended before.
        """
        if epoch > self._epoch:
            raise InvalidTransition(f"Epoch {epoch} was never handed out; it is {self._epoch}.")
        if epoch != self.live_epoch:
            return False
        self._move(Trigger.FINISH)
        self._live = None
        return True

    def barge_in(self) -> Epoch:
        """End the live response now; its output is stale when this returns.

        Returns:
            The new epoch: everything stamped below it is to be flushed.
        """
        self._move(Trigger.BARGE_IN)
        self._live = None
        return self._raise_epoch()

    def close(self) -> ResponseId | None:
        """End the session; all output is stale when this returns.

        Returns:
            The response that was live, for the caller to settle to what was heard.
        """
        if self._phase is Phase.CLOSED:
            return None
        self._move(Trigger.CLOSE)
        live, self._live = self._live, None
        self._raise_epoch()
        return live

    def _move(self, trigger: Trigger) -> None:
        """First of all in each method, so that an illegal call changes nothing."""
        target = TRANSITIONS.get((self._phase, trigger))
        if target is None:
            raise InvalidTransition(f"{trigger.value} is not possible while {self._phase.value}.")
        self._phase = target

    def _raise_epoch(self) -> Epoch:
        self._epoch = Epoch(self._epoch + 1)
        return self._epoch


def diagram() -> str:
    """The table as a Mermaid state diagram: one line a transition, in the table's order."""
    lines = ["stateDiagram-v2", f"    [*] --> {Phase.IDLE.name}"]
    for (phase, trigger), target in TRANSITIONS.items():
        effect = f" ({EFFECTS[trigger]})" if trigger in EFFECTS else ""
        lines.append(f"    {phase.name} --> {target.name}: {trigger.value}{effect}")
    lines.append(f"    {Phase.CLOSED.name} --> [*]")
    return "\n".join(lines) + "\n"
