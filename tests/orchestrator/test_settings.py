"""Settings: where values come from, what is refused, what is shown."""

from __future__ import annotations

import json
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
from pydantic import SecretStr

from onlooker.errors import ConfigError
from onlooker.memory.config import MemorySettings
from onlooker.orchestrator.settings import (
    Settings,
    as_json,
    as_toml,
    documentation,
    effective,
    load_settings,
)
from onlooker.orchestrator.settings.model import leaves, variable
from onlooker.orchestrator.settings.sections import MemorySection

pytestmark = pytest.mark.shell

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def clean_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of the person who runs the tests, and no ``onlooker.toml`` by accident."""
    import os

    for name in os.environ:
        if name.upper().startswith("ONLOOKER_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def written(folder: Path, text: str, name: str = "settings.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_command_line_beats_environment_beats_file_beats_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = written(tmp_path, "[cadence]\nperiod_ms = 200\n[video]\nfps = 2.0\njpeg_quality = 70\n")
    monkeypatch.setenv("ONLOOKER__CADENCE__PERIOD_MS", "300")
    monkeypatch.setenv("ONLOOKER__VIDEO__FPS", "3")
    settings = load_settings({"cadence": {"period_ms": 400, "max_requests": None}}, file=file)
    assert settings.cadence.period_ms == 400
    assert settings.video.fps == 3
    assert settings.video.jpeg_quality == 70
    assert settings.cadence.max_requests == 4


def test_the_file_is_the_named_one_else_that_of_the_variable_else_the_one_in_the_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert load_settings().video.fps == 1.0
    written(tmp_path, "[video]\nfps = 2.0\n", "onlooker.toml")
    assert load_settings().video.fps == 2.0
    monkeypatch.setenv("ONLOOKER_CONFIG", str(written(tmp_path, "[video]\nfps = 3.0\n", "b.toml")))
    assert load_settings().video.fps == 3.0
    assert load_settings(file=written(tmp_path, "[video]\nfps = 4.0\n")).video.fps == 4.0


def test_settings_are_frozen() -> None:
    settings = load_settings()
    with pytest.raises(ValueError, match="frozen"):
        settings.video.fps = 2
    with pytest.raises(ValueError, match="frozen"):
        settings.video = settings.video


def test_each_problem_is_one_line_that_says_where_it_was_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = written(tmp_path, "[video]\nframes_per_tick = 9\n")
    monkeypatch.setenv("ONLOOKER__CADENCE__PERIOD_MS", "3")
    with pytest.raises(ConfigError) as caught:
        load_settings({"model": {"url": "ftp://x"}}, file=file)
    lines = caught.value.message.splitlines()
    assert caught.value.code == "invalid_config"
    assert lines == [
        "model.url: must begin with http:// or https:// (set on the command line)",
        "cadence.period_ms: input should be greater than or equal to 50 "
        "(set by ONLOOKER__CADENCE__PERIOD_MS)",
        f"video.frames_per_tick: input should be less than or equal to 4 (set in {file})",
    ]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ONLOOKER__MODEL__URLL", "model.urll: no such setting; did you mean model.url?"),
        ("ONLOOKER__MODLE__URL", "ONLOOKER__MODLE__URL: no such setting; did you mean model.url?"),
        ("ONLOOKER__VIDOE", "ONLOOKER__VIDOE: no such setting; did you mean video?"),
        ("ONLOOKER__ZZZ__ZZZ", "ONLOOKER__ZZZ__ZZZ: no such setting"),
    ],
)
def test_a_misspelt_variable_is_an_error(
    monkeypatch: pytest.MonkeyPatch, name: str, hint: str
) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(ConfigError) as caught:
        load_settings()
    assert caught.value.message.startswith(hint)
    assert "\n" not in caught.value.message


def test_an_unknown_key_in_the_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^memory\.chunk_frame: no such setting; did you mean"):
        load_settings(file=written(tmp_path, "[memory]\nchunk_frame = 3\n"))


def test_a_whole_section_may_be_json_and_must_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONLOOKER__VIDEO", '{"fps": 5}')
    assert load_settings().video.fps == 5
    monkeypatch.setenv("ONLOOKER__VIDEO", "fast")
    with pytest.raises(ConfigError, match='field "video"'):
        load_settings()


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONLOOKER__MEMORY__LEAD", "")
    assert load_settings().memory.lead is None


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda folder: folder / "missing.toml", "no such file"),
        (lambda folder: folder, "is a directory"),
        (lambda folder: written(folder, "[video\n"), "not valid TOML"),
    ],
)
def test_a_settings_file_that_cannot_be_read_is_one_line(tmp_path, make, reason) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        load_settings(file=make(tmp_path))
    assert caught.value.code == "config_file"
    assert "\n" not in caught.value.message


def test_secrets_are_masked_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONLOOKER__MODEL__API_KEY", "sk-hush")
    monkeypatch.setenv("ONLOOKER__MODEL__URL", "http://me:hush@host:8000/v1?x=1")
    settings = load_settings()
    assert settings.model.api_key == SecretStr("sk-hush")
    shown = as_toml(settings) + as_json(settings) + repr(settings.model.api_key)
    assert "hush" not in shown
    assert "http://********@host:8000/v1?x=1" in as_json(settings)
    with pytest.raises(ConfigError) as caught:
        load_settings({"model": {"url": "hush", "backend": ""}})
    assert "hush" not in caught.value.message


def test_the_printed_settings_can_be_read_back(tmp_path: Path) -> None:
    settings = load_settings(
        {"memory": {"chunk_frames": 12}, "recorder": {"path": tmp_path / 'a"b.jsonl'}}
    )
    again = load_settings(file=written(tmp_path, as_toml(settings)))
    assert list(effective(again)) == list(effective(settings))
    assert set(tomllib.loads(as_toml(settings))) == set(json.loads(as_json(settings)))


def test_the_memory_section_offers_exactly_what_memory_takes() -> None:
    ours = {name: field.default for name, field in MemorySection.model_fields.items()}
    assert ours == {field.name: field.default for field in fields(MemorySettings)}


def test_every_setting_is_described_and_bounded_numbers_have_bounds() -> None:
    for section in Settings.model_fields.values():
        assert section.annotation is not None
        for name, field in section.annotation.model_fields.items():
            assert field.description, name
            is_number = field.annotation in (int, float, int | None)
            assert not is_number or field.metadata, name


def test_the_documentation_is_current() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert page == documentation(), (
        "run: python -m onlooker.orchestrator.settings > docs/configuration.md"
    )
    assert all(f"`{variable(path)}`" in page for path in leaves())
