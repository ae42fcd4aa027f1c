"""What a core is built from: its defaults are those of the design."""

from __future__ import annotations

import pytest

from tests.support.core_world import core_config

pytestmark = pytest.mark.pure


def test_defaults() -> None:
    config = core_config()
    assert config.period_ms == 1_000
    assert config.max_requests == 4
    assert config.barge_in.grace_ms == 500
    assert not config.queue_while_speaking
    assert not config.has_voice
    assert not config.has_delegate
