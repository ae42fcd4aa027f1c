"""What to do when a tick's call failed before anything was said: one table.

One recovery per distinct reason, a bounded number of requests, all within the tick's deadline
(design: a tick is a transaction). Everything not named here fails the tick, which loses nothing:
its query, facts and frames are back in staging and the next tick tries again.
"""

from __future__ import annotations

from enum import StrEnum

from onlooker.orchestrator.events import ModelFailed
from onlooker.types import CallId


class Recovery(StrEnum):
    """How a tick's call is tried once more."""

    COMPACT = "compact"
    """Force a boundary so that the prompt fits the server's limit."""
    DROP_FRAMES = "drop_frames"
    """Leave the new pictures out: the server could not read one of them."""
    RECONNECT = "reconnect"
    """Ask again, unchanged, on a new connection."""
    FAIL = "fail"


_TABLE = {
    "context_exceeded": Recovery.COMPACT,
    "too_many_images": Recovery.COMPACT,
    "bad_image": Recovery.DROP_FRAMES,
    "cache_miss": Recovery.RECONNECT,
    "server_error": Recovery.RECONNECT,
    "stream_cut": Recovery.RECONNECT,
}


def recovery_for(code: str, *, tried: frozenset[str], requests: int, max_requests: int) -> Recovery:
    """The one recovery this failure still deserves in this tick.

    Args:
        code: stable code of the failure.
        tried: codes this tick already recovered from.
        requests: requests this tick has made.
        max_requests: how many it may make.
    """
    if code in tried or requests >= max_requests:
        return Recovery.FAIL
    return _TABLE.get(code, Recovery.FAIL)


def deadline_missed(call_id: CallId, deadline_ms: int) -> ModelFailed:
    """The failure of a call that did not end within its tick's time."""
    return ModelFailed(
        call_id,
        "bridge_timeout",
        f"The model did not finish within {deadline_ms} ms; raise cadence.tick_deadline_ms or use "
        "a faster model.",
        retryable=True,
    )
