"""What a recording's header says about its core, and the core built again from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from onlooker.decision import GateConfig, dialect
from onlooker.errors import ConfigError, RecordingError
from onlooker.memory import MemoryConfig
from onlooker.orchestrator.bargein import BargeInConfig, OverlapPolicy, SignalSource
from onlooker.orchestrator.config import CoreConfig
from onlooker.orchestrator.core import SessionCore


def header(config: CoreConfig) -> dict[str, Any]:
    """The configuration as plain data. A dialect goes by its name: its words are code."""
    values = asdict(config)
    values["dialect"] = {
        "name": config.dialect.name,
        "max_tokens": config.dialect.tick_sampling.max_tokens,
    }
    values["barge_in"]["trusted"] = sorted(config.barge_in.trusted)
    return values


def core_from(values: Mapping[str, Any]) -> SessionCore:
    """A fresh core as the header describes it.

    Raises:
        RecordingError: the header is of a version with other settings.
    """
    try:
        spoken = dialect(values["dialect"]["name"])
        sampling = replace(spoken.tick_sampling, max_tokens=values["dialect"]["max_tokens"])
        barge_in = dict(values["barge_in"])
        barge_in["trusted"] = frozenset(map(SignalSource, barge_in["trusted"]))
        barge_in["overlap"] = OverlapPolicy(barge_in["overlap"])
        nested: dict[str, Any] = {
            "dialect": replace(spoken, tick_sampling=sampling),
            "memory": MemoryConfig(**values["memory"]),
            "gates": GateConfig(**values["gates"]),
            "barge_in": BargeInConfig(**barge_in),
        }
        return SessionCore(CoreConfig(**{**values, **nested}))
    except (KeyError, TypeError, ValueError, ConfigError) as error:
        raise RecordingError(
            "the recording's settings are not those of this version — replay it with the version "
            "that made it"
        ) from error
