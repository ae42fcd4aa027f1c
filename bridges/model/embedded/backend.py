"""The embedded eye as a model backend: the ordinary bridge over an in-process transport."""

from __future__ import annotations

from functools import lru_cache

from onlooker.bridges.base import ModelBackend, ModelCapabilities
from onlooker.bridges.model.embedded.app import create_app
from onlooker.bridges.model.embedded.request import MODEL_NAME, Limits
from onlooker.bridges.model.embedded.sight import Sight
from onlooker.bridges.model.embedded.sight.objects import DEFAULT_THRESHOLD
from onlooker.bridges.model.inprocess import InProcessTransport
from onlooker.bridges.model.openai_compat import OpenAICompat
from onlooker.errors import ConfigError
from onlooker.types import DialectText, ServerLimits

CAPABILITIES = ModelCapabilities(
    streaming=True, images=True, structured_outputs=True, references=True, stand_in=True
)


@lru_cache(maxsize=4)
def _shared_sight(threshold: float) -> Sight:
    """One for the process: what it remembers is keyed by content, and a session's summaries (on a
    connection of their own) need what its ticks saw."""
    return Sight.installed(threshold)


def build(
    *,
    words: DialectText,
    threshold: float = DEFAULT_THRESHOLD,
    routing_id: str | None = None,
    probe_timeout_s: float = 10.0,
    idle_timeout_s: float = 30.0,
) -> ModelBackend:
    """The factory behind the name ``embedded``: a stand-in, no language model. Close it after use.

    Args:
        words: of the dialect that prompts are written in and replies are expected in.
        threshold: score from which a thing counts as seen, above 0 and up to 1.
        routing_id: stable name of the session; nothing depends on it here.
        probe_timeout_s: longest wait in ``probe``.
        idle_timeout_s: longest silence between two pieces of an answer.

    Raises:
        ConfigError: the threshold is out of range.
    """
    if not 0 < threshold <= 1:
        raise ConfigError("the eye's threshold must be above 0 and at most 1")
    limits = Limits()
    return OpenAICompat(
        "http://embedded.eye/v1",
        model=MODEL_NAME,
        limits=ServerLimits(limits.max_model_len, limits.max_images),
        transport=InProcessTransport(
            create_app(words, sight=_shared_sight(threshold), limits=limits)
        ),
        capabilities=CAPABILITIES,
        routing_id=routing_id,
        probe_timeout_s=probe_timeout_s,
        idle_timeout_s=idle_timeout_s,
    )
