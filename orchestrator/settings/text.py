"""Settings as text: the effective ones for people, all of them for the documentation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from onlooker.orchestrator.settings.model import (
    CONFIG_FILE_ENV,
    DEFAULT_FILE,
    Settings,
    leaves,
    variable,
)

MASK = "********"
_PREAMBLE = f"""# Configuration

<!-- Generated: python -m onlooker.orchestrator.settings > docs/configuration.md -->

Settings come from, in this order: command-line flags, environment variables, a TOML file, and
the defaults below. They are read once, at start; `onlooker config` prints what is in force. A
setting that does not exist or cannot work is refused at start, one line for each problem.

The TOML file is the one `--config` names, else the one the variable `{CONFIG_FILE_ENV}` names,
else `{DEFAULT_FILE}` in the working folder when it is there. Each section is a table:

```toml
[model]
backend = "openai_compat"
url = "http://127.0.0.1:8000/v1"

[cadence]
period_ms = 1000
```

The same by environment: `ONLOOKER__MODEL__URL=http://127.0.0.1:8000/v1`. Units are part of the
names. A default of *derived* follows from the model server's limits or from another setting, as
described.
"""


def effective(settings: Settings) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every setting with its value; secrets are masked."""
    for path in leaves():
        value: Any = settings
        for part in path:
            value = getattr(value, part)
        if isinstance(value, SecretStr):
            value = MASK
        if path[-1] == "url" and value is not None:
            value = _without_password(value)
        yield path, str(value) if isinstance(value, Path) else value


def as_toml(settings: Settings) -> str:
    """The effective settings as a TOML file; what is derived or secret stands in a comment."""
    lines: list[str] = []
    for section, entries in groupby(effective(settings), key=lambda entry: entry[0][0]):
        lines += ["", f"[{section}]"]
        for path, value in entries:
            if value is None:
                lines.append(f"# {path[-1]} is derived or not set")
            elif value == MASK:
                lines.append(f"# {path[-1]} is set and secret")
            else:
                lines.append(f"{path[-1]} = {_toml(value)}")
    return "\n".join(lines[1:]) + "\n"


def as_json(settings: Settings) -> str:
    """The effective settings as one JSON object, by section; secrets are masked."""
    tree: dict[str, dict[str, Any]] = {}
    for path, value in effective(settings):
        tree.setdefault(path[0], {})[path[-1]] = value
    return json.dumps(tree, ensure_ascii=False)


def documentation() -> str:
    """``docs/configuration.md``."""
    parts = [_PREAMBLE]
    for name, field in Settings.model_fields.items():
        section = field.annotation
        if not (isinstance(section, type) and issubclass(section, BaseModel)):
            raise AssertionError("the root holds sections only")
        parts.append(f"## `[{name}]`\n\n{(section.__doc__ or '').strip()}\n")
        parts.append("| setting | default | bounds | meaning |\n|---|---|---|---|")
        for key, entry in section.model_fields.items():
            parts.append(
                f"| `{key}`<br>`{variable((name, key))}` | {_default(entry)} "
                f"| {_bounds(entry)} | {entry.description} |"
            )
        parts.append("")
    return "\n".join(parts)


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{MASK}@{host}"))


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{_toml(name)} = {_toml(inner)}" for name, inner in value.items())
        return f"{{{', '.join(pairs)}}}"
    # JSON spells booleans, numbers and strings the way TOML does.
    return json.dumps(value, ensure_ascii=False)


def _default(field: FieldInfo) -> str:
    if field.default is None:
        secret = "SecretStr" in str(field.annotation)
        unset = secret or str(field.annotation) in (str(str | None), str(Path | None))
        return "not set" if unset else "*derived*"
    return f"`{_toml(field.get_default(call_default_factory=True))}`"


def _bounds(field: FieldInfo) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    words = [
        f"{sign} {getattr(entry, name)}"
        for entry in field.metadata
        for name, sign in signs.items()
        if getattr(entry, name, None) is not None
    ]
    if any(getattr(entry, "min_length", None) for entry in field.metadata):
        words.append("not empty")
    if any(getattr(entry, "pattern", None) for entry in field.metadata):
        words.append("a language tag")
    return ", ".join(words)
