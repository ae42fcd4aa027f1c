"""Golden files: readable text under ``tests/golden``, rewritten only by ``--update-golden``."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

GOLDEN_ROOT = Path(__file__).resolve().parents[1] / "golden"


@dataclass(frozen=True, slots=True)
class Golden:
    """Compares text with the file of that name."""

    update: bool
    root: Path = GOLDEN_ROOT

    def check(self, name: str, text: str) -> None:
        """Fail with a diff when ``text`` is not what ``name`` holds (or write it, on update)."""
        path = self.root / name
        if not text.endswith("\n"):
            text += "\n"
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        if not path.exists():
            raise AssertionError(f"{path} is missing: run `make golden` and read what it wrote")
        wanted = path.read_text(encoding="utf-8")
        if wanted != text:
            raise AssertionError(_difference(name, wanted, text))


def _difference(name: str, wanted: str, got: str) -> str:
    lines = difflib.unified_diff(
        wanted.splitlines(), got.splitlines(), f"golden/{name}", "now", lineterm="", n=2
    )
    return "\n".join(["golden file differs (`make golden` if this is meant):", *list(lines)[:80]])
