"""The boundary around every outside capability: codes of errors, deadlines, retry budget.

Whatever goes wrong beyond it arrives as a :class:`onlooker.errors.BridgeError` with a stable
:class:`Code` and one line that says what to do. What the other side wrote is read for numbers and
known phrases and never quoted: it may hold what a user said or showed. ``http_errors`` does this
for what speaks HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import TypeVar

from onlooker.errors import BridgeError, BridgeRejected, BridgeTimeout

T = TypeVar("T")


class Code(StrEnum):
    """Refined codes of bridge errors; the recovery of a tick is chosen by them."""

    UNREACHABLE = "unreachable"
    """No connection could be made."""
    TIMEOUT = "timeout"
    """The whole call took longer than its deadline."""
    STREAM_IDLE = "stream_idle"
    """An answer that had begun went quiet."""
    STREAM_CUT = "stream_cut"
    """The connection or the answer ended before it was complete."""
    CLOSED = "closed"
    """Our side closed the bridge."""
    NOT_HTTP = "not_http"
    """Something else than an HTTP server answers there."""
    WRONG_URL = "wrong_url"
    """A server answers, but not to this path."""
    HTML_REPLY = "html_reply"
    NOT_JSON = "not_json"
    """Neither a stream of chunks nor an error body."""
    REPLY_TOO_LARGE = "reply_too_large"
    """The answer passed what an answer can be."""
    UNAUTHORIZED = "unauthorized"
    BUSY = "busy"
    """The server takes no more at the moment."""
    SERVER_ERROR = "server_error"
    """It failed on its own; asking again, on a new connection, often works."""
    ENGINE_DEAD = "engine_dead"
    """It failed for good and will be restarted, if at all, by somebody else."""
    BAD_REQUEST = "bad_request"
    REQUEST_TOO_LARGE = "request_too_large"
    MODEL_NOT_FOUND = "model_not_found"
    NOT_MULTIMODAL = "not_multimodal"
    CONTEXT_EXCEEDED = "context_exceeded"
    MAX_TOKENS_TOO_LARGE = "max_tokens_too_large"
    TOO_MANY_IMAGES = "too_many_images"
    BAD_IMAGE = "bad_image"
    CACHE_MISS = "cache_miss"
    """A picture went by uuid alone and the server does not hold it any more."""
    BAD_GRAMMAR = "bad_grammar"


class LimitRejected(BridgeRejected):
    """A refusal that named a limit: tokens of context, or pictures in a prompt."""

    def __init__(
        self,
        message: str,
        *,
        bridge: str,
        code: Code,
        limit: int | None,
        asked: int | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message, bridge=bridge, status=status, code=code.value)
        self.limit = limit
        """What the server can hold."""
        self.asked = asked
        """What the request wanted of it, where the server said."""


class Deadline:
    """The end of one whole call, on the clock of the running loop."""

    def __init__(self, timeout_s: float, *, bridge: str) -> None:
        self._bridge = bridge
        self._timeout_s = timeout_s
        self._at_s = asyncio.get_running_loop().time() + timeout_s

    async def wait(self, work: Awaitable[T], *, idle_s: float | None = None) -> T:
        """``work``, ended at the deadline, or before it after ``idle_s`` without a result.

        Raises:
            BridgeTimeout: ``timeout`` or ``stream_idle``.
        """
        idle_at_s = self._at_s
        if idle_s is not None:
            idle_at_s = asyncio.get_running_loop().time() + idle_s
        try:
            async with asyncio.timeout_at(min(self._at_s, idle_at_s)):
                return await work
        except TimeoutError as error:
            if idle_at_s < self._at_s:
                message = f"the {self._bridge} server went quiet for {idle_s:g} s — see its log"
                code = Code.STREAM_IDLE
            else:
                message = (
                    f"the {self._bridge} server did not finish within {self._timeout_s:g} s — "
                    "see if it is overloaded, or allow more time"
                )
                code = Code.TIMEOUT
            raise BridgeTimeout(message, bridge=self._bridge, code=code.value) from error


class RetryBudget:
    """Bounds retries over many calls, so that a struggling server is not asked even more.

    A retry spends one token; each success earns a fraction of one back, up to where it began.
    """

    def __init__(self, tokens: float = 3.0, *, earned_per_success: float = 0.1) -> None:
        self._most = self._tokens = tokens
        self._earned = earned_per_success

    def spend(self) -> bool:
        """Take one retry; False when none is left."""
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def on_success(self) -> None:
        self._tokens = min(self._most, self._tokens + self._earned)


async def with_retries(
    call: Callable[[], Awaitable[T]],
    *,
    budget: RetryBudget,
    attempts: int = 2,
    pause_s: float = 0.2,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> T:
    """For calls that are whole in themselves (one utterance, one clause): try again what can help.

    Not for tick calls, whose recovery is decided where the prompt is built.

    Args:
        call: makes one attempt.
        budget: shared by all calls of one bridge.
        attempts: at most, the first included.
        pause_s: before the second attempt; twice as long before each further one.
        sleep: for tests.
    """
    for attempt in range(attempts):
        try:
            result = await call()
        except BridgeError as error:
            is_last = attempt + 1 >= attempts
            if is_last or not error.retryable or not budget.spend():
                raise
            await sleep(pause_s * 2**attempt)
        else:
            budget.on_success()
            return result
    raise AssertionError("attempts is at least 1")
