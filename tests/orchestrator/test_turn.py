"""The turn machine: its table, its irregular cases, its diagram."""

from __future__ import annotations

import re
from itertools import product

import pytest

from onlooker.errors import InvalidTransition
from onlooker.orchestrator.turn import EFFECTS, TRANSITIONS, Phase, Trigger, Turn, diagram
from onlooker.types import Epoch, ResponseId
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.pure

R1, R2 = ResponseId("r1"), ResponseId("r2")


def turn_in(phase: Phase) -> Turn:
    turn = Turn()
    if phase is Phase.CLOSED:
        turn.close()
    elif phase is not Phase.IDLE:
        turn.on_input()
        if phase is Phase.RESPONDING:
            turn.start(R1)
    assert turn.phase is phase
    return turn


def pull(turn: Turn, trigger: Trigger) -> None:
    match trigger:
        case Trigger.INPUT:
            turn.on_input()
        case Trigger.START:
            turn.start(R2)
        case Trigger.FINISH:
            turn.finish(turn.epoch)
        case Trigger.BARGE_IN:
            turn.barge_in()
        case Trigger.CLOSE:
            turn.close()


@pytest.mark.parametrize(("phase", "trigger"), TRANSITIONS)
def test_each_row_of_the_table_is_what_the_machine_does(phase: Phase, trigger: Trigger) -> None:
    turn = turn_in(phase)
    pull(turn, trigger)
    assert turn.phase is TRANSITIONS[phase, trigger]


IRREGULAR = {
    *((phase, Trigger.FINISH) for phase in Phase if phase is not Phase.RESPONDING),
    (Phase.CLOSED, Trigger.CLOSE),
}
ILLEGAL = [
    pair for pair in product(Phase, Trigger) if pair not in TRANSITIONS and pair not in IRREGULAR
]


@pytest.mark.parametrize(("phase", "trigger"), ILLEGAL)
def test_what_is_not_in_the_table_raises_and_changes_nothing(
    phase: Phase, trigger: Trigger
) -> None:
    turn = turn_in(phase)
    before = repr(turn)
    with pytest.raises(InvalidTransition):
        pull(turn, trigger)
    assert repr(turn) == before


@pytest.mark.parametrize(("phase", "trigger"), sorted(IRREGULAR))
def test_what_comes_after_its_end_is_no_transition(phase: Phase, trigger: Trigger) -> None:
    turn = turn_in(phase)
    before = repr(turn)
    pull(turn, trigger)
    assert repr(turn) == before


def test_a_finish_names_the_live_response_or_is_late() -> None:
    turn = turn_in(Phase.RESPONDING)
    first = turn.epoch
    turn.barge_in()
    second = turn.start(R2)
    assert turn.finish(first) is False
    assert turn.live == R2
    assert turn.finish(second) is True
    assert turn.finish(second) is False
    with pytest.raises(InvalidTransition, match="never handed out"):
        turn.finish(Epoch(second + 1))


def test_c8_a_barge_in_makes_everything_older_stale_at_once() -> None:
    turn = turn_in(Phase.RESPONDING)
    queued = [turn.epoch] * 5
    new = turn.barge_in()
    assert all(turn.is_stale(epoch) for epoch in queued)
    assert new == turn.epoch
    assert turn.live is None


def test_c9_output_of_the_response_before_last_stays_stale() -> None:
    turn = turn_in(Phase.RESPONDING)
    first = turn.epoch
    turn.barge_in()
    second = turn.start(R2)
    turn.finish(second)
    third = turn.start(ResponseId("r3"))
    assert [turn.is_stale(epoch) for epoch in (first, second, third)] == [True, True, False]


def test_c14_cancel_then_create_in_one_step_gives_one_live_response() -> None:
    turn = turn_in(Phase.RESPONDING)
    with pytest.raises(InvalidTransition):
        turn.start(R2)
    assert turn.live == R1
    turn.barge_in()
    turn.start(R2)
    assert turn.live == R2
    turn.barge_in()
    assert turn.live is None


def test_close_hands_back_the_live_response_once() -> None:
    turn = turn_in(Phase.RESPONDING)
    epoch = turn.epoch
    assert turn.close() == R1
    assert turn.is_stale(epoch)
    assert turn.close() is None


def test_a_fresh_session_begins_below_its_first_response() -> None:
    turn = Turn()
    assert (turn.phase, turn.epoch, turn.live_epoch) == (Phase.IDLE, 0, None)
    turn.on_input()
    assert turn.start(R1) == 1


def test_a_restored_session_goes_on_above_the_old_epoch() -> None:
    turn = Turn(Epoch(41))
    turn.on_input()
    assert turn.start(R1) == 42


def test_input_keeps_flowing_while_a_response_is_live() -> None:
    turn = turn_in(Phase.RESPONDING)
    turn.on_input()
    assert turn.live == R1
    assert turn.live_epoch == turn.epoch


def test_the_page_shows_the_diagram_and_the_table_of_the_code(
    request: pytest.FixtureRequest,
) -> None:
    """``make golden`` writes both into ``docs/turn.md``."""
    page = ROOT / "docs" / "turn.md"
    text = page.read_text(encoding="utf-8")
    drawn = re.sub(r"(?<=```mermaid\n).*?(?=```)", lambda _: diagram(), text, flags=re.S)
    marks = r"(?<=<!-- table -->\n).*?(?=<!-- /table -->)"
    made = re.sub(marks, lambda _: table(), drawn, flags=re.S)
    if request.config.getoption("--update-golden"):
        page.write_text(made, encoding="utf-8")
        return
    assert text == made
    assert diagram() in text
    assert table() in text


def table() -> str:
    rows = ["| in phase | on | to | and |", "| --- | --- | --- | --- |"]
    for (phase, trigger), target in TRANSITIONS.items():
        rows.append(f"| {phase} | {trigger} | {target} | {EFFECTS.get(trigger, '')} |")
    return "\n".join(rows) + "\n"


def test_the_diagram_has_a_line_for_each_row() -> None:
    lines = diagram().splitlines()
    assert sum("-->" in line for line in lines) == len(TRANSITIONS) + 2
    assert "    RESPONDING --> RESPONDING: input" in lines
