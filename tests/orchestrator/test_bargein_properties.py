"""The barge-in machine under any signals: no doubt lasts, nothing ends without a reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import Phase as Stage
from hypothesis import find, given, settings
from hypothesis import strategies as st

from onlooker.orchestrator.bargein import (
    BargeIn,
    BargeInConfig,
    Confirmed,
    Dismissed,
    Frozen,
    OverlapPolicy,
    SignalSource,
    Suspected,
    TurnChange,
)
from onlooker.types import Ms, ResponseId, UtteranceId

pytestmark = pytest.mark.pure

Step = tuple[Any, ...]
FINDING = settings(max_examples=3_000, database=None, phases=[Stage.generate])
IDS = st.sampled_from(["u1", "u2", "u3"]).map(UtteranceId)
SOURCES = st.sampled_from(SignalSource)
STEP = st.one_of(
    st.tuples(st.just("start")),
    st.tuples(st.just("finish")),
    st.tuples(st.just("speech"), IDS, SOURCES),
    st.tuples(st.just("silence"), IDS, st.integers(0, 3_000)),
    st.tuples(st.just("words"), IDS, st.sampled_from(["", " ", "stop"])),
    st.tuples(st.just("confirm"), SOURCES),
    st.tuples(st.just("dismiss"), SOURCES),
    st.tuples(st.just("cancel")),
    st.tuples(st.just("timer")),
)
STEPS = st.lists(st.tuples(st.integers(0, 900), STEP), max_size=40)
CONFIGS = st.builds(
    BargeInConfig,
    trusted=st.frozensets(SOURCES),
    overlap=st.sampled_from(OverlapPolicy),
    min_speech_ms=st.sampled_from([300, 1_200]),
    has_transcripts=st.booleans(),
    timeout_ms=st.sampled_from([1_000, 3_000]),
)


@dataclass
class Watch:
    machine: BargeIn
    config: BargeInConfig
    now: int = 0
    count: int = 0
    live: ResponseId | None = None
    suspected_at: int | None = None
    overlapping: set[UtteranceId] = field(default_factory=set)
    in_grace: tuple[ResponseId, int] | None = None

    def run(self, steps: list[tuple[int, Step]]) -> None:
        for wait, step in steps:
            self.pass_time(self.now + wait)
            self.take(step)
        self.pass_time(self.now + 10_000)
        assert not self.machine.is_suspected, "no doubt lasts"
        assert self.machine.in_grace is None
        assert self.machine.next_timer_ms is None

    def pass_time(self, to_ms: int) -> None:
        """Fire every timer on its time, as the shell does."""
        while (due := self.machine.next_timer_ms) is not None and due <= to_ms:
            self.now = max(self.now, due)
            self.note(self.machine.on_timer(Ms(self.now)), may_confirm=True)
            later = self.machine.next_timer_ms
            assert later is None or later > due, "a timer that fired is done with"
        self.now = to_ms

    def take(self, step: Step) -> None:
        machine, now, config = self.machine, Ms(self.now), self.config
        match step:
            case ("start",):
                self.count += 1
                self.live = ResponseId(f"r{self.count}")
                self.forget()
                machine.on_started(self.live)
            case ("finish",):
                self.live = None
                self.forget()
                machine.on_finished()
            case ("speech", name, source):
                counts = source in config.trusted and config.overlap is OverlapPolicy.BARGE_IN
                if counts and self.live:
                    self.overlapping.add(name)
                self.note(machine.on_speech_started(name, source, now), may_suspect=counts)
            case ("silence", name, duration):
                is_long = name in self.overlapping and duration >= config.min_speech_ms
                self.note(machine.on_speech_ended(name, duration, now), may_confirm=is_long)
            case ("words", name, text):
                has_words = name in self.overlapping and text.strip() != ""
                self.note(machine.on_transcript(name, text, now), may_confirm=has_words)
            case ("confirm", source):
                is_trusted = source in config.trusted
                self.note(machine.confirm(source, now), may_confirm=is_trusted)
            case ("dismiss", source):
                self.note(machine.dismiss(source))
            case ("cancel",):
                was_live = self.live
                self.note(machine.cancel(now), may_confirm=True)
                assert was_live is None or self.live is None, "an order is always carried out"
            case _:
                self.note(machine.on_timer(now), may_confirm=True)
        self.check()

    def note(
        self,
        changes: tuple[TurnChange, ...],
        *,
        may_suspect: bool = False,
        may_confirm: bool = False,
    ) -> None:
        for change in changes:
            match change:
                case Suspected(response_id):
                    assert may_suspect
                    assert response_id == self.live
                    assert self.suspected_at is None
                    self.suspected_at = self.now
                case Confirmed(response_id):
                    assert may_confirm
                    assert response_id == self.live
                    assert self.in_grace is None, "one grace at a time"
                    self.in_grace = (response_id, self.now + self.config.grace_ms)
                    self.live = None
                    self.forget()
                case Dismissed(response_id):
                    assert response_id == self.live
                    assert self.suspected_at is not None
                    self.suspected_at = None
                case Frozen(response_id):
                    assert self.in_grace is not None, "frozen once"
                    assert self.in_grace[0] == response_id
                    self.in_grace = None

    def forget(self) -> None:
        self.suspected_at = None
        self.overlapping.clear()

    def check(self) -> None:
        machine = self.machine
        assert machine.live == self.live
        assert machine.is_suspected == (self.suspected_at is not None)
        assert machine.in_grace == (self.in_grace[0] if self.in_grace else None)
        if self.suspected_at is not None:
            assert self.now < self.suspected_at + self.config.timeout_ms
        if self.in_grace is not None:
            assert self.now < self.in_grace[1]


@given(CONFIGS, STEPS)
def test_the_invariants_hold_under_any_signals(
    config: BargeInConfig, steps: list[tuple[int, Step]]
) -> None:
    Watch(BargeIn(config), config).run(steps)


class NeverTimesOut(BargeIn):
    """Wrong: what is suspected stays paused until somebody speaks up."""

    def _timers(self) -> list[Ms]:
        return [] if self._in_grace is None else [self._grace_until]


class InterruptsOnSpeech(BargeIn):
    """Wrong: a cough ends the response."""

    def on_speech_started(
        self, utterance_id: UtteranceId, source: SignalSource, now_ms: Ms
    ) -> tuple[TurnChange, ...]:
        changes = super().on_speech_started(utterance_id, source, now_ms)
        return (*changes, *self._confirm(now_ms)) if changes else ()


class TrustsEverybody(BargeIn):
    """Wrong: the list of trusted sources is not looked at."""

    def _may_interrupt(self, source: SignalSource) -> bool:
        return True


class LosesTheGrace(BargeIn):
    """Wrong: a second interruption forgets to freeze the first response."""

    def _end_grace(self) -> tuple[TurnChange, ...]:
        self._in_grace = None
        return ()


@pytest.mark.parametrize(
    "wrong", [NeverTimesOut, InterruptsOnSpeech, TrustsEverybody, LosesTheGrace]
)
def test_the_checks_catch_a_machine_that_is_wrong_on_purpose(wrong: type[BargeIn]) -> None:
    config = BargeInConfig(trusted=frozenset({SignalSource.EXTERNAL_VAD}))

    def is_caught(steps: list[tuple[int, Step]]) -> bool:
        try:
            Watch(wrong(config), config).run(steps)
        except AssertionError:
            return True
        return False

    assert find(STEPS, is_caught, settings=FINDING)
