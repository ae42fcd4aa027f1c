"""Golden files of this folder can also be rewritten with ``GOLDEN_UPDATE=1`` in the environment."""

from __future__ import annotations

import os

import pytest

from tests.support.golden import Golden


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    asked = request.config.getoption("--update-golden") or os.environ.get("GOLDEN_UPDATE") == "1"
    return Golden(update=bool(asked))
