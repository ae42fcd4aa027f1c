"""Public fakes of every bridge, to test against; also importable as ``onlooker.testing``.

The scripted ones are strict: they answer what their script says and fail on a call too many.
:class:`FakeVLLM` is loaded when it is first named, since it brings a web server along.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from onlooker.bridges.testing.delegate import ScriptedDelegate, Solved
from onlooker.bridges.testing.model import Reply, ScriptedModel, SeenRequest
from onlooker.bridges.testing.script import Script, UnexpectedCall
from onlooker.bridges.testing.source import ScriptedSource
from onlooker.bridges.testing.voice import Heard, ScriptedRecogniser, ScriptedSynthesiser, Spoken

if TYPE_CHECKING:
    from onlooker.bridges.testing.fakevllm import (
        FakeConfig,
        FakeRequest,
        FakeVLLM,
        Fault,
        FaultKind,
        default_reply,
        scripted,
        serve,
    )

_OF_FAKEVLLM = frozenset(
    {
        "FakeConfig",
        "FakeRequest",
        "FakeVLLM",
        "Fault",
        "FaultKind",
        "default_reply",
        "scripted",
        "serve",
    }
)

__all__ = [
    "FakeConfig",
    "FakeRequest",
    "FakeVLLM",
    "Fault",
    "FaultKind",
    "Heard",
    "Reply",
    "Script",
    "ScriptedDelegate",
    "ScriptedModel",
    "ScriptedRecogniser",
    "ScriptedSource",
    "ScriptedSynthesiser",
    "SeenRequest",
    "Solved",
    "Spoken",
    "UnexpectedCall",
    "default_reply",
    "scripted",
    "serve",
]


def __getattr__(name: str) -> Any:
    if name in _OF_FAKEVLLM:
        return getattr(importlib.import_module("onlooker.bridges.testing.fakevllm"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
