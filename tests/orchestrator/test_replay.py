"""Replay: the same core repeats itself, another one is found out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onlooker.errors import InvalidTransition, RecordingError
from onlooker.orchestrator.commands import Command, Emit
from onlooker.orchestrator.events import Event, QueryArrived, TimerFired, TroubleNoted
from onlooker.orchestrator.notices import Trouble
from onlooker.orchestrator.recorder import Recorder
from onlooker.orchestrator.replay import Difference, ReplayResult, replay
from onlooker.types import InstructionId, Ms

pytestmark = pytest.mark.shell


class CountingCore:
    """Says how many events it had, once for each it is set to."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.events = 0

    def handle(self, event: Event, now_ms: Ms) -> list[Command]:
        self.events += 1
        if isinstance(event, QueryArrived) and event.text == "break":
            raise InvalidTransition("start is not possible while closed.")
        text = f"{type(event).__name__} {self.events}"
        return [Emit(Trouble(now_ms, "count", text, False))] * self.times


class ForgetfulCore(CountingCore):
    """Reads something that is not in its events."""

    def handle(self, event: Event, now_ms: Ms) -> list[Command]:
        if now_ms == 200:
            self.events = 40
        return super().handle(event, now_ms)


def build(settings: Mapping[str, Any]) -> CountingCore:
    return CountingCore(settings["times"])


def record(path: Path, events: list[Event], times: int = 2) -> None:
    core = CountingCore(times)

    def on_trouble(event: TroubleNoted) -> None:
        raise AssertionError(event)

    with Recorder(path, {"times": times}, on_trouble) as recorder:
        for n, event in enumerate(events):
            now_ms = Ms(100 * n)
            recorder.record(now_ms, event, core.handle(event, now_ms))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def test_the_same_core_gives_the_same_commands(path: Path) -> None:
    record(path, [TimerFired()] * 4)
    result = replay(path, build)
    assert result == ReplayResult(events=4, commands=8, differences=(), warning=None)
    assert result.is_same


def test_another_core_is_found_out_where_it_first_differs(path: Path) -> None:
    record(path, [TimerFired()] * 4)
    result = replay(path, lambda settings: ForgetfulCore(settings["times"]))
    assert not result.is_same
    assert [difference.index for difference in result.differences] == [4, 5, 6, 7]
    first = result.differences[0]
    assert (first.line, first.now_ms, first.event) == (8, 200, "TimerFired")
    assert first.expected is not None
    assert first.got is not None
    assert first.expected.replace("TimerFired 3", "TimerFired 41") == first.got
    shown = str(first)
    assert shown.startswith("command 4, after TimerFired at 200 ms (line 8), from character ")
    assert "TimerFired 3" in shown.splitlines()[1]
    assert "TimerFired 41" in shown.splitlines()[2]


def test_a_command_too_few_and_one_too_many_are_differences(path: Path) -> None:
    record(path, [TimerFired()])
    few = replay(path, lambda _: CountingCore(1)).differences
    assert [(d.index, d.got) for d in few] == [(1, None)]
    assert "got      nothing" in str(few[0])
    many = replay(path, lambda _: CountingCore(3)).differences
    assert [(d.index, d.expected) for d in many] == [(2, None)]
    assert "expected nothing" in str(many[0])


def test_a_short_difference_is_shown_whole_and_a_long_one_where_it_is() -> None:
    short = str(Difference(0, 2, Ms(0), "TimerFired", "abc", "abcd"))
    assert "from character 3:\n  expected abc\n  got      abcd" in short
    long = str(Difference(0, 2, Ms(0), "TimerFired", "x" * 200 + "a", "x" * 200 + "b"))
    assert f"expected …{'x' * 30}a" in long
    assert str(Difference(0, 2, Ms(0), "TimerFired", "y" * 100, "z")).count("…") == 1


def test_replay_stops_after_as_many_differences_as_were_asked_for(path: Path) -> None:
    record(path, [TimerFired()] * 50)
    result = replay(path, lambda _: CountingCore(0), max_differences=5)
    assert len(result.differences) == 5
    assert result.events == 3


def test_a_recording_that_is_cut_off_is_replayed_as_far_as_it_goes(path: Path) -> None:
    record(path, [TimerFired()] * 4)
    path.write_bytes(path.read_bytes()[:-10])
    result = replay(path, build)
    assert result.events == 3
    assert result.is_same
    assert result.warning is not None


def test_a_core_that_fails_is_reported_with_the_line_and_the_cause(path: Path) -> None:
    record(path, [TimerFired(), QueryArrived(InstructionId("i1"), "go")])
    path.write_bytes(path.read_bytes().replace(b'"go"', b'"break"'))
    with pytest.raises(RecordingError, match="InvalidTransition on line 5") as caught:
        replay(path, build)
    assert isinstance(caught.value.__cause__, InvalidTransition)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["look", "提醒我", "a\ud800"]), max_size=6), st.integers(0, 3))
def test_whatever_was_recorded_replays_the_same(path: Path, texts: list[str], times: int) -> None:
    path.unlink(missing_ok=True)
    record(path, [QueryArrived(InstructionId("i"), text) for text in texts], times)
    result = replay(path, build)
    assert result.is_same
    assert (result.events, result.commands) == (len(texts), len(texts) * times)
