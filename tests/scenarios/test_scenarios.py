"""Scripted conversations on virtual time, each a YAML file beside this one, with latency budgets.

A scenario names what the model answers, what happens when, and what must be noticed when. Times
are stream milliseconds. See :class:`Scenario` for the words.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from onlooker.bridges.base import ModelRequest
from onlooker.decision import dialect
from onlooker.errors import BridgeError
from onlooker.memory import MemorySettings
from onlooker.orchestrator import commands as c
from onlooker.orchestrator import events as e
from onlooker.orchestrator import notices as n
from onlooker.orchestrator.core import SessionCore
from onlooker.orchestrator.frames import FrameStore
from onlooker.orchestrator.session import Session
from onlooker.types import InstructionId, Lifetime, LifetimeKind, UtteranceId
from tests.support.core_world import core_config, text_of, users_of
from tests.support.session_world import (
    SILENT,
    Ear,
    Line,
    LoopClock,
    PlayedBrain,
    PlayedModel,
    PlayedVoice,
    Steps,
    picture,
)

pytestmark = [pytest.mark.scenario, pytest.mark.virtual_time]

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Scenario:
    """One conversation.

    Attributes:
        about: what it shows, in a sentence.
        core: fields of the core's configuration; ``dialect`` by name, ``memory`` as settings.
        voice: whether answers are spoken, 100 ms a word, acknowledged as they play.
        brain: the background brain: ``answer`` and ``after_ms``.
        frames_every: a picture comes this often; 0 for none.
        summary_ms: how long a summary takes.
        model: its answers. Each is used once, by the first call whose newest message holds
            ``when`` (any call without it): ``pieces`` are [pause, text] pairs, ``error`` a code.
            Without one the model is silent after ``silent_ms``.
        events: what happens, each ``at`` a time.
        until: when the session is closed.
        expect: what must be so, see :class:`Run`.
    """

    about: str
    events: list[dict[str, Any]]
    expect: list[dict[str, Any]]
    until: int
    core: dict[str, Any] = field(default_factory=dict)
    voice: bool = False
    brain: dict[str, Any] | None = None
    frames_every: int = 1_000
    summary_ms: int = 500
    silent_ms: int = 100
    model: list[dict[str, Any]] = field(default_factory=list)


def load(path: Path) -> Scenario:
    return Scenario(**yaml.safe_load(path.read_text(encoding="utf-8")))


SCENARIOS = {path.stem: load(path) for path in sorted(FOLDER.glob("*.yaml"))}


class Run:
    """Plays a scenario and checks it."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.clock = LoopClock()
        self.ear = Ear(self.clock)
        self.steps = Steps()
        self.store = FrameStore()
        self.model = PlayedModel(otherwise=self.answer)
        self.lines = list(scenario.model)
        self.voice = PlayedVoice() if scenario.voice else None
        self.brain = PlayedBrain(**scenario.brain) if scenario.brain is not None else None
        self.core = SessionCore(self.config())
        self.session = Session(
            self.core,
            clock=self.clock,
            model=self.model,
            summariser=PlayedModel(
                otherwise=lambda request: Line.of("It was quiet.", scenario.summary_ms)
            ),
            store=self.store,
            sinks=[self.ear],
            recorder=self.steps,
            delegate=self.brain,
            voice=self.voice,
        )
        if self.voice is not None:
            self.voice.session = self.session
        self.pictures = 0

    def config(self) -> Any:
        fields = dict(self.scenario.core)
        spoken = dialect(fields.pop("dialect", "generic"))
        memory = MemorySettings(**fields.pop("memory", {"chunk_frames": 12}))
        has = {"has_voice": self.voice is not None, "has_delegate": self.brain is not None}
        return core_config(spoken, memory=memory, **has, **fields)

    def answer(self, request: ModelRequest) -> Line:
        newest = users_of(request)[-1]
        for line in self.lines:
            if line.get("when", "") in newest:
                self.lines.remove(line)
                code = line.get("error")
                error = BridgeError("ERRTEXT", bridge="model", code=code) if code else None
                pieces = [(pause, text) for pause, text in line.get("pieces", [])]
                return Line(pieces, line.get("finish", "stop"), error=error)
        return Line.of(SILENT.pieces[0][1], self.scenario.silent_ms)

    # -- playing ------------------------------------------------------------------------------

    async def play(self) -> None:
        async with self.session, asyncio.TaskGroup() as group:
            group.create_task(self.film())
            for event in self.scenario.events:
                await self.until(event["at"])
                self.happen(event)
            await self.until(self.scenario.until)
            self.session.post(e.SessionClosed())
            await self.session.closed()

    async def film(self) -> None:
        every = self.scenario.frames_every
        at = every // 2
        while every and at < self.scenario.until:
            await self.until(at)
            self.see()
            at += every

    async def until(self, at_ms: int) -> None:
        await self.clock.sleep_until(at_ms)  # type: ignore[arg-type]

    def see(self) -> None:
        self.pictures += 1
        data = b"picture %d" % self.pictures
        self.session.post(e.FrameArrived(picture(self.store, data, self.clock.now_ms())))

    def happen(self, event: dict[str, Any]) -> None:
        post = self.session.post
        match {key: value for key, value in event.items() if key != "at"}:
            case {"ask": str(text), **rest}:
                kind = LifetimeKind(rest.pop("until", "cancelled"))
                name = InstructionId(rest.pop("name", f"i{event['at']}"))
                post(e.QueryArrived(name, text, Lifetime(kind), **rest))
            case {"cancel": str(name)}:
                post(e.InstructionCancelled(InstructionId(name)))
            case {"speaks": str(name)}:
                post(e.SpeechStarted(UtteranceId(name)))
            case {"stops": str(name), "after_ms": int(duration)}:
                post(e.SpeechEnded(UtteranceId(name), duration))
            case {"words": str(text), "of": str(name)}:
                post(e.TranscriptArrived(UtteranceId(name), text))
            case {"stop": True}:
                post(e.ResponseCancelled())
            case {"camera": bool(on)}:
                post(e.CameraSwitched(on))
            case {"frame": True}:
                self.see()
            case {"persona": str(system)}:
                post(e.PersonaChanged("other", system))
            case unknown:
                raise AssertionError(f"no such event: {unknown}")

    # -- checking -----------------------------------------------------------------------------

    def check(self) -> None:
        for expected in self.scenario.expect:
            self.check_one(dict(expected))
        body = "".join(text_of(call) for call in self.calls)
        assert "ERRTEXT" not in body, "an error reached the model"
        assert all("ERRTEXT" not in one.text for one in self.ear.of(n.ResponseDelta))
        self.core.memory.integrity()
        assert len(self.store) == 0

    @property
    def calls(self) -> list[c.CallModel]:
        return [one for one in self.steps.commands if isinstance(one, c.CallModel)]

    def check_one(self, expected: dict[str, Any]) -> None:
        match expected:
            case {"notice": str(kind), "at": list(window), **fields}:
                times = self.times(kind, fields)
                first, last = window
                assert any(first <= at <= last for at in times), f"{expected}: came at {times}"
            case {"never": str(kind), **fields}:
                assert not self.times(kind, fields), expected
            case {"count": int(count), "notice": str(kind), **fields}:
                times = self.times(kind, fields)
                assert len(times) == count, f"{expected}: came at {times}"
            case {"heard": list(texts)}:
                assert [one.heard for one in self.ear.of(n.ResponseEnded)] == texts
            case {"prompt": str(text), "after": int(at), "within_ms": int(budget)}:
                times = [when for when, words in self.prompts() if when >= at and text in words]
                assert times, f"{text!r} is in no prompt after {at}"
                assert times[0] - at <= budget, f"{text!r} first at {times[0]}"
            case {"prompt_never": str(text)}:
                assert not any(text in words for _, words in self.prompts())
            case {"silence_after_flush_ms": int(budget)}:
                self.check_flush(budget)
            case {"tick_every_ms": list(window)}:
                self.check_pace(*window)
            case {"picture_age_ms": int(most)}:
                made = [d for d in self.ear.of(n.DecisionMade) if d.label_ms is not None]
                assert max(d.at_ms - d.label_ms for d in made) <= most
            case _:
                raise AssertionError(f"no such expectation: {expected}")

    def times(self, kind: str, fields: dict[str, Any]) -> list[int]:
        wanted = getattr(n, kind)
        return [
            at
            for at, notice in self.ear.heard
            if isinstance(notice, wanted)
            and all(str(getattr(notice, key)) == str(value) for key, value in fields.items())
        ]

    def prompts(self) -> list[tuple[int, str]]:
        return [
            (at, "\n".join(users_of(command)))
            for at, _, commands in self.steps.steps
            for command in commands
            if isinstance(command, c.CallModel)
        ]

    def check_flush(self, budget: int) -> None:
        """From the confirmed barge-in on nothing of an older epoch is handed out."""
        confirmed = [
            (at, notice.epoch)
            for at, notice in self.ear.heard
            if isinstance(notice, n.BargeInChanged) and notice.stage == "confirmed"
        ]
        assert confirmed, "nobody barged in"
        for flushed_at, epoch in confirmed:
            for at, _, commands in self.steps.steps:
                for one in commands:
                    if isinstance(one, c.Speak) and one.epoch < epoch:
                        assert at <= flushed_at + budget

    def check_pace(self, shortest: int, longest: int) -> None:
        begun = [d.at_ms for d in self.ear.of(n.DecisionMade) if d.trigger == "cadence"]
        gaps = [b - a for a, b in pairwise(begun)]
        assert shortest <= min(gaps), gaps
        assert max(gaps) <= longest, gaps


@pytest.mark.parametrize("name", SCENARIOS)
async def test_scenario(name: str) -> None:
    run = Run(SCENARIOS[name])
    await run.play()
    run.check()


def test_every_scenario_says_what_it_shows_and_expects_something() -> None:
    assert len(SCENARIOS) >= 12
    for name, scenario in SCENARIOS.items():
        assert scenario.about.endswith("."), name
        assert scenario.expect, name
