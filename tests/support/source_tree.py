"""What the source tree is made of: packages, modules, which of them are pure, and their twins."""

from __future__ import annotations

import ast
import importlib.util
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("orchestrator", "memory", "decision", "bridges")
"""Root folders that are linked into ``src/onlooker``."""


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def script(name: str) -> ModuleType:
    """The module ``scripts/<name>.py``, loaded by its path."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def contract(name: str) -> dict[str, Any]:
    """The import contract of that name in ``pyproject.toml``."""
    for each in pyproject()["tool"]["importlinter"]["contracts"]:
        if each["name"] == name:
            return dict(each)
    raise AssertionError(f"no import contract is named {name!r}")


def modules() -> dict[str, Path]:
    """Every module of Onlooker by its import name."""
    found = {f"onlooker.{p.stem}": p for p in (ROOT / "src" / "onlooker").glob("*.py")}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(("onlooker", *parts))] = path
    return found


def is_package_file(path: Path) -> bool:
    return path.name in {"__init__.py", "__main__.py"}


def pure_modules() -> dict[str, Path]:
    """Modules under the purity contract (which names packages and single modules)."""
    covered = tuple(contract("pure")["source_modules"])
    return {
        name: path
        for name, path in modules().items()
        if any(name == c or name.startswith(c + ".") for c in covered)
    }


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and absolute name of everything a file imports, function-local imports included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""


def twins(path: Path) -> tuple[Path, ...]:
    """The tests of a module: ``tests/a/b/test_m.py`` or ``tests/a/test_b_m.py``, and variants."""
    relative = path.relative_to(ROOT)
    if relative.parts[0] == "src":
        relative = relative.relative_to("src/onlooker")
    places = [ROOT / "tests" / relative.with_name(f"test_{path.stem}")]
    if len(relative.parts) > 2:
        flat = "_".join(("test", *relative.parts[1:-1], path.stem))
        places.append(ROOT / "tests" / relative.parts[0] / flat)
    found = [[*p.parent.glob(f"{p.name}.py"), *p.parent.glob(f"{p.name}_*.py")] for p in places]
    return tuple(sorted(each for group in found for each in group))
