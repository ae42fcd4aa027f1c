"""FakeVLLM, to import, and to run: ``python -m onlooker.testing.fakevllm --port 8000``."""

from __future__ import annotations

import sys

from onlooker.bridges.testing.fakevllm import (
    FakeConfig,
    FakeMessage,
    FakePicture,
    FakeRequest,
    FakeVLLM,
    Fault,
    FaultKind,
    FaultPlan,
    InjectedCut,
    ReplyFunction,
    RunningServer,
    default_reply,
    scripted,
    serve,
)
from onlooker.bridges.testing.fakevllm.cli import main

__all__ = [
    "FakeConfig",
    "FakeMessage",
    "FakePicture",
    "FakeRequest",
    "FakeVLLM",
    "Fault",
    "FaultKind",
    "FaultPlan",
    "InjectedCut",
    "ReplyFunction",
    "RunningServer",
    "default_reply",
    "main",
    "scripted",
    "serve",
]

if __name__ == "__main__":
    sys.exit(main())
