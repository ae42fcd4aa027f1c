"""Print ``docs/configuration.md``."""

from __future__ import annotations

import sys

from onlooker.orchestrator.settings.text import documentation

sys.stdout.write(documentation())
