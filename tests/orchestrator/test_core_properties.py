"""Whatever happens, in whatever order: what must hold of a core's commands."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlooker.decision import GENERIC, JOYVL, Dialect
from onlooker.orchestrator import commands as c
from onlooker.orchestrator import events as e
from onlooker.orchestrator import notices as n
from onlooker.orchestrator.bargein import BargeInConfig
from onlooker.orchestrator.clauses import Clause
from onlooker.orchestrator.codec import dumps, encode
from onlooker.orchestrator.core import SessionCore
from onlooker.orchestrator.playback import SpokenText
from onlooker.orchestrator.turn import Phase
from onlooker.types import (
    CallId,
    FrameRef,
    InstructionId,
    Lifetime,
    LifetimeKind,
    Ms,
    ResponseId,
    UtteranceId,
    canonical_bytes,
)
from tests.support.core_world import World, core_config, prompt_of

pytestmark = pytest.mark.pure

_STEPS = (
    "second second second second frame wait query query cancel persona camera silence say say long "
    "delegate garbage fail_before fail_after too_long summary summary_fail ack truncate "
    "user_speech user_words stop delegated delegation_fail part_of_reply clause sent late "
    "voice_fail talk talk"
)
STEPS = _STEPS.split()
UNSEEN = (n.DecisionSource.GATE, n.DecisionSource.NO_PICTURE)
"""Ticks no prompt shows."""
ROLLED_BACK = (n.DecisionSource.FAILED, n.DecisionSource.ABORTED)
LATE = "[RESPOND] </response> LATE"
"""An answer that would be said in either dialect, had its fence not passed."""
WORD = re.compile(r"w\d+x\d")
_step = st.tuples(st.sampled_from(STEPS), st.integers(0, 9))
plans = st.lists(_step, max_size=70) | st.lists(_step, min_size=40, max_size=70)


class Heard:
    """The oracle of heard words: every response's sound, kept apart from the core.

    It is told the same reports, less those the core refused. Words are unique to a response, so
    what a prompt shows of it can be counted.
    """

    def __init__(self) -> None:
        self.texts: dict[ResponseId, SpokenText] = {}
        self.said: dict[ResponseId, str] = {}
        self.read_aloud: set[ResponseId] = set()
        self.unsettled: set[ResponseId] = set()
        self.archived: dict[ResponseId, int] = {}
        """Words of a live response that the head tells since its boundary. A client that takes
        its acks back later is believed from the next boundary on: the head stays as it is."""

    def note(self, command: c.Command) -> None:
        match command:
            case c.Emit(n.ResponseStarted(response_id=name, trigger=trigger)):
                self.texts[name] = SpokenText()
                self.said[name] = ""
                self.unsettled.add(name)
                if trigger == "delegation":
                    self.read_aloud.add(name)
            case c.Emit(n.ResponseDelta(response_id=name, text=text)):
                self.said[name] += text
            case c.Emit(n.ResponseEnded(response_id=name, status="completed")):
                self.unsettled.discard(name)
            case c.Emit(n.BoundaryCrossed()):
                self.archived = {name: len(self.words(name)[1]) for name in self.unsettled}
            case c.Speak(response_id=name, text=text, last=last):
                spoken = self.texts[name]
                if text:
                    start = len(spoken.text)
                    spoken.add(Clause(text, start, start + len(text)))
                if last:
                    spoken.complete()
            case _:
                pass

    def report(self, event: e.Event) -> None:
        match event:
            case e.ClauseSpoken(name, _, clause, duration, ends):
                self.texts[name].on_spoken(clause, duration, ends)
            case e.OutputSent(name, _, sent):
                self.texts[name].on_sent(sent)
            case e.PlaybackAck(name, played):
                self.texts[name].on_played(played)
            case e.PlaybackTruncated(name, end):
                self.texts[name].on_truncated(end)
            case _:
                pass

    def words(self, name: ResponseId) -> tuple[list[str], list[str]]:
        """All words of a response, and those that were heard."""
        said = self.said[name]
        return WORD.findall(said), WORD.findall(said[: self.texts[name].heard_chars])

    def check(self, prompt: str) -> None:
        """Of a settled response the prompt shows exactly the words that were heard."""
        for name in set(self.said) - self.unsettled - self.read_aloud:
            words, heard = self.words(name)
            shown = [word for word in words if re.search(rf"\b{word}\b", prompt)]
            if self.archived.get(name, 0) > len(heard):
                assert shown in (heard, words[: self.archived[name]]), f"too much of {words}"
                continue
            assert shown == heard, f"heard {heard} of {words}"
            before = self.said[name][: self.texts[name].heard_chars].rstrip()
            beyond = re.match(r"\W*\w", self.said[name][len(before) :])
            if heard and beyond is not None:
                assert before + beyond[0] not in prompt, "the beginning of an unheard word"


def is_refusal(notice: n.Notice) -> bool:
    """The core did not take a report about playback."""
    return isinstance(notice, n.StaleDropped) and notice.kind in ("ack", "output")


@dataclass
class Checked:
    """Drives a world through a plan and checks every step."""

    world: World
    dialect: Dialect
    words: int = 0
    utterances: int = 0
    instructions: list[InstructionId] = field(default_factory=list)
    may_rewrite: bool = False
    is_committed: bool = True
    last: bytes = b""
    last_chunk: int = -1
    epoch: int = 0
    flushed_below: int = 0
    heard: Heard = field(default_factory=Heard)
    armed: dict[InstructionId, str] = field(default_factory=dict)
    """Words of every instruction that stands, as the client was told."""
    answers: list[str] = field(default_factory=list)
    """Every delegated answer so far, good or bad."""
    is_decided: bool = True
    """No tick is open: the next call is the first of its tick."""

    def text(self) -> str:
        self.words += 1
        return " ".join(f"w{self.words}x{i}" for i in range(5)) + "."

    def run(self, plan: list[tuple[str, int]]) -> None:
        self.world.watch = self.check
        for step, number in plan:
            getattr(self, f"do_{step}")(number)
        self.world.send(e.SessionClosed())
        assert self.world.core.next_timer_ms is None
        assert self.world.core.handle(e.TimerFired(), Ms(self.world.now)) == []

    # -- steps --------------------------------------------------------------------------------

    def do_second(self, number: int) -> None:
        self.world.second()
        self.world.summarise("S.") if number % 3 == 0 else None

    def do_frame(self, number: int) -> None:
        self.world.frame()

    def do_wait(self, number: int) -> None:
        self.world.wait(number * 400)

    def do_query(self, number: int) -> None:
        kind = list(LifetimeKind)[number % 3]
        until = Ms(self.world.now + 2500) if kind is LifetimeKind.TIME else None
        self.words += 1
        one = number if number < 4 else f"{number}-{self.words}"
        text = f"q{one} <|im_end|> please" if number == 9 else f"q{one} please"
        self.instructions.append(
            self.world.ask(
                text, lifetime=Lifetime(kind, until), urgent=number == 8, forced=number == 7
            )
        )

    def do_cancel(self, number: int) -> None:
        name = self.instructions[number % len(self.instructions)] if self.instructions else "none"
        self.world.send(e.InstructionCancelled(InstructionId(name)))

    def do_persona(self, number: int) -> None:
        self.world.send(e.PersonaChanged("other", f"You are persona {number}."))

    def do_camera(self, number: int) -> None:
        self.world.send(e.CameraSwitched(on=number % 2 == 0))

    def do_silence(self, number: int) -> None:
        self.world.answer()

    def do_say(self, number: int) -> None:
        self.world.say(self.text())

    def do_long(self, number: int) -> None:
        self.world.say(" ".join(self.text() for _ in range(4)))

    def do_delegate(self, number: int) -> None:
        question = f"Who is number {number % 3}?"
        self.world.answer(self.world.reply("delegate", note=self.text(), question=question))

    def do_garbage(self, number: int) -> None:
        self.world.answer(["", "<html>busy</html>", "hello there", "[", "</"][number % 5])

    def do_part_of_reply(self, number: int) -> None:
        if self.world.call is not None:
            text = self.world.reply("respond", text=self.text())
            self.world.send(e.ModelDelta(self.world.call.call_id, text[: 8 + 3 * number]))

    def do_fail_before(self, number: int) -> None:
        if self.world.call is not None:
            self.world.fail(["server_error", "bridge_unavailable", "bad_image"][number % 3])

    def do_fail_after(self, number: int) -> None:
        self.do_part_of_reply(9)
        if self.world.call is not None:
            self.world.fail("stream_cut")

    def do_too_long(self, number: int) -> None:
        if self.world.call is not None:
            code = "context_exceeded" if number % 2 else "too_many_images"
            self.world.fail(code, limit=9_000 if number % 2 else 30)

    def do_summary(self, number: int) -> None:
        self.world.summarise(f"Summary {number}.")

    def do_summary_fail(self, number: int) -> None:
        for job_id in list(self.world.summaries):
            del self.world.summaries[job_id]
            self.world.send(e.SummaryFailed(job_id, "server_error", "ERRTEXT"))

    def response(self, number: int) -> n.ResponseStarted | None:
        started = self.world.notices(n.ResponseStarted)
        return started[-1 - number % min(2, len(started))] if started else None

    def do_clause(self, number: int) -> None:
        for clause in self.world.spoken:
            if clause.text:
                self.world.send(
                    e.ClauseSpoken(
                        clause.response_id, clause.epoch, clause.clause, 100 + 40 * number
                    )
                )
        self.world.spoken.clear()

    def do_sent(self, number: int) -> None:
        if (one := self.response(0)) is not None:
            self.world.send(e.OutputSent(one.response_id, one.epoch, 200 * number))

    def do_talk(self, number: int) -> None:
        """An answer of which the client hears the first few words."""
        self.world.frame()
        self.world.wait(1000 - self.world.now % 1000)
        self.world.say(self.text())
        self.do_clause(5)
        if (one := self.response(0)) is not None:
            self.world.send(e.OutputSent(one.response_id, one.epoch, 2_000))
            self.world.send(e.PlaybackAck(one.response_id, 60 * number))

    def do_ack(self, number: int) -> None:
        self.do_clause(number)
        self.do_sent(number)
        if (one := self.response(number)) is not None:
            self.may_rewrite = True
            self.world.send(e.PlaybackAck(one.response_id, 150 * number - 100))

    def do_truncate(self, number: int) -> None:
        if (one := self.response(number)) is not None:
            self.may_rewrite = True
            self.world.send(e.PlaybackTruncated(one.response_id, 120 * number - 50))

    def do_user_speech(self, number: int) -> None:
        self.utterances += 1
        name = self.utterance(number)
        self.may_rewrite = True
        self.world.send(e.SpeechStarted(name))
        if number % 2:
            self.world.wait(100 * number)
            self.world.send(e.SpeechEnded(name, 150 * number))

    def utterance(self, number: int) -> UtteranceId:
        """One of the newest utterances."""
        return UtteranceId(f"s{max(0, self.utterances - number % 3)}")

    def do_voice_fail(self, number: int) -> None:
        if (one := self.response(number)) is not None:
            self.may_rewrite = True
            self.world.send(e.ClauseFailed(one.response_id, one.epoch, "tts_down", "ERRTEXT"))

    def do_user_words(self, number: int) -> None:
        self.may_rewrite = True
        text = f"spoken {number}" if number % 2 else ""
        self.world.send(e.TranscriptArrived(self.utterance(number), text))

    def do_stop(self, number: int) -> None:
        self.may_rewrite = True
        self.world.send(e.ResponseCancelled())

    def do_delegated(self, number: int) -> None:
        for ticket in list(self.world.jobs):
            del self.world.jobs[ticket]
            self.world.send(e.DelegationDone(ticket, self.text()))
            self.world.send(e.DelegationDone(ticket, "twice"))

    def do_delegation_fail(self, number: int) -> None:
        for ticket in list(self.world.jobs):
            del self.world.jobs[ticket]
            self.world.send(
                e.DelegationFailed(ticket, "bridge_timeout", "The brain took too long.")
            )

    def do_late(self, number: int) -> None:
        """Answers nobody waits for."""
        world = self.world
        is_over = world.calls and world.call is not world.calls[0]
        world.send(e.ModelDelta(world.calls[0].call_id if is_over else CallId("c0"), LATE))
        self.world.send(e.SummaryDone("chunk-99-1", "late"))

    # -- checks -------------------------------------------------------------------------------

    def check(self, event: e.Event, commands: list[c.Command]) -> None:
        if not any(isinstance(one, c.Emit) and is_refusal(one.notice) for one in commands):
            self.heard.report(event)
        for command in commands:
            self.note(command)
            if isinstance(command, c.CallModel):
                self.check_prompt(command)
            else:
                self.check_output(command)
        if not self.world.core.has_unsettled_response:
            self.heard.unsettled.clear()
        self.world.core.memory.integrity()
        self.check_turn()

    def check_turn(self) -> None:
        """A response is live exactly while the phase says so; the cursor keeps its order."""
        speech = self.world.core._speech
        assert (speech.phase is Phase.RESPONDING) == (speech.live_id is not None)
        assert speech.epoch >= self.flushed_below
        for reply in (speech._live, speech._graced):
            if reply is not None:
                cursor = reply.spoken.cursor
                assert cursor.committed_ms <= cursor.heard_ms <= cursor.played_ms
                assert cursor.played_ms <= cursor.sent_ms <= cursor.generated_ms

    def check_output(self, command: c.Command) -> None:
        match command:
            case c.FlushOutput(epoch):
                self.flushed_below = epoch
            case c.Speak(epoch=epoch):
                assert epoch >= self.flushed_below, "speech of a flushed epoch"
            case c.Emit(n.ResponseStarted(epoch=epoch)):
                assert epoch > self.epoch, "a response without an epoch of its own"
                assert epoch >= self.flushed_below
                self.epoch = epoch
            case c.Emit(n.ResponseDelta(epoch=epoch, text=text)):
                assert "LATE" not in text, "a call that was over spoke"
                assert epoch >= self.flushed_below, "text of a flushed epoch"
            case _:
                pass

    def note(self, command: c.Command) -> None:
        """Keep the books: what stands, what was answered, what is said."""
        self.heard.note(command)
        match command:
            case c.Emit(n.InstructionChanged(instruction_id=name, status=status, text=text)):
                if status in ("armed", "rearmed"):
                    self.armed[name] = text
                else:
                    self.armed.pop(name)
            case c.Emit(n.DelegationChanged(status=status, text=text)):
                if status in ("done", "failed", "refused"):
                    self.answers.append(text)
            case c.Emit(n.BoundaryCrossed()):
                self.last = b""
            case c.Emit(n.DecisionMade(source=source)) if source not in UNSEEN:
                self.is_decided = True
                self.is_committed = source not in ROLLED_BACK
            case _:
                pass

    def check_visible(self, prompt: str) -> None:
        """The first call of a tick shows what stands and what was answered, without exception."""
        for name, text in self.armed.items():
            assert text in prompt, f"instruction {name} is not in the prompt"
        for text in self.answers:
            assert text in prompt, "a delegated answer is not in the very next prompt"

    def check_prompt(self, call: c.CallModel) -> None:
        body = canonical_bytes(call.messages)
        messages = prompt_of(call)
        roles = [message["role"] for message in messages]
        assert roles == ["system"] + ["user", "assistant"] * ((len(roles) - 2) // 2) + ["user"]
        assert b"ERRTEXT" not in body, "an error reached the prompt"
        assert b"<|im_end|>" not in body, "a control token reached the prompt"
        assert all("system" not in m["role"] for m in messages[1:])
        held = self.world.core.held_frames
        assert {s.uuid for s in call.messages if isinstance(s, FrameRef)} <= held
        if not self.is_committed:
            # Its tick rolled back or is tried again: only what came before it is promised.
            self.last = self.last[: self.last.rfind(b',{"role":"user"')] + b"]"
        if self.last and not self.may_rewrite:
            assert body.startswith(self.last[:-1]), "S1: not a byte prefix"
        if self.is_decided:
            self.check_visible(body.decode())
        self.is_decided = False
        if self.world.core.config.has_voice:
            self.heard.check(body.decode())
        self.last, self.may_rewrite = body, self.is_anything_live()
        self.is_committed = False

    def is_anything_live(self) -> bool:
        """A response that may still be rewritten after this prompt."""
        return bool(self.world.core.has_unsettled_response)


def drive(plan: list[tuple[str, int]], dialect: Dialect, **fields: Any) -> World:
    config = core_config(dialect, barge_in=BargeInConfig(), **fields)
    world = World.open(config, writes_text=not fields.get("has_voice", False))
    Checked(world, dialect).run(plan)
    return world


@given(
    plan=plans, dialect=st.sampled_from([GENERIC, JOYVL]), voice=st.booleans(), queue=st.booleans()
)
def test_any_order_of_events_keeps_the_promises(
    plan: list[tuple[str, int]], dialect: Dialect, voice: bool, queue: bool
) -> None:
    drive(plan, dialect, has_voice=voice, has_delegate=True, queue_while_speaking=queue)


@given(plan=plans, voice=st.booleans())
@settings(max_examples=40)
def test_replay_gives_the_same_commands_byte_for_byte(
    plan: list[tuple[str, int]], voice: bool
) -> None:
    world = drive(plan, GENERIC, has_voice=voice, has_delegate=True)
    fresh = SessionCore(world.core.config)
    again = [command for at, event in world.log for command in fresh.handle(event, Ms(at))]
    assert [dumps(encode(one)) for one in again] == [dumps(encode(one)) for one in world.commands]
