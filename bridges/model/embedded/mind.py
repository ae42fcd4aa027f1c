"""From a prompt to a reply: what stands, what is seen, what is worth saying."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onlooker.bridges.model.embedded import errands, speech
from onlooker.bridges.model.embedded.dialect import Dialect
from onlooker.bridges.model.embedded.jobs import Job, hear, jobs_of
from onlooker.bridges.model.embedded.reading import Reading, spoken
from onlooker.bridges.model.embedded.sight import Sight
from onlooker.bridges.model.embedded.sight.eye import Closer
from onlooker.bridges.model.embedded.sight.store import Known
from onlooker.bridges.model.embedded.summary import summarise
from onlooker.bridges.model.embedded.views import View, views_of
from onlooker.bridges.model.embedded.watches import Say


class Mind:
    """Answers prompts in one dialect. Keeps nothing between them; used from worker threads."""

    def __init__(self, dialect: Dialect, sight: Sight) -> None:
        self.dialect = dialect
        self.sight = sight

    def reply(self, reading: Reading) -> str:
        """The assistant message for a prompt; raises ``CacheMiss`` or ``UnreadablePicture``."""
        admitted = self.sight.admit(reading.pictures)
        if reading.summary is not None:
            return summarise(reading, admitted, self.sight, self.dialect)
        jobs = jobs_of(reading, self.dialect, self.sight)
        self._look_closer(reading, jobs, admitted)
        views = views_of(reading.turns, admitted, self.sight.threshold)
        return self._compose([say for job in jobs for say in _do(job, reading, views)])

    def describe(self, reading: Reading) -> str:
        """A spoken description of the newest picture, for callers that rule silence out."""
        admitted = self.sight.admit(reading.pictures)
        self.sight.look_closer(reading.pictures[-1:], Closer.OBJECTS, admitted)
        views = [v for v in views_of(reading.turns, admitted, self.sight.threshold) if v.pictures]
        text = errands.describe(views[-1]) if views else speech.NO_PICTURE
        return self.dialect.respond(speech.clean(text, self.dialect.markers))

    def _look_closer(
        self, reading: Reading, jobs: Sequence[Job], admitted: Mapping[str, Known]
    ) -> None:
        """A monitor needs every picture since it was asked for, a question the newest."""
        for kind in Closer:
            needing = [job for job in jobs if job.needs(kind)]
            if not needing:
                continue
            turns = [max(job.order.turn, 0) for job in needing if not job.asks]
            since = reading.turns[min(turns) :] if turns else []
            pictures = [picture for turn in since for picture in turn.pictures]
            self.sight.look_closer(pictures or reading.pictures[-1:], kind, admitted)

    def _compose(self, says: Sequence[Say]) -> str:
        """One reply; of several questions to delegate the first goes now, the others later."""
        asks = [say for say in says if say.question][:1]
        texts = [say.text for say in says if not say.question] + [say.text for say in asks]
        if not texts:
            return self.dialect.silence
        text = speech.clean(speech.joined(texts), self.dialect.markers)
        if asks:
            return self.dialect.delegate(text, asks[0].question)
        return self.dialect.respond(text)


def _do(job: Job, reading: Reading, views: Sequence[View]) -> list[Say]:
    """Steps a job's tasks through the prompt, and asks what they want to be said now."""
    if job.order.in_head:
        for said in reading.head.said:
            hear(job, said.text, said.at_ms)
    for turn, view in list(zip(reading.turns, views, strict=True))[max(job.order.turn, 0) :]:
        for task in job.tasks:
            task.watch(view)
        for text in spoken(turn):
            hear(job, text, turn.at_ms)
    return [say for task in job.tasks if (say := task.wants(views[-1])) is not None]
