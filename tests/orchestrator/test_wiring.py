"""Settings become everybody's own configuration, and what cannot work is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from onlooker.bridges.base import (
    Finished,
    FrameBytes,
    ModelCapabilities,
    ModelItem,
    ModelProbe,
    ModelRequest,
)
from onlooker.decision import GENERIC, JOYVL
from onlooker.errors import BridgeTimeout, BridgeUnavailable, ConfigError, SourceError
from onlooker.orchestrator import wiring
from onlooker.orchestrator.bargein import OverlapPolicy
from onlooker.orchestrator.settings import Settings, load_settings
from onlooker.orchestrator.wiring import Model
from onlooker.types import ServerLimits

pytestmark = pytest.mark.shell


class Plain:
    """A backend that only answers its probe."""

    def __init__(
        self,
        *,
        model: str = "Qwen3-VL-8B",
        limits: ServerLimits | None = None,
        fails: Exception | None = None,
        hangs: bool = False,
    ) -> None:
        self._probe = ModelProbe(model, limits or ServerLimits(32_768, 64))
        self._fails = fails
        self._hangs = hangs
        self.capabilities = ModelCapabilities(structured_outputs=True)
        self.is_closed = False

    async def probe(self) -> ModelProbe:
        if self._hangs:
            await asyncio.Event().wait()
        if self._fails is not None:
            raise self._fails
        return self._probe

    async def stream(
        self, request: ModelRequest, frames: FrameBytes
    ) -> AsyncGenerator[ModelItem, None]:
        yield Finished("stop", None)

    async def aclose(self) -> None:
        self.is_closed = True


class Factory:
    """Stands in for the registry: hands out backends and keeps what it was asked for."""

    def __init__(self, *backends: Plain | Exception) -> None:
        self._backends = list(backends)
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, name: str, **options: Any) -> Plain:
        self.asked.append((name, options))
        made = self._backends.pop(0)
        if isinstance(made, Exception):
            raise made
        return made


@pytest.fixture(autouse=True)
def clean_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    import os

    for name in list(os.environ):
        if name.upper().startswith("ONLOOKER_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def settings(**sections: dict[str, Any]) -> Settings:
    return load_settings(sections)


def model(named: Settings, limits: ServerLimits | None = None) -> Model:
    backend = Plain(limits=limits)
    spoken = wiring.with_reply_tokens(GENERIC, named.model.max_reply_tokens)
    probe = ModelProbe("Qwen3-VL-8B", limits or ServerLimits(32_768, 64))
    return Model(backend, Plain(), probe, spoken)


async def opened_with(**sections: dict[str, Any]) -> Model:
    return await wiring.open_model(await asyncio.to_thread(load_settings, sections))


# -- the model


def test_the_backend_follows_from_the_url_unless_it_is_named() -> None:
    assert wiring.backend_name(settings()) == "embedded"
    assert wiring.backend_name(settings(model={"url": "http://x"})) == "openai_compat"
    assert wiring.backend_name(settings(model={"backend": "mine"})) == "mine"


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"model": {"name": "m"}}, "a model is named but no server"),
        ({"model": {"backend": "embedded", "url": "http://x"}}, "the embedded eye has no URL"),
        ({"model": {"backend": "openai_compat"}}, "needs a server"),
        ({"model": {"backend": "nobody"}}, "nobody"),
        ({"model": {"dialect": "klingon"}}, "klingon"),
        ({"decision": {"persona": "pirate"}}, "pirate"),
    ],
)
def test_what_cannot_go_together_is_refused_without_asking_anybody(
    sections: dict[str, dict[str, Any]], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        wiring.check_settings(settings(**sections))


def test_the_defaults_can_go_together() -> None:
    wiring.check_settings(settings())


async def test_a_server_is_asked_once_and_its_name_goes_to_the_summaries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    factory = Factory(Plain(model="JoyAI-VL-Interaction"), Plain())
    monkeypatch.setattr(wiring, "build_model", factory)
    chosen = {"url": "http://host:1/v1", "api_key": "hush", "idle_timeout_ms": 7_000}
    opened = await opened_with(model=chosen)
    (name, ticks), (_, summaries) = factory.asked
    assert name == "openai_compat"
    assert ticks["base_url"] == "http://host:1/v1"
    assert ticks["api_key"] == "hush"
    assert ticks["idle_timeout_s"] == 7.0
    assert "model" not in ticks
    assert summaries["model"] == "JoyAI-VL-Interaction"
    assert ticks["routing_id"] == summaries["routing_id"]
    assert opened.dialect == JOYVL
    await opened.aclose()


async def test_a_named_dialect_wins_over_the_models_name_and_takes_the_reply_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wiring, "build_model", Factory(Plain(model="JoyAI-VL"), Plain()))
    chosen = {"url": "http://x", "dialect": "generic", "max_reply_tokens": 64}
    opened = await opened_with(model=chosen)
    assert opened.dialect.name == "generic"
    assert opened.dialect.tick_sampling.max_tokens == 64


async def test_the_embedded_eye_gets_the_words_of_the_dialect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    factory = Factory(Plain(), Plain(), Plain(), Plain())
    monkeypatch.setattr(wiring, "build_model", factory)
    await opened_with()
    await opened_with(model={"dialect": "joyvl"})
    assert [options["words"] for _, options in factory.asked[::2]] == [GENERIC.text, JOYVL.text]
    assert not {"base_url", "api_key", "model"} & set(factory.asked[0][1])


async def test_a_plug_in_gets_what_was_set_and_its_own_options(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    factory = Factory(Plain(), Plain())
    monkeypatch.setattr(wiring, "build_model", factory)
    await opened_with(model={"backend": "mine", "options": {"depth": 3}})
    assert factory.asked[0] == ("mine", {"depth": 3})
    assert factory.asked[1] == ("mine", {"depth": 3, "model": "Qwen3-VL-8B"})


async def test_limits_that_the_server_does_not_tell_are_those_that_were_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = Plain(limits=ServerLimits(8_192, None))
    monkeypatch.setattr(wiring, "build_model", Factory(told, Plain()))
    chosen = {"url": "http://x", "max_model_len_tokens": 4_096, "max_images": 12}
    opened = await opened_with(model=chosen)
    assert opened.probe.limits == ServerLimits(8_192, 12)


@pytest.mark.parametrize("second", [ConfigError("no"), None])
async def test_what_was_opened_is_closed_when_the_rest_cannot_be(
    monkeypatch: pytest.MonkeyPatch, second: Exception | None
) -> None:
    first = Plain(fails=None if second else BridgeUnavailable("gone", bridge="model"))
    monkeypatch.setattr(wiring, "build_model", Factory(first, second or Plain()))
    with pytest.raises((ConfigError, BridgeUnavailable)):
        await opened_with(model={"url": "http://x"})
    assert first.is_closed


@pytest.mark.virtual_time
async def test_a_backend_that_never_answers_its_probe_does_not_hang_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wiring, "build_model", Factory(Plain(hangs=True)))
    with pytest.raises(BridgeTimeout, match=r"within 2 s — check model\.url"):
        await opened_with(model={"backend": "mine", "probe_timeout_ms": 2_000})


async def test_closing_a_model_closes_both_connections() -> None:
    opened = model(await asyncio.to_thread(settings))
    await opened.aclose()
    assert isinstance(opened.ticks, Plain)
    assert isinstance(opened.summaries, Plain)
    assert opened.ticks.is_closed
    assert opened.summaries.is_closed


# -- the core


@pytest.mark.parametrize(
    ("fps", "period_ms", "named", "expected"),
    [
        (1.0, 1_000, None, 1),
        (4.0, 1_000, None, 4),
        (25.0, 1_000, None, 4),
        (4.0, 500, None, 2),
        (0.2, 1_000, None, 1),
        (4.0, 1_000, 1, 1),
    ],
)
def test_a_tick_shows_as_many_pictures_as_its_period_brings_at_most_four(
    fps: float, period_ms: int, named: int | None, expected: int
) -> None:
    chosen = settings(
        video={"fps": fps, "frames_per_tick": named}, cadence={"period_ms": period_ms}
    )
    assert wiring.frames_per_tick(chosen) == expected


def test_every_setting_of_the_core_arrives() -> None:
    chosen = settings(
        decision={
            "persona": "silent",
            "language": "de",
            "force_silence_until_query": False,
            "response_cooldown_ms": 1,
            "repeat_cooldown_ms": 2,
            "delegation_cooldown_ms": 3,
            "queue_while_speaking": True,
            "max_query_chars": 99,
        },
        cadence={
            "period_ms": 400,
            "tick_deadline_ms": 500,
            "summary_deadline_ms": 600,
            "max_requests": 2,
        },
        barge_in={
            "overlap": "listen_only",
            "min_speech_ms": 7,
            "short_burst_ms": 6,
            "timeout_ms": 800,
            "grace_ms": 5,
        },
        video={"frames_per_tick": 3},
        delegation={"ring_frames": 4, "max_open": 5},
        memory={"chunk_frames": 12, "lead": 1, "fixed_lead": True},
    )
    core = wiring.core_config(chosen, model(chosen))
    assert "German" in core.system
    assert core.language == "de"
    assert core.gates.force_silence_until_query is False
    gates = core.gates
    assert (gates.response_cooldown_ms, gates.repeat_cooldown_ms) == (1, 2)
    assert gates.delegation_cooldown_ms == 3
    assert (core.queue_while_speaking, core.max_query_chars) == (True, 99)
    assert (core.period_ms, core.tick_deadline_ms, core.summary_deadline_ms) == (400, 500, 600)
    assert (core.max_requests, core.frames_per_tick) == (2, 3)
    barge_in = core.barge_in
    assert barge_in.overlap is OverlapPolicy.LISTEN_ONLY
    assert (barge_in.min_speech_ms, barge_in.short_burst_ms) == (7, 6)
    assert (barge_in.timeout_ms, barge_in.grace_ms) == (800, 5)
    assert (core.ring_frames, core.max_delegations) == (4, 5)
    assert (core.memory.chunk_frames, core.memory.lead, core.memory.max_lead) == (12, 1, 1)
    assert core.has_structured_outputs


def test_memory_that_the_server_cannot_hold_is_refused_with_the_reason() -> None:
    chosen = settings(memory={"chunk_frames": 100})
    with pytest.raises(ConfigError, match="lower chunk_frames"):
        wiring.core_config(chosen, model(chosen, ServerLimits(32_768, 20)))


def test_a_source_nobody_knows_is_refused() -> None:
    with pytest.raises(SourceError):
        wiring.video_source(settings(), "gopher://x")
