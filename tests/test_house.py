"""The rules the test suite lives by, checked on small suites in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.golden import Golden
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.shell


def run_suite(folder: Path, source: str, **environment: str) -> str:
    """Run one test module under our conftest and return what pytest printed."""
    module = folder / "test_sample.py"
    module.write_text(f"import pytest\n{source}", encoding="utf-8")
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ONLOOKER", "PYTEST"))}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider"),
            *("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), str(module)),
        ],
        cwd=ROOT,
        env={**inherited, **environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout + done.stderr


def test_a_module_without_a_category_is_a_collection_error(tmp_path: Path) -> None:
    out = run_suite(tmp_path, "def test_it(): pass\n")
    assert "test_sample.py: set pytestmark" in out
    assert "1 error" in out


def test_a_skip_is_reported_with_its_reason_and_fails_where_forbidden(tmp_path: Path) -> None:
    source = (
        "pytestmark = pytest.mark.pure\n"
        "def test_it(): pytest.skip('no camera here')\n"
        "@pytest.mark.xfail(strict=True)\ndef test_known(): assert False\n"
    )
    allowed = run_suite(tmp_path, source)
    assert "1 skipped, 1 xfailed" in allowed
    assert "no camera here" in allowed
    forbidden = run_suite(tmp_path, source, ONLOOKER_FORBID_SKIPS="1")
    assert "1 failed, 1 xfailed" in forbidden
    assert "skipping is forbidden here: Skipped: no camera here" in forbidden


def test_a_module_level_skip_fails_where_forbidden(tmp_path: Path) -> None:
    source = "pytest.importorskip('no_such_module')\npytestmark = pytest.mark.pure\n"
    assert "1 skipped" in run_suite(tmp_path, source)
    assert "1 error" in run_suite(tmp_path, source, ONLOOKER_FORBID_SKIPS="1")


def test_gpu_tests_are_deselected_in_the_open_and_never_skipped(tmp_path: Path) -> None:
    source = (
        "pytestmark = pytest.mark.pure\ndef test_it(): pass\n"
        "@pytest.mark.gpu\ndef test_big(): assert False\n"
    )
    assert "1 passed, 1 deselected" in run_suite(tmp_path, source, ONLOOKER_FORBID_SKIPS="1")


def test_a_blocking_call_of_ours_in_a_coroutine_fails_a_shell_test(tmp_path: Path) -> None:
    # The guard looks for frames of Onlooker on the stack, so the call borrows one of its files.
    source = (
        "import time\nimport onlooker.errors as ours\npytestmark = pytest.mark.shell\n"
        "nap = compile('time.sleep(0.001)', ours.__file__, 'exec')\n"
        "async def test_it(): exec(nap, {'time': time})\n"
        "@pytest.mark.may_block\nasync def test_allowed(): exec(nap, {'time': time})\n"
    )
    out = run_suite(tmp_path, source)
    assert "Blocking call to time.sleep" in out
    assert "1 failed, 1 passed" in out


def test_a_golden_file_is_compared_and_rewritten_only_on_demand(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="is missing"):
        Golden(update=False, root=tmp_path).check("head.txt", "one")
    Golden(update=True, root=tmp_path).check("head.txt", "one")
    Golden(update=False, root=tmp_path).check("head.txt", "one\n")
    with pytest.raises(AssertionError, match=r"-one\n\+two"):
        Golden(update=False, root=tmp_path).check("head.txt", "two")
