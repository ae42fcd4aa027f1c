from __future__ import annotations

import pytest

from onlooker.decision import GateConfig, GateVerdict, GateView, gate
from onlooker.errors import ConfigError
from onlooker.types import Ms

pytestmark = pytest.mark.pure


def verdict(config: GateConfig | None = None, *, text_only: bool = True, **view) -> GateVerdict:
    seen = GateView(**{"now_ms": Ms(10_000), "has_instruction": True, **view})
    return gate(seen, config or GateConfig(), has_text_only_ticks=text_only)


def test_silence_is_forced_until_something_is_asked():
    assert verdict(has_instruction=False) is GateVerdict.NO_QUERY
    assert verdict() is GateVerdict.CALL
    free = GateConfig(force_silence_until_query=False)
    assert verdict(free, has_instruction=False) is GateVerdict.CALL


def test_c20_a_dialect_without_text_only_form_skips_ticks_without_a_picture():
    assert verdict(text_only=False, has_picture=False) is GateVerdict.NO_PICTURE
    assert verdict(text_only=False, has_picture=False, has_trigger=True) is GateVerdict.NO_PICTURE
    assert verdict(text_only=True, has_picture=False) is GateVerdict.CALL


def test_after_a_response_the_plain_cadence_cools_down():
    config = GateConfig(response_cooldown_ms=2_000)
    assert verdict(config) is GateVerdict.CALL
    assert verdict(config, response_ended_ms=Ms(8_001)) is GateVerdict.COOL_DOWN
    assert verdict(config, response_ended_ms=Ms(8_000)) is GateVerdict.CALL


def test_c13_a_trigger_goes_through_the_cool_down():
    config = GateConfig(response_cooldown_ms=2_000)
    assert verdict(config, response_ended_ms=Ms(9_999), has_trigger=True) is GateVerdict.CALL


@pytest.mark.parametrize(
    "name", ["response_cooldown_ms", "repeat_cooldown_ms", "delegation_cooldown_ms"]
)
def test_a_negative_time_is_refused_with_the_reason(name):
    with pytest.raises(ConfigError, match=f"gates.{name} = -1 is negative"):
        GateConfig(True, **{name: -1})
