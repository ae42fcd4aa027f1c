"""The commands of one step, in order."""

from __future__ import annotations

import pytest

from onlooker.orchestrator.commands import Close, Emit
from onlooker.orchestrator.notices import SessionEnded
from onlooker.orchestrator.outputs import Outputs
from onlooker.types import Ms

pytestmark = pytest.mark.pure


def test_commands_come_out_in_order_and_once() -> None:
    out = Outputs()
    out.emit(SessionEnded(Ms(1), "bye"))
    out.add(Close("bye"))
    assert out.drain() == [Emit(SessionEnded(Ms(1), "bye")), Close("bye")]
    assert out.drain() == []
