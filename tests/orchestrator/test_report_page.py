"""The timeline page: self-contained, escaped, honest, written at once."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from onlooker.errors import ConfigError
from onlooker.orchestrator.report import (
    Timeline,
    check_writable,
    render_report,
    write_report,
)
from onlooker.orchestrator.report.lanes import build_lanes
from onlooker.orchestrator.report.page import table_rows
from tests.orchestrator.sample_run import FACTS, sample_timeline

pytestmark = pytest.mark.shell

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"' & <b>"


class Elements(HTMLParser):
    """Tags with their attributes, and the text of scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.text = ""
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag if tag in self.raw else ""
        if self._inside:
            self.raw[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.raw[self._inside][-1] += data
        else:
            self.text += data


def page(timeline: Timeline | None = None, **changes: object) -> str:
    facts = replace(FACTS, **changes)  # type: ignore[arg-type]
    return render_report(timeline or sample_timeline(), facts)


def test_the_page_needs_nothing_from_outside() -> None:
    elements = Elements(page())
    for tag, attributes in elements.tags:
        assert tag not in {"link", "iframe", "object", "embed", "base", "form"}
        for name in ("src", "href", "srcset", "action"):
            value = attributes.get(name)
            assert value is None or value.startswith("data:image/jpeg;base64,"), (tag, name)
    code = "".join(elements.raw["style"] + elements.raw["script"])
    assert "url(" not in code
    assert "@import" not in code
    assert re.findall(r"https?://[^\"'\s]+", code) == ["http://www.w3.org/2000/svg"]
    assert "fetch(" not in code


def test_the_policy_allows_only_the_pages_own_style_and_script() -> None:
    elements = Elements(page())
    policies = [
        attributes["content"]
        for tag, attributes in elements.tags
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    (policy,) = policies
    assert policy is not None
    assert policy.startswith("default-src 'none'; img-src data:; ")
    assert "unsafe" not in policy
    for text in (elements.raw["style"][0], elements.raw["script"][-1]):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert not [tag for tag, attributes in elements.tags if "style" in attributes]
    assert not [a for _, attributes in elements.tags for a in attributes if a.startswith("on")]


def test_what_users_and_models_say_is_never_markup() -> None:
    plain, hostile = (
        Elements(page()),
        Elements(
            page(sample_timeline(HOSTILE, HOSTILE), source=HOSTILE, model=HOSTILE, persona=HOSTILE)
        ),
    )
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in plain.tags]
    assert HOSTILE in hostile.text
    details = json.loads(hostile.raw["script"][0])
    assert HOSTILE in {mark["text"] for lane in details for mark in lane}


def test_a_stand_in_is_called_one_first_and_a_model_is_not() -> None:
    assert "Stand-in model." in page()
    assert "not a vision-language model" in page().split("<main>")[0].replace("\n", " ")
    assert "Stand-in" not in page(stand_in=False, model="Qwen3-VL")


@pytest.mark.parametrize(
    ("outcome", "words"),
    [("interrupted", "The run was interrupted."), ("failed", "The run was broken off.")],
)
def test_a_run_that_broke_off_says_so_and_why(outcome: str, words: str) -> None:
    html = page(outcome=outcome, error="the model server is gone")
    assert words in html
    assert "the model server is gone Everything up to that point is below." in html
    assert "The run was" not in page()


def test_notes_stand_before_the_timeline() -> None:
    assert '<p class="banner note">nothing is asked</p>' in page(notes=("nothing is asked",))


def test_an_empty_run_gives_a_page() -> None:
    html = page(Timeline(), outcome="failed", error="no frames")
    assert "Onlooker timeline" in html
    assert 'data-span="1000"' in html


def test_every_mark_has_its_details_and_a_name_to_read_aloud() -> None:
    elements = Elements(page())
    details = json.loads(elements.raw["script"][0])
    marks = [a for tag, a in elements.tags if tag == "rect" and "mark" in (a["class"] or "")]
    assert len(marks) == sum(map(len, details)) == 45
    for mark in marks:
        assert mark["aria-label"]
        assert mark["role"] == "option"
        assert details[int(mark["data-l"] or "")][int(mark["data-i"] or "")]["head"]
    spoken = next(mark for mark in marks if "spoke" in (mark["class"] or ""))
    assert spoken["aria-label"] == "5.0 s spoke: A bicycle has appeared."


def test_the_text_form_has_everything_and_folds_quiet_ticks() -> None:
    rows = table_rows(build_lanes(sample_timeline()))
    assert [row.start_ms for row in rows] == sorted(row.start_ms for row in rows)
    texts = [(row.when, row.what) for row in rows]
    assert ("1.0 s to 4.0 s", "silent, 4 ticks") in texts
    assert ("5.0 s", "spoke") in texts
    assert ("0.0 s", "skipped") in texts
    assert ("20.0 s", "failed") in texts
    assert len(rows) == 25


def test_the_numbers_above_the_timeline_add_up() -> None:
    html = page()
    numbers = dict(re.findall(r"<div><dt>([^<]+)</dt><dd>([^<]+)</dd></div>", html))
    assert numbers["watched"] == "30.0 s"
    assert (numbers["ticks"], numbers["spoke"], numbers["silent"]) == ("30", "2", "25")
    assert (numbers["boundaries"], numbers["summaries"]) == ("3", "3")
    assert numbers["call p50"] == "188 ms"
    assert numbers["memory.chunk_frames"] == "12"


def test_runs_without_calls_or_usage_draw_no_empty_charts() -> None:
    assert 'class="lane chart"' not in page(Timeline())
    assert page().count('class="lane chart"') == 2


def test_a_report_replaces_the_old_one_at_once(tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    path.write_text("old", encoding="utf-8")
    write_report(path, sample_timeline(), FACTS)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [p.name for p in tmp_path.iterdir()] == ["run.html"]
    assert path.stat().st_mode & 0o444


def test_a_report_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "run.html"
    folder.mkdir()
    with pytest.raises(ConfigError, match="cannot write the report") as caught:
        write_report(folder, Timeline(), FACTS)
    assert caught.value.code == "report_not_writable"
    assert [p.name for p in tmp_path.iterdir()] == ["run.html"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "is a folder"),
        ("missing/run.html", "no such file"),
        ("file/run.html", "not a directory"),
    ],
)
def test_a_path_that_cannot_be_written_is_found_before_the_run(
    tmp_path: Path, name: str, reason: str
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match=reason) as caught:
        check_writable(tmp_path / name, "record")
    assert caught.value.code == "record_not_writable"


def test_checking_a_path_touches_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    check_writable(path, "report")
    assert list(tmp_path.iterdir()) == []
    path.write_text("old", encoding="utf-8")
    check_writable(path, "report")
    assert path.read_text(encoding="utf-8") == "old"


def test_half_of_a_character_from_a_broken_stream_does_not_break_the_page(tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    write_report(path, sample_timeline("lone \ud83d surrogate"), FACTS)
    assert "lone ? surrogate" in path.read_text(encoding="utf-8")
