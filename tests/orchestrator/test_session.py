"""The actor on virtual time: what goes in comes out, in order, and nothing is left behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from onlooker.errors import BridgeRejected, BridgeTimeout, BridgeUnavailable
from onlooker.orchestrator import commands as c
from onlooker.orchestrator import events as e
from onlooker.orchestrator import notices as n
from onlooker.orchestrator.clock import MediaClock
from onlooker.orchestrator.codec import dumps, encode
from onlooker.orchestrator.core import SessionCore
from onlooker.orchestrator.frames import FrameStore
from onlooker.orchestrator.notices import DecisionSource as Source
from onlooker.orchestrator.session import Session
from onlooker.types import BoundaryReason, InstructionId, Ms
from tests.support.core_world import core_config, text_of
from tests.support.session_world import (
    Ear,
    Line,
    LoopClock,
    PlayedBrain,
    PlayedModel,
    PlayedVoice,
    Steps,
    picture,
)

pytestmark = [pytest.mark.shell, pytest.mark.virtual_time]


class Stage:
    """One session and its partners."""

    def __init__(
        self,
        *lines: Line,
        clock: Any = None,
        brain: PlayedBrain | None = None,
        voice: PlayedVoice | None = None,
        acknowledges_text: bool = False,
        **fields: Any,
    ) -> None:
        self.clock = clock or LoopClock()
        self.model = PlayedModel(list(lines))
        self.summariser = PlayedModel(otherwise=lambda request: Line.of("It was quiet.", 200))
        self.store = FrameStore()
        self.ear = Ear(self.clock)
        self.steps = Steps()
        self.brain = brain
        self.voice = voice
        has = {"has_delegate": brain is not None, "has_voice": voice is not None}
        self.core = SessionCore(core_config(**{**has, **fields}))
        self.session = Session(
            self.core,
            clock=self.clock,
            model=self.model,
            summariser=self.summariser,
            store=self.store,
            sinks=[self.ear],
            recorder=self.steps,
            delegate=brain,
            voice=voice,
            acknowledges_text=acknowledges_text,
        )
        if voice is not None:
            voice.session = self.session
        self.pictures = 0

    def see(self, data: bytes | None = None) -> None:
        """A new picture."""
        self.pictures += 1
        data = data or b"picture %d" % self.pictures
        self.session.post(e.FrameArrived(picture(self.store, data, self.clock.now_ms())))

    def ask(self, text: str = "Tell me.", name: str = "i", **fields: Any) -> None:
        self.session.post(e.QueryArrived(InstructionId(name), text, **fields))


async def ms(milliseconds: int) -> None:
    await asyncio.sleep(milliseconds / 1000)


async def test_deltas_stream_through_as_they_come() -> None:
    stage = Stage(Line([(200, "[RESPOND] One"), (100, " two"), (50, " three.")]))
    async with stage.session:
        stage.ask()
        await ms(1000)
    assert stage.ear.times(n.ResponseDelta) == [200, 300, 350]
    assert "".join(d.text for d in stage.ear.of(n.ResponseDelta)) == "One two three."
    assert stage.ear.of(n.ResponseEnded)[0].heard == "One two three."
    (decision,) = [d for d in stage.ear.of(n.DecisionMade) if d.action == "respond"]
    assert (decision.first_token_ms, decision.latency_ms) == (200, 350)


async def test_c34_c8_an_abort_cancels_the_request_in_the_same_moment() -> None:
    stage = Stage(Line([(100, "[RESPOND] One two"), (5_000, " three.")]))
    async with stage.session:
        stage.ask()
        await ms(150)
        assert stage.model.open == 1
        stage.session.post(e.ResponseCancelled())
        await ms(0)
        await ms(1)
        assert stage.model.aborted == ["c1"]
        assert stage.model.open == 0
        await ms(6_000)
    assert len(stage.ear.of(n.ResponseDelta)) == 1
    assert stage.ear.of(n.ResponseEnded)[0].status == "cancelled"


@pytest.mark.parametrize(
    "error",
    [
        BridgeTimeout("It took too long; use a faster model.", bridge="model"),
        BridgeUnavailable("Nobody answers; start the server.", bridge="model"),
        BridgeRejected("No such model.", bridge="model", status=404, code="model_not_found"),
    ],
    ids=lambda error: error.code,
)
async def test_errors_of_the_model_bridge_become_events(error: Exception) -> None:
    stage = Stage(Line(error=error))
    async with stage.session:
        stage.ask()
        await ms(1500)
    (trouble,) = stage.ear.of(n.Trouble)
    assert (trouble.code, trouble.message) == (error.code, error.message)  # type: ignore[attr-defined]
    assert trouble.retryable is bool(error.retryable)  # type: ignore[attr-defined]
    sources = [d.source for d in stage.ear.of(n.DecisionMade)]
    assert sources.count(Source.FAILED) == 1
    assert "Tell me." in text_of(_call(stage, -1))


def _call(stage: Stage, index: int) -> c.CallModel:
    return [one for one in stage.steps.commands if isinstance(one, c.CallModel)][index]


class TooLong(BridgeRejected):
    """A refusal that names the limit."""

    limit = 4_000


async def test_c31_the_limit_a_refusal_names_reaches_the_core() -> None:
    error = TooLong("The prompt is too long.", bridge="model", code="context_exceeded")
    stage = Stage(Line(error=error))
    async with stage.session:
        stage.see()
        stage.ask()
        await ms(500)
    assert stage.core.memory.config.max_prompt_tokens == 4_000
    reasons = [b.reason for b in stage.ear.of(n.BoundaryCrossed)]
    assert reasons == [BoundaryReason.FORCED]
    assert len(stage.model.requests) == 2


async def test_a_bug_in_an_adapter_ends_the_session_loudly() -> None:
    stage = Stage(Line(error=ZeroDivisionError("a bug")))
    await stage.session.__aenter__()
    stage.see()
    stage.ask()
    await ms(10)
    assert stage.session.is_closed
    with pytest.raises(ZeroDivisionError, match="a bug"):
        await stage.session.settled()
    with pytest.raises(ZeroDivisionError, match="a bug"):
        await stage.session.closed()
    with pytest.raises(ZeroDivisionError, match="a bug"):
        await stage.session.__aexit__(None, None, None)
    assert len(stage.store) == 0


async def test_a_bug_wakes_whoever_waits_for_the_session_to_settle() -> None:
    stage = Stage(Line([(300, "[SILENCE]")], error=ZeroDivisionError("a bug")))
    await stage.session.__aenter__()
    stage.ask()
    with pytest.raises(ZeroDivisionError, match="a bug"):
        await stage.session.settled()
    assert stage.clock.now_ms() == 300


async def test_a_bug_of_the_core_ends_the_session_loudly_as_well() -> None:
    stage = Stage(voice=None, has_voice=True)
    stage.model.lines = [Line.of("[RESPOND] One.")]
    await stage.session.__aenter__()
    stage.ask()
    with pytest.raises(AssertionError, match="without a voice"):
        await stage.session.closed()


async def test_a_slot_without_a_brain_is_a_bug_too() -> None:
    stage = Stage(Line.of("[DELEGATE] Who?"), has_delegate=True)
    await stage.session.__aenter__()
    stage.ask()
    with pytest.raises(AssertionError, match="without a background brain"):
        await stage.session.closed()


async def test_settled_waits_for_calls_summaries_and_jobs() -> None:
    brain = PlayedBrain(after_ms=900)
    stage = Stage(Line([(300, "[DELEGATE] Who?")]), brain=brain)
    async with stage.session:
        stage.ask()
        await stage.session.settled()
        assert stage.clock.now_ms() >= 1200
        assert [d.status for d in stage.ear.of(n.DelegationChanged)] == [
            "requested",
            "running",
            "progress",
            "done",
        ]
        assert brain.jobs[0].question == "Who?"
        await stage.session.settled()


async def test_settled_and_closed_before_the_start_and_after_the_end() -> None:
    stage = Stage()
    await stage.session.settled()
    await stage.session.closed()
    async with stage.session:
        stage.session.post(e.SessionClosed("bye"))
        await stage.session.closed()
        assert stage.session.is_closed
        await stage.session.settled()
    steps = len(stage.steps.steps)
    stage.ask()
    assert len(stage.steps.steps) == steps
    assert stage.session.next_timer_ms is None


async def test_leaving_the_context_ends_the_session_and_everything_in_flight() -> None:
    brain = PlayedBrain(after_ms=60_000)
    stage = Stage(Line.of("[DELEGATE] Who?"), brain=brain)
    async with stage.session:
        stage.see()
        stage.ask()
        await ms(100)
        stage.model.lines = [Line([(60_000, "[SILENCE]")])]
        stage.ask("And?", "j")
        await ms(100)
        assert stage.model.open == 1
    assert stage.ear.of(n.SessionEnded)[0].reason == "shutdown"
    assert stage.model.open == 0
    assert brain.cancelled == 1
    assert len(stage.store) == 0
    assert len(asyncio.all_tasks()) == 1


async def test_timers_fire_when_they_are_due() -> None:
    stage = Stage()
    async with stage.session:
        stage.ask()
        for _ in range(5):
            stage.see()
            await ms(1000)
    timers = [at for at, event, _ in stage.steps.steps if isinstance(event, e.TimerFired)]
    assert timers[:5] == [0, 1000, 2000, 3000, 4000]


async def test_c17_when_pictures_pile_up_the_oldest_waiting_one_goes_with_its_bytes() -> None:
    stage = Stage()
    async with stage.session:
        for _ in range(50):
            stage.see()
        assert len(stage.store) == 8
        await ms(0)
        await ms(1)
        arrived = [ev.frame for _, ev, _ in stage.steps.steps if isinstance(ev, e.FrameArrived)]
        assert len(arrived) == 8
        assert stage.store.get(arrived[-1].uuid) == b"picture 50"


async def test_a_superseded_picture_that_waits_twice_keeps_its_bytes() -> None:
    stage = Stage()
    async with stage.session:
        stage.see(b"paused")
        for _ in range(7):
            stage.see()
        stage.see(b"paused")
        assert b"paused" in {stage.store.get(u) for u in stage.session._inbox.waiting_frames()}
        stage.ask()
        await ms(100)


async def test_release_never_loses_a_picture_that_is_still_queued() -> None:
    """A paused video repeats a picture: the core lets it go in the step before it comes again."""
    stage = Stage(ring_frames=1)
    async with stage.session:
        stage.ask()
        for second in range(60):
            stage.see(b"paused" if second % 16 < 2 else None)
            await ms(1000)
            if second % 3 == 0:
                stage.see(b"paused")
        await ms(10)
    assert len(stage.model.bytes_seen) > 60
    assert any(isinstance(one, c.ReleaseFrames) for one in stage.steps.commands)


async def test_pictures_nobody_needs_leave_the_store() -> None:
    stage = Stage()
    async with stage.session:
        stage.ask()
        most = 0
        for _ in range(120):
            stage.see()
            await ms(1000)
            most = max(most, len(stage.store))
            assert stage.core.held_frames <= set(stage.store._data)
    assert most < 40


async def media_run() -> list[str]:
    """Two simulated minutes as fast as the machine can."""
    clock = MediaClock()
    brain = PlayedBrain(after_ms=40)
    stage = Stage(clock=clock, brain=brain)

    def answer(request: Any) -> Line:
        number = int(request.call_id[1:])
        if number % 5 == 0:
            return Line([(7, "[RESPOND] Line"), (3, f" {number}.")])
        return Line.of("[RESPOND] Hm. [DELEGATE] Who?" if number == 12 else "[SILENCE]", 5)

    stage.model.otherwise = answer
    async with stage.session:
        stage.ask()
        await stage.session.settled()
        for second in range(120):
            at = second * 1000 + 250
            while (due := stage.session.next_timer_ms) is not None and due <= at:
                clock.advance(due)
                await stage.session.settled()
                assert stage.model.open == 0, "settled while a call is in flight"
            clock.advance(Ms(at))
            stage.see()
            await stage.session.settled()
        stage.session.post(e.SourceEnded())
        await stage.session.closed()
    return [
        f"{at} {dumps(encode(event))} {[dumps(encode(one)) for one in commands]}"
        for at, event, commands in stage.steps.steps
    ]


async def test_a_run_on_media_time_is_the_same_every_time() -> None:
    first, second = await media_run(), await media_run()
    assert first == second
    assert sum("CallModel" in step for step in first) >= 118


async def test_settled_does_not_return_between_a_timer_and_its_step() -> None:
    clock = MediaClock()
    stage = Stage(clock=clock)
    async with stage.session:
        stage.ask()
        await stage.session.settled()
        for _ in range(5):
            stage.see()
            await stage.session.settled()
            calls = len(stage.model.requests)
            due = stage.session.next_timer_ms
            assert due is not None
            clock.advance(due)
            await stage.session.settled()
            assert len(stage.model.requests) == calls + 1
            assert stage.model.open == 0


async def test_the_recorder_gets_every_step_and_a_replay_gives_the_same_commands() -> None:
    stage = Stage(Line([(50, "[RESPOND] One"), (50, " two.")]))
    async with stage.session:
        stage.ask()
        for _ in range(30):
            stage.see()
            await ms(1000)
    fresh = SessionCore(stage.core.config)
    for at, event, commands in stage.steps.steps:
        assert tuple(fresh.handle(event, Ms(at))) == commands
    assert isinstance(stage.steps.steps[0][1], e.SessionOpened)
    assert isinstance(stage.steps.steps[-1][2][-1], c.Close)


async def test_a_sink_sees_every_notice_in_order() -> None:
    stage = Stage(Line([(50, "[RESPOND] One"), (50, " two.")]))
    async with stage.session:
        stage.ask()
        for _ in range(20):
            stage.see()
            await ms(1000)
    emitted = [one.notice for one in stage.steps.commands if isinstance(one, c.Emit)]
    assert [notice for _, notice in stage.ear.heard] == emitted
    assert stage.ear.of(n.SummaryChanged)


async def test_summaries_ride_on_a_connection_of_their_own_and_their_errors_are_events() -> None:
    stage = Stage()
    error = BridgeUnavailable("Nobody answers; start the server.", bridge="summaries")
    stage.summariser.lines = [Line(error=error)]
    async with stage.session:
        stage.ask()
        for _ in range(30):
            stage.see()
            await ms(1000)
    assert {r.call_id.split("-")[0] for r in stage.summariser.requests} == {"chunk"}
    assert all(r.call_id.startswith("c") and "-" not in r.call_id for r in stage.model.requests)
    statuses = [s.status for s in stage.ear.of(n.SummaryChanged)]
    assert statuses[:3] == ["requested", "retry", "requested"]
    assert "staged" in statuses


async def test_an_error_of_the_brain_is_told_to_client_and_model() -> None:
    error = BridgeTimeout("The brain took too long.", bridge="brain")
    stage = Stage(Line.of("[DELEGATE] Who?"), brain=PlayedBrain(after_ms=100, error=error))
    async with stage.session:
        stage.ask()
        await ms(500)
    assert stage.ear.of(n.DelegationChanged)[-1].status == "failed"
    assert "No answer: The brain took too long." in text_of(_call(stage, -1))


async def test_a_job_gets_recent_pictures_with_their_bytes() -> None:
    brain = PlayedBrain(after_ms=10)
    stage = Stage(Line.of("[DELEGATE] Who?"), brain=brain)
    async with stage.session:
        stage.see()
        stage.see()
        stage.ask()
        await ms(100)
    assert [data for _, data in brain.jobs[0].frames] == [b"picture 1", b"picture 2"]
    assert brain.jobs[0].user_text == "Tell me."


async def test_a_cancelled_job_is_stopped() -> None:
    brain = PlayedBrain(after_ms=60_000)
    stage = Stage(Line.of("[DELEGATE] Who?"), brain=brain)
    async with stage.session:
        stage.ask()
        await ms(100)
        ticket = stage.ear.of(n.DelegationChanged)[0].ticket
        stage.session.post(e.DelegationCancelled(ticket))
        await ms(1)
        assert brain.cancelled == 1


async def test_the_voice_gets_what_is_to_be_said_and_is_heard_as_it_plays() -> None:
    voice = PlayedVoice()
    stage = Stage(Line([(100, "[RESPOND] One two three. Four"), (200, " five.")]), voice=voice)
    async with stage.session:
        stage.ask()
        await ms(2_000)
        assert [type(one) for one in voice.commands] == [c.Speak, c.Speak]
        assert stage.ear.of(n.ResponseEnded)[0].heard == "One two three. Four five."


async def test_a_client_that_acknowledges_text_says_itself_what_was_written() -> None:
    stage = Stage(Line.of("[RESPOND] One two."), acknowledges_text=True)
    async with stage.session:
        stage.ask()
        await ms(100)
        started = stage.ear.of(n.ResponseStarted)[0]
        assert stage.ear.of(n.ResponseEnded) == []
        stage.session.post(e.TextWritten(started.response_id, started.epoch, 8))
        await ms(1)
        assert stage.ear.of(n.ResponseEnded)[0].heard == "One two."


async def test_a_request_carries_its_deadline() -> None:
    stage = Stage(Line([(3_000, "[SILENCE]")]), tick_deadline_ms=2_000)
    async with stage.session:
        stage.ask()
        await ms(2_500)
    assert stage.model.requests[0].timeout_s == pytest.approx(2.0)
    assert stage.model.aborted == ["c1"]
    assert stage.ear.of(n.Trouble)[0].code == "bridge_timeout"
