"""Fails when a file given on the command line is too large to belong into the repository."""

from __future__ import annotations

import sys
from pathlib import Path

LIMIT_BYTES = 512 * 1024


def main() -> int:
    """Print each file over the limit; 1 when there is one."""
    large = [p for p in map(Path, sys.argv[1:]) if p.is_file() and p.stat().st_size > LIMIT_BYTES]
    for path in large:
        print(f"{path}: {path.stat().st_size} bytes, limit {LIMIT_BYTES}", file=sys.stderr)
    return int(bool(large))


if __name__ == "__main__":
    sys.exit(main())
