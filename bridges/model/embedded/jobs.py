"""Gives each intent of each standing query its tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from onlooker.bridges.model.embedded import errands, speech
from onlooker.bridges.model.embedded.dialect import Dialect
from onlooker.bridges.model.embedded.language import Intent, understand
from onlooker.bridges.model.embedded.language.intents import (
    AskColours,
    AskScene,
    AskTime,
    Count,
    Describe,
    Knowledge,
    Present,
    ReadCode,
    ReadText,
    Remind,
    Unservable,
    needs_codes,
    needs_objects,
    needs_text,
)
from onlooker.bridges.model.embedded.monitors import watches_for
from onlooker.bridges.model.embedded.orders import Order, orders_of
from onlooker.bridges.model.embedded.reading import Reading, spoken
from onlooker.bridges.model.embedded.sight import Sight
from onlooker.bridges.model.embedded.sight.eye import Closer
from onlooker.bridges.model.embedded.watches import Task

_QUESTIONS: Final = (
    Describe, Count, Present, ReadText, ReadCode, AskScene, AskColours, AskTime,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Job:
    """One intent of one standing query."""

    order: Order
    intent: Intent
    tasks: tuple[Task, ...]

    @property
    def asks(self) -> bool:
        """A question: it needs the newest picture only."""
        return isinstance(self.intent, _QUESTIONS)

    def needs(self, kind: Closer) -> bool:
        match kind:
            case Closer.OBJECTS:
                return needs_objects(self.intent) or isinstance(self.intent, Describe)
            case Closer.TEXT:
                return needs_text(self.intent)
            case Closer.CODES:
                return needs_codes(self.intent)


def jobs_of(reading: Reading, dialect: Dialect, sight: Sight) -> list[Job]:
    """What there is to do for a prompt; what is over already is left out."""
    jobs = []
    for order in orders_of(reading, dialect):
        for intent in understand(order.query):
            job = Job(order, intent, _tasks(intent, order, reading, dialect, sight))
            if not _is_over(job, reading):
                jobs.append(job)
    return jobs


def _tasks(
    intent: Intent, order: Order, reading: Reading, dialect: Dialect, sight: Sight
) -> tuple[Task, ...]:
    markers = dialect.markers
    quote = speech.quoted(order.query, markers)
    if missing := _missing(intent, sight):
        return (errands.refuse(speech.needs_extra(quote, missing), quote),)
    if isinstance(intent, Remind):
        return (errands.Timer(intent, markers, order.asked_ms),)
    if isinstance(intent, Knowledge) and dialect.teaches_delegation(reading.system):
        return (errands.look_up(intent, markers),)
    if isinstance(intent, Knowledge | Unservable):
        return (errands.refuse(speech.refused(quote), quote),)
    if isinstance(intent, _QUESTIONS):
        return (errands.answer(intent, markers),)
    history = reading.head.history if order.in_head else ""
    return tuple(watches_for(intent, markers, history))


def _missing(intent: Intent, sight: Sight) -> str | None:
    if needs_objects(intent) and not sight.has_objects:
        return "things"
    if needs_text(intent) and not sight.has_text:
        return "text"
    return None


def _is_over(job: Job, reading: Reading) -> bool:
    """Whether an errand is done, so that nobody need look at pictures for it any more."""
    errand = job.tasks[0] if job.tasks else None
    if not isinstance(errand, errands.Once | errands.Timer):
        return False
    if job.order.in_head and errands.is_settled(len(reading.head.said)):
        return True
    listen(job, reading)
    return errand.is_done


def listen(job: Job, reading: Reading) -> None:
    """Lets a job's tasks hear everything that was said since it was asked."""
    if job.order.in_head:
        for said in reading.head.said:
            hear(job, said.text, said.at_ms)
    for turn in reading.turns[max(job.order.turn, 0) :]:
        for text in spoken(turn):
            hear(job, text, turn.at_ms)


def hear(job: Job, text: str, at_ms: int | None) -> None:
    for task in job.tasks:
        task.hear(text, at_ms)
