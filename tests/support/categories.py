"""The categories of tests, and the collector that insists on one for every module."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

CATEGORIES = frozenset(
    {"pure", "shell", "contract", "service", "scenario", "vllm", "browser", "perf", "gpu"}
)


class CategorisedModule(pytest.Module):
    """A test module which is an error when its ``pytestmark`` names no category."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        found = list(super().collect())
        if not CATEGORIES & {mark.name for mark in self.iter_markers()}:
            raise self.CollectError(
                f"{self.path.name}: set pytestmark = pytest.mark.<{'|'.join(sorted(CATEGORIES))}>"
            )
        return found
