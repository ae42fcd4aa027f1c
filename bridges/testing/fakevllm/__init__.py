"""FakeVLLM: ``vllm serve`` as far as a client can tell, without a model."""

from __future__ import annotations

from onlooker.bridges.testing.fakevllm.app import FakeVLLM
from onlooker.bridges.testing.fakevllm.completion import InjectedCut
from onlooker.bridges.testing.fakevllm.config import FakeConfig
from onlooker.bridges.testing.fakevllm.faults import Fault, FaultKind, FaultPlan
from onlooker.bridges.testing.fakevllm.messages import FakeMessage, FakePicture
from onlooker.bridges.testing.fakevllm.replies import ReplyFunction, default_reply, scripted
from onlooker.bridges.testing.fakevllm.request import FakeRequest
from onlooker.bridges.testing.fakevllm.server import RunningServer, serve

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
    "scripted",
    "serve",
]
