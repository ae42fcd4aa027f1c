"""Files that a run leaves behind: checked before it, written at once after it."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from onlooker.errors import ConfigError


def check_writable(path: Path, what: str) -> None:
    """Make sure, before a run starts, that ``path`` can be written at its end.

    Args:
        path: the file to be written later; an existing file is left untouched.
        what: ``report`` or ``record``; goes into the error's code and text.

    Raises:
        ConfigError: ``<what>_not_writable``.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder")
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError("permission denied")
        descriptor, probe = tempfile.mkstemp(dir=path.parent, prefix=".onlooker-")
        os.close(descriptor)
        os.unlink(probe)
    except OSError as error:
        raise not_writable(path, error, what) from error


def not_writable(path: Path, error: OSError, what: str) -> ConfigError:
    reason = (error.strerror or str(error)).lower()
    return ConfigError(
        f"cannot write the {what} to {path}: {reason} — give a file in a folder you may write to",
        code=f"{what}_not_writable",
    )


def write_atomically(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` at once or not at all; raises ``OSError``."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".onlooker-", suffix=".html")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes private files; a report should be as readable as any other new file.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise
