"""The root of the settings, and how they are read: once, at start."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from onlooker.errors import ConfigError
from onlooker.orchestrator.settings.sections import (
    BargeInSettings,
    CadenceSettings,
    DecisionSettings,
    DelegationSettings,
    MemorySection,
    ModelSettings,
    RecorderSettings,
    ReportSettings,
    VideoSettings,
)

ENV_PREFIX: Final = "ONLOOKER__"
DELIMITER: Final = "__"
CONFIG_FILE_ENV: Final = "ONLOOKER_CONFIG"
"""Names the TOML file, where the command line does not."""
DEFAULT_FILE: Final = Path("onlooker.toml")
"""Read when it is there and no other file is named."""


class Settings(BaseSettings):
    """Every setting. Command line over environment over TOML file over defaults."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX,
        env_nested_delimiter=DELIMITER,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
    )

    model: ModelSettings = Field(default_factory=ModelSettings)
    memory: MemorySection = Field(default_factory=MemorySection)
    decision: DecisionSettings = Field(default_factory=DecisionSettings)
    cadence: CadenceSettings = Field(default_factory=CadenceSettings)
    video: VideoSettings = Field(default_factory=VideoSettings)
    barge_in: BargeInSettings = Field(default_factory=BargeInSettings)
    delegation: DelegationSettings = Field(default_factory=DelegationSettings)
    report: ReportSettings = Field(default_factory=ReportSettings)
    recorder: RecorderSettings = Field(default_factory=RecorderSettings)


class _Fixed(PydanticBaseSettingsSource):
    """Values that were read already."""

    def __init__(self, settings_cls: type[BaseSettings], values: dict[str, Any]) -> None:
        super().__init__(settings_cls)
        self._values = values

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        raise AssertionError("the whole mapping is handed over at once")

    def __call__(self) -> dict[str, Any]:
        return self._values


def load_settings(
    overrides: Mapping[str, Any] | None = None, *, file: Path | None = None
) -> Settings:
    """Read the settings; call it once, at start.

    Args:
        overrides: what the command line said, nested by section; ``None`` values are left out.
        file: the TOML file; else the one ``ONLOOKER_CONFIG`` names, else ``onlooker.toml`` when
            it is there.

    Raises:
        ConfigError: one line for each problem, with where the value came from.
    """
    path = _file(file)
    toml = _read_toml(path)
    given = _without_none(overrides or {})

    class Reader(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return init_settings, env_settings, _Fixed(settings_cls, toml)

    try:
        settings = Reader(**given)
    except SettingsError as error:
        raise ConfigError(f"{error}; sections are set as JSON or key by key") from error
    except ValidationError as error:
        problems = [_problem(e, given, toml, path) for e in error.errors(include_url=False)]
        raise ConfigError("\n".join([*problems, *_unknown_variables()])) from error
    if unknown := list(_unknown_variables()):
        raise ConfigError("\n".join(unknown))
    return settings


def leaves(
    model: type[BaseModel] = Settings, at: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """The path of every setting, in declaration order."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from leaves(kind, (*at, name))
        else:
            yield (*at, name)


def variable(path: tuple[str, ...]) -> str:
    """Name of the environment variable of a setting."""
    return ENV_PREFIX + DELIMITER.join(path).upper()


def _file(named: Path | None) -> Path | None:
    if named is not None:
        return named
    if from_env := os.environ.get(CONFIG_FILE_ENV):
        return Path(from_env)
    return DEFAULT_FILE if DEFAULT_FILE.is_file() else None


def _read_toml(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise ConfigError(
            f"cannot read the settings file {path}: {reason} — check --config", code="config_file"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"{path} is not valid TOML: {reason}", code="config_file") from error


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            if inner := _without_none(value):
                kept[name] = inner
        elif value is not None:
            kept[name] = value
    return kept


def _problem(
    error: Any, given: Mapping[str, Any], toml: Mapping[str, Any], file: Path | None
) -> str:
    """One line: which setting, what is wrong, where it was set."""
    path = tuple(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        said = "no such setting" + _near(path)
    else:
        said = str(error["msg"]).removeprefix("Value error, ")
        said = said[:1].lower() + said[1:]
    return f"{'.'.join(path)}: {said} (set {_origin(path, given, toml, file)})"


def _origin(
    path: tuple[str, ...], given: Mapping[str, Any], toml: Mapping[str, Any], file: Path | None
) -> str:
    if _has(given, path):
        return "on the command line"
    if any(name.upper() == variable(path) for name in os.environ):
        return f"by {variable(path)}"
    if _has(toml, path):
        return f"in {file}"
    return f"by {variable(path[:1])}"


def _has(values: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    inner: Any = values
    for part in path:
        if not isinstance(inner, Mapping) or part not in inner:
            return False
        inner = inner[part]
    return True


def _unknown_variables() -> Iterator[str]:
    """Misspelt variables would otherwise be ignored without a word."""
    known = {variable(path) for path in leaves()} | {variable(path[:1]) for path in leaves()}
    for name in sorted(os.environ):
        upper = name.upper()
        if upper.startswith(ENV_PREFIX) and upper not in known:
            path = tuple(upper.removeprefix(ENV_PREFIX).lower().split(DELIMITER))
            if path[0] in Settings.model_fields and len(path) > 1:
                continue  # the section itself refuses it, with the same words
            yield f"{name}: no such setting{_near(path)}"


def _near(path: tuple[str, ...]) -> str:
    sections = list(Settings.model_fields)
    names = [".".join(leaf) for leaf in leaves()] if len(path) > 1 else sections
    close = get_close_matches(".".join(path), names, n=1)
    return f"; did you mean {close[0]}?" if close else ""
