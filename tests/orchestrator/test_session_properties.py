"""The actor under random events and latencies: nothing is lost, left behind or irreproducible."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlooker.bridges.base import ModelRequest
from onlooker.errors import BridgeUnavailable
from onlooker.orchestrator import commands as c
from onlooker.orchestrator import events as e
from onlooker.orchestrator.core import SessionCore
from onlooker.orchestrator.frames import FrameStore
from onlooker.orchestrator.session import Session
from onlooker.types import InstructionId, Ms, UtteranceId
from tests.support.core_world import core_config
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
from tests.support.virtual_time import run_virtual

pytestmark = pytest.mark.shell

DOWN = BridgeUnavailable("Nobody answers; start the server.", bridge="model")


class Chaos:
    """A session whose partners answer when and what they like; the same for the same seed."""

    def __init__(self, seed: int, *, has_voice: bool) -> None:
        self.random = random.Random(seed)
        self.clock = LoopClock()
        self.ear, self.steps, self.store = Ear(self.clock), Steps(), FrameStore()
        self.model = PlayedModel(otherwise=self.answer)
        self.summariser = PlayedModel(otherwise=self.summarise)
        voice = PlayedVoice() if has_voice else None
        self.core = SessionCore(core_config(has_voice=has_voice, has_delegate=True))
        self.session = Session(
            self.core,
            clock=self.clock,
            model=self.model,
            summariser=self.summariser,
            store=self.store,
            sinks=[self.ear],
            recorder=self.steps,
            delegate=PlayedBrain(after_ms=self.random.randint(0, 3_000)),
            voice=voice,
        )
        if voice is not None:
            voice.session = self.session

    def answer(self, request: ModelRequest) -> Line:
        pick = self.random.randint
        text = [
            "[SILENCE]",
            "[SILENCE]",
            f"[RESPOND] Line {request.call_id} it is, so there.",
            f"[RESPOND] Hm. [DELEGATE] Who is {request.call_id}?",
            "garbage",
        ][pick(0, 4)]
        pieces = [(pick(0, 400), text[at : at + 9]) for at in range(0, len(text), 9)]
        return Line(pieces, error=DOWN if pick(0, 5) == 0 else None)

    def summarise(self, request: ModelRequest) -> Line:
        is_down = self.random.randint(0, 3) == 0
        return Line([(self.random.randint(0, 5_000), "Quiet.")], error=DOWN if is_down else None)

    def happen(self, number: int) -> None:
        pick, post = self.random.randint, self.session.post
        name = UtteranceId(f"u{number - pick(0, 2)}")
        match pick(0, 9):
            case 0:
                post(e.QueryArrived(InstructionId(f"i{number}"), f"Question {pick(0, 5)}?"))
            case 1:
                post(e.SpeechStarted(name))
            case 2:
                post(e.SpeechEnded(name, pick(0, 2_000)))
            case 3:
                post(e.TranscriptArrived(name, "wait" * pick(0, 1)))
            case 4:
                post(e.ResponseCancelled())
            case _:
                for _ in range(pick(1, 12)):
                    data = b"picture %d" % pick(0, 40)
                    now = self.clock.now_ms()
                    post(e.FrameArrived(picture(self.store, data, now)))

    async def play(self, steps: int) -> None:
        async with self.session:
            for number in range(steps):
                self.happen(number)
                await asyncio.sleep(self.random.randint(0, 900) / 1000)
                assert self.core.held_frames <= set(self.store._data)


@given(st.integers(0, 2**32), st.integers(1, 60), st.booleans())
@settings(max_examples=30)
def test_whatever_comes_when_the_session_stands_and_leaves_nothing(
    seed: int, steps: int, has_voice: bool
) -> None:
    async def play() -> Chaos:
        chaos = Chaos(seed, has_voice=has_voice)
        await chaos.play(steps)
        await asyncio.sleep(1)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return chaos

    chaos = run_virtual(play())
    assert chaos.model.open == chaos.summariser.open == 0
    assert len(chaos.store) == 0
    emitted = [one.notice for one in chaos.steps.commands if isinstance(one, c.Emit)]
    assert [notice for _, notice in chaos.ear.heard] == emitted
    assert replayed(chaos) == [commands for _, _, commands in chaos.steps.steps]


def replayed(chaos: Chaos) -> list[Any]:
    fresh = SessionCore(chaos.core.config)
    return [tuple(fresh.handle(event, Ms(at))) for at, event, _ in chaos.steps.steps]
