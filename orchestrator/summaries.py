"""Summary calls in flight: asked for when memory wants them, answered once or not at all."""

from __future__ import annotations

from onlooker.decision import neutralise, summary_prompt
from onlooker.memory import Memory, SummaryRequest
from onlooker.orchestrator.commands import AbortSummary, Summarise
from onlooker.orchestrator.config import CoreConfig
from onlooker.orchestrator.events import SummaryDone, SummaryFailed
from onlooker.orchestrator.notices import StaleDropped, SummaryChanged, Trouble
from onlooker.orchestrator.outputs import Outputs
from onlooker.types import FrameRef, FrameUuid, Ms


class Summaries:
    """Carries summary requests out and their answers back."""

    def __init__(self, config: CoreConfig, memory: Memory, out: Outputs) -> None:
        self._config = config
        self._memory = memory
        self._out = out
        self._open: dict[str, SummaryRequest] = {}
        self._frames: dict[str, frozenset[FrameUuid]] = {}

    def ask(self, now_ms: Ms) -> None:
        """Send every request memory has ready."""
        for request in self._memory.summary_requests(now_ms):
            messages, sampling = summary_prompt(
                self._config.dialect,
                request,
                self._config.language,
                max_tokens=self._memory.config.summary_max_tokens,
            )
            self._open[request.job_id] = request
            pictures = (piece.uuid for piece in messages if isinstance(piece, FrameRef))
            self._frames[request.job_id] = frozenset(pictures)
            self._tell(request, "requested", "", now_ms)
            deadline = Ms(now_ms + self._config.summary_deadline_ms)
            self._out.add(Summarise(request.job_id, messages, sampling, deadline))

    def on_answer(self, event: SummaryDone | SummaryFailed, now_ms: Ms) -> None:
        """A summary came, or could not be had. Memory retries or falls back; nothing stops."""
        request = self._open.pop(event.job_id, None)
        self._frames.pop(event.job_id, None)
        if request is None:
            self._out.emit(StaleDropped("summary", event.job_id, now_ms))
        elif isinstance(event, SummaryDone):
            text = neutralise(event.text.strip())
            status = self._memory.on_summary(event.job_id, text, now_ms)
            self._tell(request, status, text, now_ms)
        else:
            status = self._memory.on_summary_failed(event.job_id, now_ms)
            self._tell(request, status, "", now_ms)
            self._out.emit(Trouble(now_ms, event.code, event.message, retryable=status == "retry"))

    def frames_in_use(self) -> set[FrameUuid]:
        """Pictures of requests in flight."""
        return set().union(*self._frames.values())

    def abort(self) -> None:
        """The session ends."""
        for job_id in self._open:
            self._out.add(AbortSummary(job_id))

    def _tell(self, request: SummaryRequest, status: str, text: str, now_ms: Ms) -> None:
        self._out.emit(
            SummaryChanged(
                job_id=request.job_id,
                at_ms=now_ms,
                kind=request.kind,
                status=status,
                start_ms=request.start_ms,
                end_ms=request.end_ms,
                text=text,
            )
        )
