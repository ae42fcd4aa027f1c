"""What a tick comes to, of what the model wanted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onlooker.decision import Delegate, Malformed, ReplyEnded, Respond, Silence
from onlooker.decision.prompt import BuiltPrompt
from onlooker.orchestrator.camera import Glance
from onlooker.orchestrator.notices import DecisionSource as Source
from onlooker.orchestrator.opentick import Look, OpenTick, Outcome
from onlooker.orchestrator.reply import Reply
from onlooker.types import Ms, ResponseId, TickIndex, Usage, VideoState

pytestmark = pytest.mark.pure

USAGE = Usage(10, 2)


def tick(said: str | None = None, **fields: bool) -> OpenTick:
    one = OpenTick(
        index=TickIndex(0),
        trigger="query",
        began_ms=Ms(0),
        glance=Glance((), VideoState.FRESH, 0),
        look=Look(None, BuiltPrompt((), 0, 0, 0, 0)),
        slots_missed=0,
        forced=False,
        urgent=False,
        called_ms=Ms(0),
        deadline_ms=Ms(10),
    )
    if said is not None:
        one.reply = Reply.new(ResponseId("r"), "query", has_voice=False)
        one.reply.add(said)
    return replace(one, **fields)  # type: ignore[arg-type]


def test_only_what_was_handed_out_is_past_the_point_of_no_return() -> None:
    assert not tick().is_past_return
    assert tick("Hm").is_past_return


@pytest.mark.parametrize(
    ("open_tick", "wanted", "malformed", "may_delegate", "outcome"),
    [
        (tick(), Silence(), None, False, (Silence(), Source.MODEL)),
        (tick(), Silence(), Malformed.UNMARKED, False, (Silence(), Source.MALFORMED)),
        (tick("Hi."), Respond("Hi."), None, False, (Respond("Hi."), Source.MODEL)),
        (tick(), Respond("Hi."), None, False, (Silence(), Source.DEDUP)),
        (tick(busy=True), Respond("Hi."), None, False, (Silence(), Source.BUSY)),
        (tick(discarded=True), Respond("Hi."), None, False, (Silence(), Source.MODEL)),
        (tick("Hm."), Delegate("Hm.", "Who?"), None, True, (Delegate("Hm.", "Who?"), Source.MODEL)),
        (tick(), Delegate("Hm.", "Who?"), None, True, (Delegate("", "Who?"), Source.MODEL)),
        (tick("Hm."), Delegate("Hm.", "Who?"), None, False, (Respond("Hm."), Source.MODEL)),
        (tick(), Delegate("Hm.", "Who?"), None, False, (Silence(), Source.DEDUP)),
    ],
)
def test_outcomes(
    open_tick: OpenTick,
    wanted: Silence | Respond | Delegate,
    malformed: Malformed | None,
    may_delegate: bool,
    outcome: tuple[Silence | Respond | Delegate, Source],
) -> None:
    ended = ReplyEnded(wanted, malformed)
    got = open_tick.outcome(ended, USAGE, may_delegate=may_delegate)
    assert got == Outcome(*outcome, USAGE)
