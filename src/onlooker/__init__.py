"""Onlooker: makes a vision-language model present, in front of an unmodified ``vllm serve``.

The front door. Each name is loaded when it is first used (PEP 562), so that importing ``onlooker``
costs nothing: no OpenCV, no HTTP client. Fakes for tests are in ``onlooker.testing``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onlooker.decision import Dialect, dialect
    from onlooker.errors import (
        BridgeError,
        ConfigError,
        OnlookerError,
        ProtocolError,
        RecordingError,
        SessionError,
        SourceError,
    )
    from onlooker.memory import Memory, MemorySettings
    from onlooker.orchestrator.config import CoreConfig
    from onlooker.orchestrator.core import SessionCore
    from onlooker.orchestrator.session import Session
    from onlooker.orchestrator.settings import Settings, load_settings

    __version__: str

__all__ = [
    "BridgeError",
    "ConfigError",
    "CoreConfig",
    "Dialect",
    "Memory",
    "MemorySettings",
    "OnlookerError",
    "ProtocolError",
    "RecordingError",
    "Session",
    "SessionCore",
    "SessionError",
    "Settings",
    "SourceError",
    "__version__",
    "dialect",
    "load_settings",
]

_HOMES = {
    "onlooker.errors": (
        "BridgeError",
        "ConfigError",
        "OnlookerError",
        "ProtocolError",
        "RecordingError",
        "SessionError",
        "SourceError",
    ),
    "onlooker.decision": ("Dialect", "dialect"),
    "onlooker.memory": ("Memory", "MemorySettings"),
    "onlooker.orchestrator.config": ("CoreConfig",),
    "onlooker.orchestrator.core": ("SessionCore",),
    "onlooker.orchestrator.session": ("Session",),
    "onlooker.orchestrator.settings": ("Settings", "load_settings"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("onlooker")
    elif name in _HOME_OF:
        value = getattr(importlib.import_module(_HOME_OF[name]), name)
    else:
        raise AttributeError(f"module 'onlooker' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
