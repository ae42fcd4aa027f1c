"""What a standing query asks of the eye, in plain, limited English."""

from __future__ import annotations

from onlooker.bridges.model.embedded.language.intents import Intent
from onlooker.bridges.model.embedded.language.understand import understand

__all__ = ["Intent", "understand"]
