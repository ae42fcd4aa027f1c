"""Fakes of everything outside, for tests of applications and plug-ins.

The names are those of ``onlooker.bridges.testing``; ``python -m onlooker.testing.fakevllm`` runs
the fake model server as a process of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onlooker.bridges import testing as _testing
from onlooker.bridges.testing import __all__ as __all__

if TYPE_CHECKING:
    from onlooker.bridges.testing import *  # noqa: F403  # the same names, seen by type checkers


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(_testing, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
