"""The state of the tick in flight, and what a tick can come to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from onlooker.decision import (
    Action,
    BuiltPrompt,
    DedupJudge,
    Delegate,
    ReplyEnded,
    ReplyParser,
    Respond,
    Silence,
)
from onlooker.orchestrator.camera import Glance
from onlooker.orchestrator.notices import DecisionSource
from onlooker.orchestrator.reply import Reply
from onlooker.types import CallId, Ms, TickIndex, Usage

NO_CALL: Final = CallId("")
"""Before the first request of a tick."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a tick shows the model."""

    label_ms: Ms | None
    """Capture time of its first picture."""
    prompt: BuiltPrompt


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tick came to, for commit and report."""

    action: Action
    source: DecisionSource
    usage: Usage | None = None


@dataclass(slots=True)
class OpenTick:
    """The tick in flight."""

    index: TickIndex
    trigger: str
    began_ms: Ms
    glance: Glance
    look: Look
    slots_missed: int
    forced: bool
    """Somebody asked for an answer now."""
    urgent: bool
    called_ms: Ms
    deadline_ms: Ms
    call_id: CallId = NO_CALL
    """Of the request in flight; any other is stale."""
    parser: ReplyParser = field(default_factory=ReplyParser)
    tried: frozenset[str] = frozenset()
    requests: int = 0
    first_delta_ms: Ms | None = None
    judge: DedupJudge | None = None
    """Holds the text back while it may still repeat the last line."""
    reply: Reply | None = None
    busy: bool = False
    """A response is live and this one may neither queue nor pre-empt."""
    discarded: bool = False
    """The client cancelled the answer before it began: whatever comes is silence."""

    @property
    def is_past_return(self) -> bool:
        """Something of it was handed to the client, or is promised to be."""
        return self.reply is not None

    def outcome(self, ended: ReplyEnded, usage: Usage | None, *, may_delegate: bool) -> Outcome:
        """What is really done, of what the model wanted.

        Args:
            ended: what the model wanted.
            usage: as the server counted.
            may_delegate: its question, if any, is new.
        """
        wanted = ended.action
        if isinstance(wanted, Silence):
            source = DecisionSource.MALFORMED if ended.malformed else DecisionSource.MODEL
            return Outcome(wanted, source, usage)
        if self.discarded:
            return Outcome(Silence(), DecisionSource.MODEL, usage)
        said = self.reply.text if self.reply is not None else ""
        if isinstance(wanted, Delegate) and may_delegate:
            return Outcome(Delegate(said, wanted.question), DecisionSource.MODEL, usage)
        if self.reply is not None:
            return Outcome(Respond(said), DecisionSource.MODEL, usage)
        source = DecisionSource.BUSY if self.busy else DecisionSource.DEDUP
        return Outcome(Silence(), source, usage)
