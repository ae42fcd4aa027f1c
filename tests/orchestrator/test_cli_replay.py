"""What ``onlooker replay`` says."""

from __future__ import annotations

import pytest

from onlooker.orchestrator.cli.replay import lines
from onlooker.orchestrator.replay import Difference, ReplayResult
from onlooker.types import Ms

pytestmark = pytest.mark.shell


def test_a_faithful_replay_is_one_line() -> None:
    assert lines(ReplayResult(12, 34, (), None)) == [
        "same: 34 commands for 12 events, byte for byte"
    ]


def test_a_recording_that_is_cut_off_is_noted() -> None:
    found = lines(ReplayResult(1, 2, (), "The recording is cut off."))
    assert found[0] == "note: The recording is cut off."


def test_differences_are_shown_with_their_place_and_cannot_steer_the_terminal() -> None:
    one = Difference(7, 3, Ms(1_000), "TimerFired", '{"a":1}', '{"a":\x1b[2J2}')
    found = lines(ReplayResult(12, 34, (one,), None))
    assert found[0].startswith("command 7, after TimerFired at 1000 ms (line 3)")
    assert found[1].strip() == 'expected {"a":1}'
    assert found[2].strip() == 'got {"a":[2J2}'
    assert found[-1] == "different: 1 of 34 commands (first ones shown)"
