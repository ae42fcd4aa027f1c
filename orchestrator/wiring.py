"""From settings to parts: the one place where a setting becomes somebody's configuration.

Every package gets small frozen values it owns; none of them sees the settings library.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from onlooker.bridges.base import ModelBackend, ModelProbe
from onlooker.bridges.registry import Group, build_model, load
from onlooker.bridges.video import CountedSource, open_source
from onlooker.decision import (
    GENERIC,
    Dialect,
    GateConfig,
    dialect,
    guess_dialect,
    system_prompt,
)
from onlooker.errors import BridgeTimeout, ConfigError
from onlooker.memory import MemoryConfig, MemorySettings, resolve
from onlooker.orchestrator.bargein import BargeInConfig, OverlapPolicy
from onlooker.orchestrator.config import CoreConfig
from onlooker.orchestrator.settings import Settings
from onlooker.types import ServerLimits

MAX_FRAMES_PER_TICK: Final = 4
EMBEDDED: Final = "embedded"
OPENAI_COMPAT: Final = "openai_compat"


@dataclass(frozen=True, slots=True)
class Model:
    """A model that answered its probe, with a connection for ticks and one for summaries."""

    ticks: ModelBackend
    summaries: ModelBackend
    probe: ModelProbe
    dialect: Dialect
    """How it spells decisions, with the reply length that was set."""

    async def aclose(self) -> None:
        try:
            await self.ticks.aclose()
        finally:
            await self.summaries.aclose()


def backend_name(settings: Settings) -> str:
    """The backend that was named, or follows from whether there is a server to talk to."""
    named = settings.model.backend
    return named or (OPENAI_COMPAT if settings.model.url else EMBEDDED)


async def open_model(settings: Settings) -> Model:
    """Build the backends and ask the server who it is; the caller closes the result.

    Call it with settings that passed :func:`check_settings`.

    Raises:
        BridgeError: the server cannot be reached, or cannot serve the model.
    """
    # One id for both connections: a router sends them to the same engine.
    routing_id = secrets.token_hex(8)
    ticks = make_backend(settings, settings.model.name, routing_id)
    try:
        probe = await _probe(ticks, settings)
        summaries = make_backend(settings, probe.model, routing_id)
    except BaseException:
        await ticks.aclose()
        raise
    return Model(ticks, summaries, probe, _dialect(settings, probe))


def check_settings(settings: Settings) -> None:
    """Raises ``ConfigError`` for what can be told without asking the server. Reads files."""
    model, decision = settings.model, settings.decision
    spoken = GENERIC if model.dialect is None else dialect(model.dialect)
    system_prompt(spoken, decision.persona, decision.language)
    name = backend_name(settings)
    if name == EMBEDDED and model.url is not None:
        raise ConfigError(
            "the embedded eye has no URL — leave out model.backend to use the server at model.url"
        )
    if name == EMBEDDED and model.name is not None:
        raise ConfigError(
            "a model is named but no server — give --model-url, or leave out --model to let the "
            "embedded eye watch"
        )
    if name == OPENAI_COMPAT and model.url is None:
        raise ConfigError(
            "openai_compat needs a server — give --model-url, such as http://127.0.0.1:8000/v1"
        )
    load(Group.MODELS, name)


def make_backend(settings: Settings, model: str | None, routing_id: str) -> ModelBackend:
    """One backend, with a connection of its own.

    Raises:
        ConfigError: there is no such backend, or it does not take what was set.
    """
    name, chosen = backend_name(settings), settings.model
    options: dict[str, Any] = dict(chosen.options)
    if name in (OPENAI_COMPAT, EMBEDDED):
        options |= {
            "routing_id": routing_id,
            "probe_timeout_s": chosen.probe_timeout_ms / 1000,
            "idle_timeout_s": chosen.idle_timeout_ms / 1000,
        }
    if name == EMBEDDED:
        # It is no language model that reads what it is told: it must know the words beforehand.
        return build_model(name, words=dialect(chosen.dialect or GENERIC.name).text, **options)
    if name == OPENAI_COMPAT:
        options["limits"] = _set_limits(settings)
        options["connect_timeout_s"] = chosen.connect_timeout_ms / 1000
    secret = chosen.api_key
    given = {
        "base_url": chosen.url,
        "model": model,
        "api_key": None if secret is None else secret.get_secret_value(),
    }
    options |= {key: value for key, value in given.items() if value is not None}
    return build_model(name, **options)


def _set_limits(settings: Settings) -> ServerLimits:
    return ServerLimits(
        max_model_len=settings.model.max_model_len_tokens, max_images=settings.model.max_images
    )


async def _probe(backend: ModelBackend, settings: Settings) -> ModelProbe:
    # A backend keeps to this time itself; a plug-in that does not must not hang the start.
    timeout_s = settings.model.probe_timeout_ms / 1000
    try:
        async with asyncio.timeout(timeout_s + 1):
            probe = await backend.probe()
    except TimeoutError as error:
        raise BridgeTimeout(
            f"the model server did not answer within {timeout_s:g} s — check model.url, or raise "
            "model.probe_timeout_ms",
            bridge=backend_name(settings),
        ) from error
    told, ours = probe.limits, _set_limits(settings)
    limits = ServerLimits(
        max_model_len=told.max_model_len or ours.max_model_len,
        max_images=told.max_images or ours.max_images,
    )
    return replace(probe, limits=limits)


def _dialect(settings: Settings, probe: ModelProbe) -> Dialect:
    named = settings.model.dialect
    spoken = dialect(named) if named is not None else guess_dialect(probe.model)
    return with_reply_tokens(spoken, settings.model.max_reply_tokens)


def with_reply_tokens(spoken: Dialect, max_tokens: int | None) -> Dialect:
    """The dialect with another longest reply; None keeps its own."""
    if max_tokens is None:
        return spoken
    return replace(spoken, tick_sampling=replace(spoken.tick_sampling, max_tokens=max_tokens))


def frames_per_tick(settings: Settings) -> int:
    """Pictures in one tick: what was set, or as many as one period brings, at most four."""
    named = settings.video.frames_per_tick
    if named is not None:
        return named
    per_period = round(settings.video.fps * settings.cadence.period_ms / 1000)
    return max(1, min(MAX_FRAMES_PER_TICK, per_period))


def memory_config(settings: Settings, model: Model) -> MemoryConfig:
    """Memory under the server's limits; raises ``ConfigError`` with the reason."""
    values = {field.name: getattr(settings.memory, field.name) for field in fields(MemorySettings)}
    return resolve(
        MemorySettings(**values),
        model.probe.limits,
        model.dialect.text,
        default_frames=model.dialect.default_frames,
        max_reply_tokens=model.dialect.tick_sampling.max_tokens,
    )


def core_config(settings: Settings, model: Model) -> CoreConfig:
    """What a core needs to know; raises ``ConfigError`` when it cannot work. Reads files."""
    decision, cadence, barge_in = settings.decision, settings.cadence, settings.barge_in
    return CoreConfig(
        dialect=model.dialect,
        system=system_prompt(model.dialect, decision.persona, decision.language),
        memory=memory_config(settings, model),
        gates=GateConfig(
            force_silence_until_query=decision.force_silence_until_query,
            response_cooldown_ms=decision.response_cooldown_ms,
            repeat_cooldown_ms=decision.repeat_cooldown_ms,
            delegation_cooldown_ms=decision.delegation_cooldown_ms,
        ),
        barge_in=BargeInConfig(
            overlap=OverlapPolicy(barge_in.overlap),
            min_speech_ms=barge_in.min_speech_ms,
            short_burst_ms=barge_in.short_burst_ms,
            timeout_ms=barge_in.timeout_ms,
            grace_ms=barge_in.grace_ms,
        ),
        language=decision.language,
        period_ms=cadence.period_ms,
        tick_deadline_ms=cadence.tick_deadline_ms,
        summary_deadline_ms=cadence.summary_deadline_ms,
        frames_per_tick=frames_per_tick(settings),
        max_requests=cadence.max_requests,
        has_structured_outputs=model.ticks.capabilities.structured_outputs,
        max_query_chars=decision.max_query_chars,
        queue_while_speaking=decision.queue_while_speaking,
        ring_frames=settings.delegation.ring_frames,
        max_delegations=settings.delegation.max_open,
    )


def video_source(settings: Settings, spec: str, *, loop: bool = False) -> CountedSource:
    """A source for what the operator named; not open yet."""
    video = settings.video
    return open_source(
        spec,
        fps=video.fps,
        max_pixels=video.max_pixels,
        jpeg_quality=video.jpeg_quality,
        loop=loop,
    )
