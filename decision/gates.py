"""What is decided before the model is asked: often that it need not be."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from onlooker.errors import ConfigError
from onlooker.types import Ms


@dataclass(frozen=True, slots=True)
class GateConfig:
    """When not to call the model, and what not to repeat."""

    force_silence_until_query: bool = True
    """No call while no instruction is armed; False lets the model speak up unasked."""
    response_cooldown_ms: int = 0
    """No call on the plain cadence for this long after a response ended. Triggers go through."""
    repeat_cooldown_ms: int = 5_000
    """A line heard this recently is not said again, whatever came between; 0 turns it off."""
    delegation_cooldown_ms: int = 120_000
    """A question delegated this recently is not delegated again, unless the user asks anew."""

    def __post_init__(self) -> None:
        for name in ("response_cooldown_ms", "repeat_cooldown_ms", "delegation_cooldown_ms"):
            value = getattr(self, name)
            if value < 0:
                raise ConfigError(f"gates.{name} = {value} is negative; use 0 to turn it off")


@dataclass(frozen=True, slots=True)
class GateView:
    """What the gates look at."""

    now_ms: Ms
    has_instruction: bool
    """An instruction is armed, or one is staged for this tick."""
    has_trigger: bool = False
    """Something besides the cadence wants this tick: a query, a late fact, a forced response."""
    has_picture: bool = True
    """The tick shows at least one picture."""
    response_ended_ms: Ms | None = None
    """When the last response ended; None before the first."""


class GateVerdict(StrEnum):
    """Call the model, or the reason for a silence without a call."""

    CALL = "call"
    NO_QUERY = "no_query"
    NO_PICTURE = "no_picture"
    """The dialect has no text-only form."""
    COOL_DOWN = "cool_down"


def gate(view: GateView, config: GateConfig, *, has_text_only_ticks: bool) -> GateVerdict:
    """Decides whether this tick asks the model."""
    if config.force_silence_until_query and not view.has_instruction:
        return GateVerdict.NO_QUERY
    if not view.has_picture and not has_text_only_ticks:
        return GateVerdict.NO_PICTURE
    if view.has_trigger or view.response_ended_ms is None:
        return GateVerdict.CALL
    if view.now_ms - view.response_ended_ms < config.response_cooldown_ms:
        return GateVerdict.COOL_DOWN
    return GateVerdict.CALL
