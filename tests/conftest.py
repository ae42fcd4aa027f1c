"""What every test gets: categories, virtual time, golden files, a guard, and no quiet skips."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

import pytest
from blockbuster import BlockBuster
from hypothesis import HealthCheck, Phase, settings

from tests.support.categories import CategorisedModule
from tests.support.golden import Golden
from tests.support.virtual_time import VirtualClockLoop

FORBID_SKIPS = os.environ.get("ONLOOKER_FORBID_SKIPS") == "1"
"""A skipped test fails: set where everything a test can need is installed."""
GUARDED = frozenset({"shell", "scenario"})
"""Categories whose coroutines may not block the event loop."""

settings.register_profile("default", deadline=None, max_examples=100)
settings.register_profile(
    "ci",
    deadline=None,
    max_examples=100,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "mutants",  # the first failure kills a mutant; nobody needs it made small
    deadline=None,
    max_examples=25,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if FORBID_SKIPS else "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite tests/golden from what is made now"
    )


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    module: pytest.Module = CategorisedModule.from_parent(parent, path=module_path)
    return module


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave ``gpu`` out, visibly, unless it was asked for: it can never run on this machine."""
    if "gpu" in config.option.markexpr:
        return
    gpu = [item for item in items if item.get_closest_marker("gpu")]
    if gpu:
        items[:] = [item for item in items if item not in gpu]
        config.hook.pytest_deselected(items=gpu)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if FORBID_SKIPS and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipping is forbidden here: {_reason(report)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if FORBID_SKIPS and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipping is forbidden here: {_reason(report)}"
    return report


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    where = report.longrepr
    return str(where[2]) if isinstance(where, tuple) else str(where)


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Tests marked ``virtual_time`` run on the virtual clock, all others on a real loop."""
    if item.get_closest_marker("virtual_time"):
        return {"virtual": VirtualClockLoop}
    return {"real": asyncio.new_event_loop}


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare text with a file in ``tests/golden``: ``golden.check("name.txt", text)``."""
    return Golden(update=request.config.getoption("--update-golden"))


@functools.cache
def _loop_guard() -> BlockBuster:
    return BlockBuster(scanned_modules=["onlooker"])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Make a blocking call inside a coroutine of ours an error, in shell and scenario tests."""
    marks = {mark.name for mark in item.iter_markers()}
    if not GUARDED & marks or "may_block" in marks:
        return (yield)
    _loop_guard().activate()
    try:
        return (yield)
    finally:
        _loop_guard().deactivate()
