"""A small world around one core: a model, a summariser, a listener, on hand-moved time.

It plays the shell: it keeps what is in flight, answers with what a test asks for, and checks after
every step what must hold whatever happens. Pure: no loop, no clock.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from onlooker.decision import GENERIC, JOYVL, Dialect, system_prompt
from onlooker.memory import MemorySettings, resolve
from onlooker.orchestrator import commands as c
from onlooker.orchestrator import events as e
from onlooker.orchestrator import notices as n
from onlooker.orchestrator.config import CoreConfig
from onlooker.orchestrator.core import SessionCore
from onlooker.types import (
    FrameRef,
    FrameUuid,
    InstructionId,
    Lifetime,
    Ms,
    ResponseId,
    Segments,
    ServerLimits,
    Ticket,
    Usage,
    UtteranceId,
    canonical_bytes,
)

_SYSTEM = {one.name: system_prompt(one, "default") for one in (GENERIC, JOYVL)}
"""Read once, outside any event loop."""


def core_config(
    dialect: Dialect = GENERIC, *, memory: MemorySettings | None = None, **fields: Any
) -> CoreConfig:
    """A config of small chunks; ``fields`` go to :class:`CoreConfig`."""
    settings = memory or MemorySettings(chunk_frames=12)
    return CoreConfig(
        dialect=dialect,
        system=_SYSTEM[dialect.name],
        memory=resolve(
            settings,
            ServerLimits(max_model_len=32_768, max_images=60),
            dialect.text,
            default_frames=dialect.default_frames,
            max_reply_tokens=256,
        ),
        **fields,
    )


class HasMessages(Protocol):
    """A call, or the request a bridge makes of it."""

    @property
    def messages(self) -> Segments: ...


def prompt_of(call: HasMessages) -> list[dict[str, Any]]:
    """The messages as a server would read them, pictures by uuid."""
    messages: list[dict[str, Any]] = json.loads(canonical_bytes(call.messages))
    return messages


def text_of(call: HasMessages) -> str:
    """All words of a prompt."""
    return canonical_bytes(call.messages).decode()


def users_of(call: HasMessages) -> list[str]:
    """The words of each user message, oldest first."""
    return [
        "\n".join(part["text"] for part in message["content"] if part["type"] == "text")
        for message in prompt_of(call)
        if message["role"] == "user"
    ]


def replies_of(call: c.CallModel) -> list[str]:
    """The assistant messages of a prompt, oldest first."""
    return [m["content"] for m in prompt_of(call) if m["role"] == "assistant"]


def pictures_of(call: HasMessages) -> list[FrameUuid]:
    """The pictures of a prompt, oldest first."""
    return [piece.uuid for piece in call.messages if isinstance(piece, FrameRef)]


@dataclass
class World:
    """One core and everything it talks to."""

    core: SessionCore
    now: int = 0
    log: list[tuple[int, e.Event]] = field(default_factory=list)
    commands: list[c.Command] = field(default_factory=list)
    call: c.CallModel | None = None
    """The call in flight."""
    calls: list[c.CallModel] = field(default_factory=list)
    summaries: dict[str, c.Summarise] = field(default_factory=dict)
    jobs: dict[Ticket, c.StartDelegation] = field(default_factory=dict)
    frames: int = 0
    writes_text: bool = True
    """Text counts as heard as soon as it is emitted."""
    written: dict[ResponseId, int] = field(default_factory=dict)
    spoken: list[c.Speak] = field(default_factory=list)
    sounded: dict[ResponseId, int] = field(default_factory=dict)
    """Milliseconds of sound made of each response."""
    watch: Callable[[e.Event, list[c.Command]], None] = lambda event, commands: None
    """Called after every step."""

    @classmethod
    def open(cls, config: CoreConfig | None = None, **fields: Any) -> World:
        world = cls(SessionCore(config or core_config()), **fields)
        world.send(e.SessionOpened())
        return world

    # -- time and input -----------------------------------------------------------------------

    def send(self, event: e.Event) -> list[c.Command]:
        """One event now; the world keeps track of what comes of it."""
        self.log.append((self.now, event))
        commands = self.core.handle(event, Ms(self.now))
        self.commands += commands
        for command in commands:
            self._track(command)
        self.watch(event, commands)
        self._write(commands)
        return commands

    def wait(self, ms: int) -> None:
        """Let time pass; timers fire when they are due."""
        until = self.now + ms
        while (due := self.core.next_timer_ms) is not None and due <= until:
            self.now = max(self.now, due)
            self.send(e.TimerFired())
            again = self.core.next_timer_ms
            assert again is None or again > self.now, "a timer that does not move on"
        self.now = until

    def frame(self, **fields: Any) -> FrameRef:
        """A new picture."""
        self.frames += 1
        uuid = FrameUuid(f"{self.frames:064x}")
        shown = FrameRef(uuid, Ms(fields.pop("capture_ms", self.now)), 64, 48, 1000)
        self.send(e.FrameArrived(shown))
        return shown

    def ask(self, text: str, instruction_id: str | None = None, **fields: Any) -> InstructionId:
        name = InstructionId(instruction_id or f"i{len(self.log)}")
        lifetime = fields.pop("lifetime", Lifetime())
        self.send(e.QueryArrived(name, text, lifetime, **fields))
        return name

    # -- the model ----------------------------------------------------------------------------

    def reply(self, action: str = "silence", **fields: str) -> str:
        """Canonical reply text in the dialect."""
        text = self.core.config.dialect.text
        if action == "silence":
            return text.silence
        if action == "respond":
            return text.respond.format(**fields)
        return text.delegate.format(**fields)

    def answer(
        self, reply: str | None = None, finish: str = "stop", usage: Usage | None = None
    ) -> None:
        """The model finishes the call in flight with ``reply`` (silence by default)."""
        if self.call is None:
            return
        call_id = self.call.call_id
        self.send(e.ModelDelta(call_id, self.reply() if reply is None else reply))
        if self.call is not None and self.call.call_id == call_id:
            self.call = None
            self.send(e.ModelDone(call_id, finish, usage))

    def say(self, text: str) -> None:
        """The model finishes the call in flight by saying ``text``."""
        self.answer(self.reply("respond", text=text))

    def fail(self, code: str = "server_error", **fields: Any) -> None:
        """The call in flight fails."""
        assert self.call is not None
        failed, self.call = self.call, None
        message = fields.pop("message", "ERRTEXT: the server failed; try again.")
        self.send(e.ModelFailed(failed.call_id, code, message, retryable=True, **fields))

    def second(self, reply: str | None = None) -> None:
        """The next second: a picture arrives just before the slot, the model answers in it."""
        self.wait(1000 - self.now % 1000 - 1)
        self.frame()
        self.wait(1)
        self.answer(reply)

    def stream(self, text: str) -> None:
        """A piece of the answer in flight."""
        assert self.call is not None
        self.send(e.ModelDelta(self.call.call_id, text))

    def begin_saying(self, text: str) -> None:
        """The model begins to say ``text``; its call goes on."""
        self.stream(self.reply("respond", text=text))

    def finish(self, reason: str = "stop", usage: Usage | None = None) -> None:
        """The answer in flight is over."""
        assert self.call is not None
        done, self.call = self.call, None
        self.send(e.ModelDone(done.call_id, reason, usage))

    def delegate(self, question: str, note: str = "One moment.") -> Ticket:
        """The model finishes the call in flight by delegating; returns the newest ticket."""
        self.answer(self.reply("delegate", note=note, question=question))
        return Ticket(self.notices(n.DelegationChanged)[-1].ticket)

    def deliver(self, text: str, ticket: Ticket | None = None) -> None:
        """The background brain answers its oldest open question, or that one."""
        done = ticket or next(iter(self.jobs))
        self.jobs.pop(done, None)
        self.send(e.DelegationDone(done, text))

    # -- the voice and the user -------------------------------------------------------------------

    def voice(self, word_ms: int = 100) -> None:
        """Everything to be spoken gets its sound, ``word_ms`` a word, and is sent."""
        for clause in self.spoken:
            if words := len(clause.text.split()):
                name, epoch = clause.response_id, clause.epoch
                ends = tuple(word_ms * (word + 1) for word in range(words))
                self.sounded[name] = self.sounded.get(name, 0) + ends[-1]
                self.send(e.ClauseSpoken(name, epoch, clause.clause, ends[-1], ends))
                self.send(e.OutputSent(name, epoch, self.sounded[name]))
        self.spoken.clear()

    def play(self, to_ms: int | None = None, response_id: ResponseId | None = None) -> None:
        """The client played that much of a response (all of its sound, of the newest one)."""
        name = response_id or self.last_response.response_id
        self.send(e.PlaybackAck(name, self.sounded.get(name, 0) if to_ms is None else to_ms))

    def barge_in(self, words: str = "wait", utterance: str = "u") -> None:
        """The user cuts in, with words."""
        name = UtteranceId(utterance)
        self.send(e.SpeechStarted(name))
        self.send(e.TranscriptArrived(name, words))

    def summarise(self, text: str = "It was quiet.") -> None:
        """Every open summary is finished."""
        for job_id in list(self.summaries):
            del self.summaries[job_id]
            self.send(e.SummaryDone(job_id, text))

    # -- views --------------------------------------------------------------------------------

    def notices(self, kind: type[Any]) -> list[Any]:
        return [
            command.notice
            for command in self.commands
            if isinstance(command, c.Emit) and isinstance(command.notice, kind)
        ]

    @property
    def prompt(self) -> str:
        """All words of the newest call."""
        return text_of(self.calls[-1])

    @property
    def last_prompt(self) -> c.CallModel:
        """The newest call."""
        return self.calls[-1]

    @property
    def shown(self) -> str:
        """The words of the newest user message."""
        return users_of(self.calls[-1])[-1]

    @property
    def decisions(self) -> list[n.DecisionMade]:
        return self.notices(n.DecisionMade)

    @property
    def ended(self) -> list[n.ResponseEnded]:
        return self.notices(n.ResponseEnded)

    def troubles(self) -> list[str]:
        """Codes of what went wrong, in order."""
        return [trouble.code for trouble in self.notices(n.Trouble)]

    def stale(self) -> list[str]:
        """Kinds of what came too late, in order."""
        return [dropped.kind for dropped in self.notices(n.StaleDropped)]

    def of(self, kind: type[Any]) -> list[Any]:
        """The commands of one kind, in order."""
        return [command for command in self.commands if isinstance(command, kind)]

    @property
    def last_response(self) -> n.ResponseStarted:
        started: n.ResponseStarted = self.notices(n.ResponseStarted)[-1]
        return started

    # -- inside -------------------------------------------------------------------------------

    def _track(self, command: c.Command) -> None:
        match command:
            case c.CallModel():
                assert self.call is None, "two tick calls in flight"
                self.call = command
                self.calls.append(command)
            case c.AbortModel(call_id):
                assert self.call is not None
                assert self.call.call_id == call_id
                self.call = None
            case c.Summarise(job_id):
                self.summaries[job_id] = command
            case c.AbortSummary(job_id):
                self.summaries.pop(job_id)
            case c.StartDelegation(ticket):
                self.jobs[ticket] = command
            case c.CancelDelegation(ticket):
                self.jobs.pop(ticket)
            case c.Speak():
                self.spoken.append(command)
            case _:
                pass

    def _write(self, commands: list[c.Command]) -> None:
        if not self.writes_text:
            return
        for command in commands:
            if isinstance(command, c.Emit) and isinstance(command.notice, n.ResponseDelta):
                delta = command.notice
                chars = self.written.get(delta.response_id, 0) + len(delta.text)
                self.written[delta.response_id] = chars
                self.send(e.TextWritten(delta.response_id, delta.epoch, chars))
