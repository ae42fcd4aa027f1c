"""Settings of the running service; see :func:`load_settings`."""

from __future__ import annotations

from onlooker.orchestrator.settings.model import Settings, load_settings
from onlooker.orchestrator.settings.text import as_json, as_toml, documentation, effective

__all__ = ["Settings", "as_json", "as_toml", "documentation", "effective", "load_settings"]
