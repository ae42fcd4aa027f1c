"""The layout: four linked folders, one import name, and what may be imported from where."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import requires
from pathlib import Path

import pytest

from tests.support.source_tree import (
    PACKAGES,
    ROOT,
    contract,
    imported,
    is_package_file,
    modules,
    pure_modules,
    pyproject,
    twins,
)

pytestmark = pytest.mark.shell

HEAVY = ("cv2", "numpy", "httpx", "starlette", "fastapi", "rapidocr", "faster_whisper", "openai")
"""What ``import onlooker`` must not load."""
DISTRIBUTION_OF = {
    "cv2": "opencv-python-headless",
    "PIL": "pillow",
    "pydantic_settings": "pydantic-settings",
}
"""Distribution of each imported module whose name differs."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """sdist, and a wheel made from that sdist, of a clean copy of the tree."""
    copy = tmp_path_factory.mktemp("copy") / "onlooker"
    keep = {*PACKAGES, "src", "pyproject.toml", "README.md", "LICENSE"}
    copy.mkdir()
    for name in keep:
        source, target = ROOT / name, copy / name
        if source.is_dir():
            rubbish = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(source, target, symlinks=True, ignore=rubbish)
        else:
            shutil.copy(source, target)
    command = [sys.executable, "-m", "build", "--no-isolation", str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return copy / "dist"


@pytest.mark.parametrize("package", PACKAGES)
def test_each_root_folder_is_linked_into_the_import_package(package: str) -> None:
    link = ROOT / "src" / "onlooker" / package
    assert link.is_symlink(), f"{link} is a copy: check out with core.symlinks=true"
    assert str(link.readlink()) == f"../../{package}"
    assert (link / "__init__.py").is_file()


def test_the_wheel_holds_one_top_level_package_and_all_of_it(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {n.split("/")[0] for n in names if ".dist-info/" not in n} == {"onlooker"}
    wanted = {"/".join(("onlooker", *_inside(p).parts)) for p in modules().values()}
    assert wanted <= set(names)
    assert "onlooker/py.typed" in names
    assert [n for n in names if n.endswith(".dist-info/licenses/LICENSE")]


def test_the_wheel_carries_the_package_data(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*"):
            if path.is_file() and path.suffix in {".md", ".html", ".css", ".js", ".txt", ".json"}:
                assert f"onlooker/{path.relative_to(ROOT).as_posix()}" in names


def test_the_sdist_holds_real_files_and_no_links(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    assert not [m.name for m in members if m.issym()]
    held = {m.name.split("/", 1)[1] for m in members if "/" in m.name}
    for package in PACKAGES:
        assert f"src/onlooker/{package}/__init__.py" in held


def _inside(path: Path) -> Path:
    """Path of a module inside the ``onlooker`` package."""
    relative = path.relative_to(ROOT)
    return relative.relative_to("src/onlooker") if relative.parts[0] == "src" else relative


def test_importing_onlooker_loads_nothing_heavy() -> None:
    program = f"import onlooker, sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_nothing_imports_a_root_folder_by_its_bare_name() -> None:
    """A bare import would load the same file twice, as two modules with two sets of classes."""
    bare = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for folder in (*PACKAGES, "src", "tests", "bench", "scripts")
        for path in (ROOT / folder).rglob("*.py")
        for line, name in imported(path)
        if name.split(".")[0] in PACKAGES
    ]
    assert not bare


def test_pure_modules_import_nothing_impure() -> None:
    forbidden = set(contract("pure")["forbidden_modules"])
    impure = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in pure_modules().values()
        for line, name in imported(path)
        if name.split(".")[0] in forbidden
    ]
    assert not impure


def test_pure_modules_have_no_coroutines() -> None:
    words = ("async def ", "await ")
    impure = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in pure_modules().values()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if line.strip().startswith(words)
    ]
    assert not impure


def test_every_module_of_the_orchestrator_is_declared_pure_or_shell() -> None:
    """A new module must say which it is: in the import contract, or in the list of shells."""
    shells = tuple(pyproject()["tool"]["onlooker"]["shells"])
    pure = pure_modules()
    undeclared = [
        name
        for name, path in modules().items()
        if name.startswith("onlooker.orchestrator.")
        and not is_package_file(path)
        and name not in pure
        and not any(name == s or name.startswith(s + ".") for s in shells)
    ]
    both = [s for s in shells if s in pure]
    assert not undeclared
    assert not both


def test_every_pure_module_has_a_twin_test() -> None:
    exempt = set(pyproject()["tool"]["onlooker"]["without_twin"])
    lonely = [
        str(path.relative_to(ROOT))
        for name, path in pure_modules().items()
        if not is_package_file(path) and name not in exempt and not twins(path)
    ]
    assert not lonely


def test_every_declared_exemption_still_exists() -> None:
    ours = pyproject()["tool"]["onlooker"]
    known = set(modules()) | {name.rsplit(".", 1)[0] for name in modules()}
    named = [*ours["shells"], *ours["without_twin"], *contract("pure")["source_modules"]]
    assert not [name for name in named if name not in known]


def test_every_third_party_import_is_a_declared_dependency() -> None:
    declared = {_bare(r) for r in requires("onlooker") or ()}
    missing = {
        f"{path.relative_to(ROOT)}: {top}"
        for path in modules().values()
        for _, name in imported(path)
        if (top := name.split(".")[0])
        and top not in sys.stdlib_module_names
        and top not in {"onlooker", *PACKAGES}
        and DISTRIBUTION_OF.get(top, top).lower() not in declared
    }
    assert not missing


def test_every_declared_dependency_is_imported() -> None:
    project = pyproject()["project"]
    declared = {_bare(r) for r in project["dependencies"]}
    used = {
        DISTRIBUTION_OF.get(top, top).lower()
        for path in modules().values()
        for _, name in imported(path)
        if (top := name.split(".")[0])
    }
    assert not declared - used


def _bare(requirement: str) -> str:
    """Name of a requirement without version, extras and markers."""
    for stop in "<>=!~[; ":
        requirement = requirement.split(stop)[0]
    return requirement.strip().lower()
