"""Which failures are tried once more, and how."""

from __future__ import annotations

import pytest

from onlooker.orchestrator.recovery import Recovery, recovery_for

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("code", "recovery"),
    [
        ("context_exceeded", Recovery.COMPACT),
        ("too_many_images", Recovery.COMPACT),
        ("bad_image", Recovery.DROP_FRAMES),
        ("cache_miss", Recovery.RECONNECT),
        ("server_error", Recovery.RECONNECT),
        ("stream_cut", Recovery.RECONNECT),
        ("unauthorized", Recovery.FAIL),
        ("model_not_found", Recovery.FAIL),
        ("bridge_timeout", Recovery.FAIL),
        ("something new", Recovery.FAIL),
    ],
)
def test_one_recovery_per_reason_and_no_more_than_the_tick_has_requests(
    code: str, recovery: Recovery
) -> None:
    assert recovery_for(code, tried=frozenset(), requests=1, max_requests=4) is recovery
    assert recovery_for(code, tried=frozenset({code}), requests=1, max_requests=4) is Recovery.FAIL
    assert recovery_for(code, tried=frozenset(), requests=4, max_requests=4) is Recovery.FAIL
