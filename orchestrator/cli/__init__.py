"""The command line: ``onlooker``. Commands load what they need when they run."""

from __future__ import annotations

from onlooker.orchestrator.cli.app import app, main, run

__all__ = ["app", "main", "run"]
