"""What each package says it exports, exists; and the public front door opens lazily."""

from __future__ import annotations

import ast
import importlib
from importlib.metadata import version

import pytest

import onlooker
from tests.support.source_tree import ROOT, is_package_file, modules

pytestmark = pytest.mark.shell

PUBLIC = sorted(
    name.removesuffix(".__init__")
    for name, path in modules().items()
    if path.name == "__init__.py" or not is_package_file(path)
)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_exported_name_exists_once(name: str) -> None:
    module = importlib.import_module(name)
    exported = list(getattr(module, "__all__", ()))
    assert len(exported) == len(set(exported))
    assert not [each for each in exported if not hasattr(module, each)]


def test_the_front_door_lists_what_it_opens() -> None:
    assert set(onlooker.__all__) <= set(dir(onlooker))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = onlooker.no_such_name


@pytest.mark.parametrize("name", [n for n in onlooker.__all__ if not n.startswith("_")])
def test_the_front_door_opens_to_what_type_checkers_see(name: str) -> None:
    source = (ROOT / "src" / "onlooker" / "__init__.py").read_text(encoding="utf-8")
    typed = {
        alias.name: node.module
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("onlooker.")
        for alias in node.names
    }
    home = importlib.import_module(str(typed[name]))
    assert getattr(onlooker, name) is getattr(home, name)


def test_the_version_is_that_of_the_distribution() -> None:
    assert onlooker.__version__ == version("onlooker")
