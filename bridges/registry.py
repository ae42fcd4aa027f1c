"""Implementations of bridges, found by name: our own, and those that plug-ins register.

A plug-in declares a factory under the entry-point group of its kind. The factory is called with
keyword arguments only, and what it returns must keep the protocol in ``base`` (run our contract
suites on it). Names of our own cannot be taken over.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from enum import StrEnum
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from onlooker.bridges.base import Delegate, ModelBackend, Recogniser, Synthesiser, VideoSource
from onlooker.errors import ConfigError


class Group(StrEnum):
    """Entry-point groups, one per kind of bridge."""

    MODELS = "onlooker.models"
    RECOGNISERS = "onlooker.recognisers"
    SYNTHESISERS = "onlooker.synthesisers"
    DELEGATES = "onlooker.delegates"
    SOURCES = "onlooker.sources"

    @property
    def kind(self) -> str:
        """What one of them is called: ``model`` …"""
        return self.value.removeprefix("onlooker.").removesuffix("s")


BUILT_IN: Final[dict[Group, dict[str, str]]] = {
    Group.MODELS: {
        "openai_compat": "onlooker.bridges.model.openai_compat:build",
        "embedded": "onlooker.bridges.model.embedded:build",
    },
    Group.RECOGNISERS: {},
    Group.SYNTHESISERS: {},
    Group.DELEGATES: {},
    Group.SOURCES: {"video": "onlooker.bridges.video:open_source"},
}
"""Ours, by ``module:attribute``: found also where no metadata is installed."""


def names(group: Group) -> tuple[str, ...]:
    """Every name that :func:`load` knows, ours first."""
    ours = BUILT_IN[group]
    others = {point.name for point in entry_points(group=group)} - set(ours)
    return (*ours, *sorted(others))


def load(group: Group, name: str) -> Callable[..., Any]:
    """The factory registered under ``name``.

    Raises:
        ConfigError: nobody registered it, several did, or it cannot be imported.
    """
    if name in BUILT_IN[group]:
        module, _, attribute = BUILT_IN[group][name].partition(":")
        point = EntryPoint(name, f"{module}:{attribute}", group)
    else:
        point = _plugged_in(group, name)
    try:
        factory = getattr(importlib.import_module(point.module), point.attr)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"the {group.kind} {name!r} cannot be loaded ({_reason(error)}) — install what it "
            "needs, or choose another",
            code="bridge_not_loadable",
        ) from error
    if not callable(factory):
        raise ConfigError(f"the {group.kind} {name!r} registers {point.value}, which is no factory")
    found: Callable[..., Any] = factory
    return found


def build(group: Group, name: str, **options: Any) -> Any:
    """What the factory under ``name`` makes of ``options``; see the typed forms below.

    Raises:
        ConfigError: no such name, or an option the factory does not take.
    """
    factory = load(group, name)
    try:
        inspect.signature(factory).bind(**options)
    except TypeError as error:
        raise ConfigError(
            f"the {group.kind} {name!r} cannot be built with these options: {error}"
        ) from error
    return factory(**options)


def build_model(name: str, **options: Any) -> ModelBackend:
    backend: ModelBackend = build(Group.MODELS, name, **options)
    return backend


def build_recogniser(name: str, **options: Any) -> Recogniser:
    recogniser: Recogniser = build(Group.RECOGNISERS, name, **options)
    return recogniser


def build_synthesiser(name: str, **options: Any) -> Synthesiser:
    synthesiser: Synthesiser = build(Group.SYNTHESISERS, name, **options)
    return synthesiser


def build_delegate(name: str, **options: Any) -> Delegate:
    delegate: Delegate = build(Group.DELEGATES, name, **options)
    return delegate


def build_source(name: str, **options: Any) -> VideoSource:
    source: VideoSource = build(Group.SOURCES, name, **options)
    return source


def _plugged_in(group: Group, name: str) -> EntryPoint:
    found = list(entry_points(group=group, name=name))
    targets = {point.value for point in found}
    if len(targets) > 1:
        owners = sorted(point.dist.name if point.dist is not None else "?" for point in found)
        raise ConfigError(
            f"the {group.kind} {name!r} is registered by several packages ({', '.join(owners)}) — "
            "uninstall all but one"
        )
    if not found:
        known = ", ".join(names(group)) or "none is installed"
        raise ConfigError(f"no {group.kind} is named {name!r} — choose one of: {known}")
    return found[0]


def _reason(error: Exception) -> str:
    name = getattr(error, "name", None)
    return f"{name} is missing" if isinstance(name, str) else type(error).__name__
