"""The timeline page of a finished run: one self-contained HTML file.

Feed a :class:`Timeline` while the session runs (it is a notice sink), then give it with the
:class:`RunFacts` to :func:`write_report`. A run that broke off gives a complete page up to that
point.
"""

from __future__ import annotations

from onlooker.orchestrator.report.page import render_report, write_report
from onlooker.orchestrator.report.thumbnails import Thumbnails, shrink
from onlooker.orchestrator.report.timeline import CallTiming, RunFacts, Timeline
from onlooker.orchestrator.report.writing import check_writable

__all__ = [
    "CallTiming",
    "RunFacts",
    "Thumbnails",
    "Timeline",
    "check_writable",
    "render_report",
    "shrink",
    "write_report",
]
