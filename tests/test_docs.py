"""The documents are true: links resolve, commands exist, lists are complete, tables are current."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.source_tree import PACKAGES, ROOT, script

pytestmark = pytest.mark.shell

DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").rglob("*.md")]
)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
MAKE = re.compile(r"\bmake ([a-z][a-z-]*)")
ONLOOKER = re.compile(r"(?:^|[`\s$])onlooker ([a-z]+)(?=[\s`]|$)((?:[^\n`\\]|\\\n)*)", re.M)
OPTION = re.compile(r"(?<=\s)--[a-z][a-z-]+")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _typed(path: Path) -> str:
    """What a document shows as typed: its fenced blocks and inline code, one a line."""
    text = _text(path)
    return "\n".join([*FENCE.findall(text), *re.findall(r"`([^`\n]+)`", FENCE.sub("", text))])


def _targets() -> set[str]:
    """Targets of the Makefile that `make help` lists."""
    return set(re.findall(r"^([a-z-]+):.*?## ", _text(ROOT / "Makefile"), re.M))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_lead_somewhere(path: Path) -> None:
    links = [match[1] for match in LINK.finditer(FENCE.sub("", _text(path)))]
    local = [link for link in links if not re.match(r"[a-z]+:", link)]
    assert not [link for link in local if not (path.parent / link).exists()]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_headings_that_links_name_exist(path: Path) -> None:
    for target, anchor in LINK.findall(FENCE.sub("", _text(path))):
        page = path.parent / target
        if anchor and page.suffix == ".md":
            assert anchor[1:] in {_anchor(h) for h in re.findall(r"^#+ (.+)$", _text(page), re.M)}


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_make_targets_named_in_documents_exist(path: Path) -> None:
    assert set(MAKE.findall(_typed(path))) <= _targets()


def test_every_make_target_of_the_house_exists() -> None:
    wanted = "demo test fmt lint types imports golden cov mutants docs check bench clean help"
    assert set(wanted.split()) <= _targets()


@pytest.fixture(scope="module")
def commands() -> dict[str, set[str]]:
    """Every ``onlooker`` command and its options, from its own help texts."""
    import typer.main

    from onlooker.orchestrator.cli import app

    return {
        name: {option for parameter in command.params for option in parameter.opts}
        | {each for sub in getattr(command, "commands", {}) for each in (sub,)}
        for name, command in getattr(typer.main.get_command(app), "commands", {}).items()
    }


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_and_options_named_in_documents_exist(
    path: Path, commands: dict[str, set[str]]
) -> None:
    for command, rest in ONLOOKER.findall(_typed(path)):
        assert command in commands, f"no such command: onlooker {command}"
        unknown = set(OPTION.findall(rest)) - commands[command] - {"--help"}
        assert not unknown or command == "bench", f"onlooker {command} has no {unknown}"


def test_the_readme_opens_with_the_demo_and_the_tests() -> None:
    first = FENCE.findall(_text(ROOT / "README.md"))
    typed = next(block for block in first if "make demo" in block)
    assert typed.index("make demo") < typed.index("make test")


def test_every_document_is_reachable_from_the_index() -> None:
    index = _text(ROOT / "docs" / "index.md")
    pages = [p for p in (ROOT / "docs").glob("*.md") if p.name != "index.md"]
    assert not [p.name for p in pages if f"({p.name})" not in index]


def test_every_decision_is_numbered_and_listed() -> None:
    index = _text(ROOT / "docs" / "index.md")
    records = sorted((ROOT / "docs" / "adr").glob("*.md"))
    assert [int(p.name[:4]) for p in records] == list(range(1, len(records) + 1))
    for record in records:
        assert f"(adr/{record.name})" in index
        headings = re.findall(r"^## (.+)$", _text(record), re.M)
        assert headings[:2] == ["Context", "Decision"], record.name
        assert "Consequences" in headings, record.name


def test_the_glossary_defines_the_words_the_code_uses() -> None:
    terms = set(re.findall(r"^\| \*\*(.+?)\*\* \|", _text(ROOT / "docs" / "glossary.md"), re.M))
    wanted = {
        *("session", "tick", "cadence", "chunk", "cut", "lead", "boundary", "fact"),
        *("canonical form", "provisional", "settled", "suspected", "confirmed", "dismissed"),
        *("instruction", "query", "head", "tail", "tier", "consolidation", "roll-up", "action"),
        *("response", "utterance", "epoch", "barge-in", "interruption", "endpointing"),
        *("partial transcript", "final transcript", "playback cursor", "heard text", "flush"),
        *("drain", "bridge", "backend", "delegation", "ticket", "stream time", "wall time"),
        *("dialect", "persona", "gate", "point of no return", "fallback", "notice", "command"),
    }
    assert not wanted - terms
    assert list(terms) == list(dict.fromkeys(terms))


def test_the_architecture_names_every_package() -> None:
    text = _text(ROOT / "docs" / "architecture.md")
    assert not [p for p in (*PACKAGES, "tests", "deploy") if f"{p}/" not in text]


def test_the_table_of_cases_is_current_and_no_case_is_unguarded() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "cases.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_a_case_is_found_by_a_whole_id_in_a_test_name() -> None:
    cases = script("cases")
    names = cases.ID.findall("test b1 b13 j3 holds abc26 c26")
    assert names == ["b1", "b13", "j3", "c26"]


def test_the_changelog_has_the_version_that_is_built() -> None:
    from importlib.metadata import version

    text = _text(ROOT / "CHANGELOG.md")
    assert f"## [{version('onlooker')}]" in text or "## [Unreleased]" in text
