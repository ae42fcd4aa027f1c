"""Writes ``docs/cases.md``: every known failure of systems like ours, and the tests that guard it.

A test guards a case by carrying its id in its name (``test_b1_…``, ``test_c26_…``). Run by
``make docs``; ``--check`` fails, without writing, when the page is out of date or a case that must
be guarded by now is not.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "cases.md"
ID = re.compile(r"(?<![a-z0-9])[bjc]\d+(?![a-z0-9])")

CASES = {
    # -- B: found by reading one public implementation of this idea
    "B1": "A summary that finishes in the middle of a chunk leaves the prompt head alone.",
    "B2": "No tick is blind to a closed chunk while its summary is being written.",
    "B3": "A boundary carries the newest ticks, with frames and dialogue, into the next chunk.",
    "B4": "A failed summary is retried, then replaced by a visible fallback; nothing is lost.",
    "B5": "A roll-up that keeps failing does not let the mid-term tier grow without bound.",
    "B6": "The Q&A history is bounded by count and by tokens.",
    "B7": "The whole prompt is accounted for in tokens and never exceeds the server's limit.",
    "B8": "The first query adds to the tail; what it arms does not rewrite a head in use.",
    "B9": "Nothing is summarised, and no model is called, before the first query.",
    "B10": "Pictures are decoded and resized off the event loop; a broken one is refused.",
    "B11": "Summaries are asked for in the user's language.",
    "B13": "Asking the same thing again re-arms it, and a standing query can be cancelled.",
    "B14": "Several standing queries live side by side where the dialect can hold them.",
    "B15": "The query header appears on a fresh query, once, and a rolled-back one stays fresh.",
    "B16": "A query that was replaced before it was answered stays findable in memory.",
    "B17": "A model that repeats a delegation does not start the same job again.",
    "B18": "A well-formed closing tag after a delegation leaves note and question intact.",
    "B19": "Unmarked output is never spoken, inner markers never leak, later lines are not lost.",
    "B20": "An empty response is silence, and does not disturb dedup.",
    "B21": "Dedup judges against what was heard, and holds through flicker.",
    "B22": "A delegate question cut off by the token limit is not dispatched.",
    "B23": "A delegated answer is visible to the model at the very next tick.",
    "B26": "The background brain gets recent frames, also just after a boundary.",
    "B29": "A tick sends each picture and each query once, however long the conversation.",
    "B32": "A tick is a transaction: a failure puts query, facts and frame back, in order.",
    "B33": "One tick call at a time, with a deadline; newest frame wins; lag stays bounded.",
    "B34": "Time labels come from the capture clock, not from counting frames.",
    # -- J: found in another
    "J1": "A summary job that raised is done with: it cannot fail every later tick.",
    "J2": "No tick waits for a summary or a roll-up.",
    "J3": "Q&A history and long-term memory are bounded in tokens, not only in entries.",
    "J4": "A failed call leaves no user message without its assistant message.",
    "J7": "A tick without a picture keeps all video memory.",
    "J10": "Summary prompts follow the language setting; tokens are learnt, not guessed by length.",
    "J14": "Dropped and skipped frames do not slow the model's sense of time.",
    "J23": "A response that also contains a silence marker is still a response.",
    "J24": "No decision marker ever reaches the user.",
    # -- C: reported by users of neighbouring systems
    "C1": "After a barge-in, memory holds a prefix of the reply, up to the last played position.",
    "C2": "Without word timings what was heard is proportional, rounded down to a word.",
    "C3": "If a word was heard, the reply stays in memory up to there, marked as interrupted.",
    "C5": "If nothing was heard, no reply is remembered and roles still alternate.",
    "C6": "A late or repeated playback ack of an old response is ignored and counted.",
    "C9": "Output stamped with an old epoch is dropped and counted.",
    "C11": "A cough or an empty transcript does not interrupt; what was paused goes on.",
    "C13": "At most one reply for one trigger, and no latch blocks the next trigger.",
    "C14": "Cancel and create in any order give one live response, and both are answered.",
    "C15": "A delegated answer survives a barge-in and is delivered exactly once.",
    "C17": "With a slow model frame age and queue length stay bounded; drops are counted.",
    "C19": "Tick k is due at t0 + k·T: no drift, no burst after an overrun.",
    "C20": "Without new frames the model is told so; an old frame is never re-stamped.",
    "C22": "A broken picture is one typed error, never stored, and the next tick is untouched.",
    "C23": "A picture beyond the limit is an error that names the limit; the session lives.",
    "C25": "Decoding and encoding never run on the event loop.",
    "C26": "Inside a chunk each prompt is a byte prefix of the next; heads change at boundaries.",
    "C27": "Everything constant precedes the first picture.",
    "C29": "A picture's uuid is the hash of its bytes; a cache miss resends the bytes once.",
    "C30": "Cached tokens that stay at zero against expectation are noticed.",
    "C31": "Two hours of chatter stay in budget; a context error forces one compaction.",
    "C32": "Kept and stripped decision markers are both read; empty text is silence.",
    "C34": "Cancelling closes the connection at once; no connection leaks over many cancels.",
    "C35": "An error is an event: never spoken, never remembered.",
    "C36": "Noise and silence never reach the recogniser.",
}
"""What must hold, by case."""

LATER = {
    "C36": "with the voice",
}
"""Cases of parts that do not exist yet, and what they come with."""


def guards() -> dict[str, list[str]]:
    """``file::test`` of every test, by the case ids in its name."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for test in _test_names(path):
            for case in ID.findall(test.lower().replace("_", " ")):
                found[case.upper()].append(f"{path.relative_to(ROOT).as_posix()}::{test}")
    return found


def _test_names(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
            "test_"
        ):
            yield node.name


def page(found: dict[str, list[str]]) -> str:
    """The whole page."""
    lines = [
        "# Known failures, and the tests that guard them",
        "",
        "Written by `scripts/cases.py` (`make docs`); do not edit. B and J cases are defects of",
        "two public implementations of the same idea; C cases were reported by users of",
        "neighbouring systems. The sentence says what must hold here; a test guards a case by",
        "carrying its id in its name.",
        "",
        "| case | what must hold | tests |",
        "| --- | --- | --- |",
    ]
    for case, sentence in CASES.items():
        lines.append(f"| {case} | {sentence} | {_tests(case, found)} |")
    return "\n".join(lines) + "\n"


def _tests(case: str, found: dict[str, list[str]]) -> str:
    if case not in found:
        return f"comes {LATER[case]}" if case in LATER else "**none**"
    names = [each.split("::") for each in found[case]]
    return "<br>".join(f"[`{test}`](../{file})" for file, test in names)


def unguarded(found: dict[str, list[str]]) -> list[str]:
    """Cases without a test that nothing excuses."""
    return [case for case in CASES if case not in found and case not in LATER]


def main() -> int:
    """Write or check the page; 1 when something is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    found = guards()
    wanted = page(found)
    stale = check and (not PAGE.exists() or PAGE.read_text(encoding="utf-8") != wanted)
    if stale:
        print(f"{PAGE.relative_to(ROOT)} is out of date: run `make docs`", file=sys.stderr)
    if not check:
        PAGE.write_text(wanted, encoding="utf-8")
    missing = unguarded(found)
    if missing:
        print(f"cases without a test: {' '.join(missing)}", file=sys.stderr)
    print(f"{len(CASES)} cases, {len(CASES) - len(missing) - len(LATER)} guarded")
    return int(stale or bool(missing))


if __name__ == "__main__":
    sys.exit(main())
