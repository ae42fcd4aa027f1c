"""Bridges by name: ours, and those of plug-ins that are installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from onlooker.bridges import registry
from onlooker.bridges.model.openai_compat import OpenAICompat
from onlooker.bridges.registry import (
    BUILT_IN,
    Group,
    build_delegate,
    build_model,
    build_recogniser,
    build_source,
    build_synthesiser,
    load,
    names,
)
from onlooker.errors import ConfigError
from onlooker.testing import ScriptedDelegate, ScriptedRecogniser, ScriptedSynthesiser
from tests.support.source_tree import pyproject

pytestmark = pytest.mark.shell


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path, into which :func:`install` puts distributions."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def install(folder: Path, distribution: str, points: str) -> None:
    info = folder / f"{distribution}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)


def test_ours_are_found_without_installed_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda **_: ())
    assert names(Group.MODELS) == ("openai_compat", "embedded")
    assert isinstance(build_model("openai_compat", base_url="http://127.0.0.1:9"), OpenAICompat)


@pytest.mark.parametrize(
    ("group", "name"), [(group, name) for group in Group for name in BUILT_IN[group]]
)
def test_every_one_of_ours_loads(group: Group, name: str) -> None:
    assert callable(load(group, name))


def test_the_distribution_declares_the_same_models() -> None:
    declared = pyproject()["project"]["entry-points"][Group.MODELS]
    assert declared == BUILT_IN[Group.MODELS]


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"no model is named 'gpt'.*openai_compat, embedded"):
        build_model("gpt")
    with pytest.raises(ConfigError, match="none is installed"):
        build_recogniser("whisper")


def test_a_plug_in_is_found_by_its_entry_point(plug_in: Path) -> None:
    install(
        plug_in,
        "acme",
        "[onlooker.recognisers]\nacme = onlooker.testing:ScriptedRecogniser\n"
        "[onlooker.synthesisers]\nacme = onlooker.testing:ScriptedSynthesiser\n"
        "[onlooker.delegates]\nacme = onlooker.testing:ScriptedDelegate\n",
    )
    assert names(Group.RECOGNISERS) == ("acme",)
    assert isinstance(build_recogniser("acme", answers=["hi"]), ScriptedRecogniser)
    assert isinstance(build_synthesiser("acme"), ScriptedSynthesiser)
    assert isinstance(build_delegate("acme"), ScriptedDelegate)


def test_a_plug_in_cannot_take_over_a_name_of_ours(plug_in: Path) -> None:
    install(plug_in, "evil", "[onlooker.models]\nopenai_compat = evil:build\n")
    assert names(Group.MODELS).count("openai_compat") == 1
    assert load(Group.MODELS, "openai_compat").__module__.startswith("onlooker.")


def test_two_plug_ins_of_one_name_are_refused(plug_in: Path) -> None:
    install(plug_in, "one", "[onlooker.models]\nacme = one:build\n")
    install(plug_in, "two", "[onlooker.models]\nacme = two:build\n")
    with pytest.raises(ConfigError, match="one, two"):
        build_model("acme")


@pytest.mark.parametrize(
    ("target", "says"),
    [("no_such_module:build", "no_such_module is missing"), ("onlooker.types:nothing", "loaded")],
)
def test_a_plug_in_that_cannot_be_loaded(plug_in: Path, target: str, says: str) -> None:
    install(plug_in, "broken", f"[onlooker.models]\nbroken = {target}\n")
    with pytest.raises(ConfigError, match=says) as caught:
        build_model("broken")
    assert caught.value.code == "bridge_not_loadable"


def test_what_is_no_factory_is_refused(plug_in: Path) -> None:
    install(plug_in, "odd", "[onlooker.models]\nodd = onlooker.types:DATA_URL_OPEN\n")
    with pytest.raises(ConfigError, match="no factory"):
        build_model("odd")


def test_options_a_factory_does_not_take_are_refused() -> None:
    with pytest.raises(ConfigError, match="cannot be built with these options"):
        build_model("openai_compat", base_url="http://127.0.0.1:9", colour="red")
    with pytest.raises(ConfigError, match="base_url"):
        build_model("openai_compat")


def test_a_source_is_built_by_name() -> None:
    source = build_source("video", spec="clip.mp4", fps=1.0, max_pixels=1_000)
    assert hasattr(source, "frames")


def test_looking_names_up_loads_no_implementation() -> None:
    before = set(sys.modules)
    for group in Group:
        names(group)
    assert not {name for name in set(sys.modules) - before if name.startswith("onlooker.bridges.m")}
