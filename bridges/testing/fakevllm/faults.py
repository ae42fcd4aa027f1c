"""Everything a server was seen to do wrong, to be injected at will."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from onlooker.bridges.testing.fakevllm.config import FakeConfig
from onlooker.bridges.testing.fakevllm.refused import Refused, internal_error
from onlooker.bridges.testing.fakevllm.request import FakeRequest


class FaultKind(StrEnum):
    """One kind of misbehaviour; the values are the names the command line takes."""

    DRIFT = "drift"
    """The picture caches drifted: 500, inside the stream where one was asked for."""
    SERVER_ERROR = "server-error"
    """An unhandled 500, after which the server closes the connection without a word."""
    ENGINE_DEAD = "engine-dead"
    """The engine dies while it streams: an error, ``[DONE]``, no finish reason; the server is
    dead from then on."""
    CUT = "cut"
    """The connection breaks while it streams."""
    NO_FINISH = "no-finish"
    """The stream ends in order, without a finish reason."""
    HANG = "hang"
    """The stream goes quiet and does not end."""
    HANG_AT_START = "hang-at-start"
    """No answer at all."""
    BUSY = "busy"
    HTML = "html"
    """A web page, with status 200."""
    HTML_BAD_GATEWAY = "html-bad-gateway"
    """A gateway's page, with status 502."""
    NOT_JSON = "not-json"
    """A stream whose data is no JSON."""
    NOT_A_STREAM = "not-a-stream"
    """One JSON object where a stream was asked for."""
    ENDLESS_LINE = "endless-line"
    """A stream that never ends its first line."""
    WRONG_MODEL = "wrong-model"
    UNAUTHORIZED = "unauthorized"
    TOO_LONG = "too-long"
    TOO_MANY_IMAGES = "too-many-images"
    BAD_IMAGE = "bad-image"
    CACHE_MISS = "cache-miss"
    """All pictures were forgotten."""
    NOT_MULTIMODAL = "not-multimodal"


ENGINE_DEAD_MESSAGE: Final = (
    "EngineCore encountered an issue. See stack trace (above) for the root cause."
)
BUSY_MESSAGE: Final = (
    "The engine is currently busy and cannot accept new requests. Please try again later."
)
STREAMED: Final = frozenset(
    {
        FaultKind.ENGINE_DEAD,
        FaultKind.CUT,
        FaultKind.NO_FINISH,
        FaultKind.HANG,
        FaultKind.NOT_JSON,
        FaultKind.ENDLESS_LINE,
    }
)
"""Those that happen after the stream began."""


@dataclass(frozen=True, slots=True)
class Fault:
    kind: FaultKind
    after_tokens: int = 1
    """Tokens that still arrive, of a fault in the middle of a stream."""


class FaultPlan:
    """Which requests go wrong."""

    def __init__(self) -> None:
        self._next: deque[Fault | None] = deque()
        self._at: dict[int, Fault] = {}
        self._always: Fault | None = None
        self._count = 0

    def next(self, *faults: Fault | FaultKind | None) -> None:
        """Each of the next requests goes wrong in its own way; None lets one pass."""
        self._next.extend(_fault(one) for one in faults)

    def at(self, number: int, fault: Fault | FaultKind) -> None:
        """The ``number``-th request, from 1, goes wrong."""
        found = _fault(fault)
        if found is not None:
            self._at[number] = found

    def always(self, fault: Fault | FaultKind | None) -> None:
        """Every request goes wrong, until this is called with None."""
        self._always = _fault(fault)

    def take(self) -> Fault | None:
        """What happens to the request that has just come."""
        self._count += 1
        if self._next:
            return self._next.popleft()
        return self._at.pop(self._count, None) or self._always


def _fault(fault: Fault | FaultKind | None) -> Fault | None:
    return Fault(fault) if isinstance(fault, FaultKind) else fault


def refusal(kind: FaultKind, request: FakeRequest, config: FakeConfig) -> Refused | None:
    """The error body of a fault that is one."""
    match kind:
        case FaultKind.DRIFT:
            return internal_error()
        case FaultKind.SERVER_ERROR:
            return internal_error(in_stream=False)
        case FaultKind.BUSY:
            return Refused(503, BUSY_MESSAGE, kind="ServiceUnavailableError")
        case FaultKind.WRONG_MODEL:
            return Refused(
                404,
                f"The model `{config.model}` does not exist.",
                kind="NotFoundError",
                param="model",
            )
        case FaultKind.TOO_LONG:
            length = config.max_model_len
            return too_long(length + 989, length)
        case FaultKind.TOO_MANY_IMAGES:
            most = max(1, len(request.pictures) - 1)
            message = f"At most {most} image(s) may be provided in one prompt. (parameter=image)"
            return Refused(400, message, param="image")
        case FaultKind.BAD_IMAGE:
            return Refused(400, "Failed to load image: cannot identify image file <_io.BytesIO>")
        case FaultKind.NOT_MULTIMODAL:
            return Refused(400, f"{config.model} is not a multimodal model")
        case _:
            return None


def too_long(length: int, limit: int) -> Refused:
    return Refused(
        400, f"Input length ({length}) exceeds model's maximum context length ({limit})."
    )
