"""Mutation testing of the pure heart, by hand: ``make mutants``. Prints the score at the end.

The settings are ``[tool.mutmut]`` of ``pyproject.toml``. Results are kept in ``mutants/``, so a
second run repeats only what changed; arguments (names of mutants, with ``*``) are passed on.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STATS = ROOT / "mutants" / "mutmut-cicd-stats.json"
WORKERS = 2


def score(stats: Mapping[str, int]) -> str:
    """One line: killed of those that count. A time-out kills; a mutant no test reaches survives."""
    killed = stats["killed"] + stats["timeout"]
    alive = stats["survived"] + stats["no_tests"]
    total = killed + alive
    share = 100 * killed / total if total else 0.0
    return (
        f"mutation score {share:.1f} %: {killed} of {total} killed "
        f"({stats['timeout']} by time-out), {stats['survived']} survived, "
        f"{stats['no_tests']} not reached by any test"
    )


def main() -> int:
    """Run mutmut; its exit status when it could not finish."""
    mutmut = [sys.executable, "-m", "mutmut"]
    run = [*mutmut, "run", "--max-children", str(WORKERS), *sys.argv[1:]]
    environment = {**os.environ, "HYPOTHESIS_PROFILE": "mutants"}
    status = subprocess.run(run, cwd=ROOT, env=environment, check=False).returncode
    if status:
        return status
    subprocess.run([*mutmut, "export-cicd-stats"], cwd=ROOT, check=True)
    print(score(json.loads(STATS.read_text(encoding="utf-8"))))
    print("survivors: mutmut results; one of them: mutmut show NAME")
    return 0


if __name__ == "__main__":
    sys.exit(main())
