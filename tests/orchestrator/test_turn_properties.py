"""Invariants of the turn machine under any sequence of calls, and proof that they bite.

The checks know nothing of the table: they watch what was asked, what came of it, and what the
machine showed before and after. Two machines that are wrong on purpose must not pass them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import Phase as Stage
from hypothesis import find, given, settings
from hypothesis import strategies as st

from onlooker.errors import InvalidTransition
from onlooker.orchestrator.turn import Phase, Turn
from onlooker.types import Epoch, ResponseId

pytestmark = pytest.mark.pure

FINDING = settings(max_examples=2_000, database=None, phases=[Stage.generate])

Call = tuple[str, int]
CALLS = st.lists(
    st.tuples(
        st.sampled_from(["input", "start", "finish", "barge_in", "close"]),
        st.integers(min_value=-2, max_value=1),
    ),
    max_size=30,
)
"""The number is the epoch a finish names, counted from the newest one."""


@dataclass
class Watch:
    """Drives one machine and checks every step of it."""

    turn: Turn
    started: list[Epoch] = field(default_factory=list)
    owed: list[ResponseId] = field(default_factory=list)
    """Started responses nobody was told the end of."""
    count: int = 0

    def run(self, calls: list[Call]) -> None:
        for call in calls:
            before = (self.turn.phase, self.turn.epoch, self.turn.live)
            try:
                self.step(*call)
            except InvalidTransition:
                after = (self.turn.phase, self.turn.epoch, self.turn.live)
                assert after == before, "an illegal call changes nothing"
            self.check(before[0], before[1])

    def step(self, what: str, offset: int) -> None:
        turn, live, epoch = self.turn, self.turn.live, self.turn.epoch
        match what:
            case "input":
                turn.on_input()
            case "start":
                self.start()
            case "finish":
                named = Epoch(epoch + offset)
                was_live = named == turn.live_epoch
                assert turn.finish(named) == was_live
                self.settle(live if was_live else None)
            case "barge_in":
                new = turn.barge_in()
                assert live is not None, "there was something to flush"
                assert turn.is_stale(epoch), "a flushed epoch is stale in the same step"
                assert not turn.is_stale(new)
                self.settle(live)
            case _:
                closed = turn.close()
                assert closed == live, "close hands back what has to be settled"
                self.settle(closed)
                assert live is None or turn.is_stale(epoch)

    def start(self) -> None:
        self.count += 1
        response_id = ResponseId(f"r{self.count}")
        greatest = max([*self.started, self.turn.epoch])
        new = self.turn.start(response_id)
        assert new > greatest, "a started response has a strictly greater epoch than all before"
        assert self.turn.live == response_id
        assert not self.turn.is_stale(new)
        assert all(self.turn.is_stale(old) for old in self.started)
        self.started.append(new)
        self.owed.append(response_id)

    def settle(self, response_id: ResponseId | None) -> None:
        if response_id is not None:
            self.owed.remove(response_id)

    def check(self, phase: Phase, epoch: Epoch) -> None:
        turn = self.turn
        assert turn.epoch >= epoch, "the epoch never decreases"
        is_responding = turn.phase is Phase.RESPONDING
        assert is_responding == (turn.live is not None) == (turn.live_epoch is not None)
        assert self.owed == ([turn.live] if turn.live else []), "every response is settled once"
        assert phase is not Phase.CLOSED or turn.phase is Phase.CLOSED, "closed is absorbing"


@given(CALLS, st.integers(min_value=0, max_value=3))
def test_the_invariants_hold_under_any_calls(calls: list[Call], epoch: int) -> None:
    Watch(Turn(Epoch(epoch))).run(calls)


class ForgetsToBump(Turn):
    """Wrong: a barge-in leaves the epoch as it is."""

    def barge_in(self) -> Epoch:
        before = self._epoch
        super().barge_in()
        self._epoch = before
        return before


class ForgetsToSettle(Turn):
    """Wrong: a close drops the live response without a word."""

    def close(self) -> ResponseId | None:
        super().close()
        return None


class ForgetsItIsOver(Turn):
    """Wrong: the end of a response leaves it live."""

    def finish(self, epoch: Epoch) -> bool:
        live = self._live
        result = super().finish(epoch)
        self._live = live
        return result


class Reopens(Turn):
    """Wrong: input after the end brings the session back."""

    def on_input(self) -> None:
        self._phase = Phase.LISTENING if self._phase is Phase.CLOSED else self._phase
        super().on_input()


class ReusesAnEpoch(Turn):
    """Wrong: a start takes the epoch that the barge-in before it handed out."""

    def start(self, response_id: ResponseId) -> Epoch:
        super().start(response_id)
        self._epoch = Epoch(self._epoch - 1)
        return self._epoch


class MovesBeforeItLooks(Turn):
    """Wrong: an illegal start raises the epoch on its way out."""

    def start(self, response_id: ResponseId) -> Epoch:
        self._raise_epoch()
        return super().start(response_id)


@pytest.mark.parametrize(
    "wrong",
    [
        ForgetsToBump,
        ForgetsToSettle,
        ForgetsItIsOver,
        Reopens,
        ReusesAnEpoch,
        MovesBeforeItLooks,
    ],
)
def test_the_checks_catch_a_machine_that_is_wrong_on_purpose(wrong: type[Turn]) -> None:
    def is_caught(calls: list[Call]) -> bool:
        try:
            Watch(wrong()).run(calls)
        except AssertionError:
            return True
        return False

    found = find(CALLS, is_caught, settings=FINDING)
    assert found
