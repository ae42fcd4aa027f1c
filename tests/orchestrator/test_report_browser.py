"""The timeline page in a real browser without a network: keys, zoom, dark, narrow, no script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from onlooker.orchestrator.report import write_report
from tests.orchestrator.sample_run import FACTS, sample_timeline
from tests.support.chromium import chromium, visit

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "run.html"
    write_report(path, sample_timeline(HOSTILE, HOSTILE), FACTS)
    return path


def head(page: Page) -> str:
    return page.locator("#detail-head").inner_text()


@pytest.mark.parametrize("width", [1280, 360])
def test_the_page_asks_for_nothing_complains_of_nothing_and_fits(
    browser: Browser, report: Path, width: int
) -> None:
    with visit(browser, report, width=width) as seen:
        assert seen.page.title() == "Onlooker timeline: street.mp4"
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        seen.page.click("button[data-do=next]")
        assert seen.page.locator("#details").is_visible()
        assert seen.requested == [report.resolve().as_uri()]
        assert seen.complaints == []


def test_what_users_said_is_shown_and_does_not_run(browser: Browser, report: Path) -> None:
    with visit(browser, report) as seen:
        seen.page.click("button[data-do=next]")
        assert seen.page.locator("#detail-text").inner_text() == HOSTILE
        assert seen.page.title() == "Onlooker timeline: street.mp4"
        assert seen.page.locator("img[src='x']").count() == 0


def test_everything_is_reachable_by_keyboard(browser: Browser, report: Path) -> None:
    with visit(browser, report) as seen:
        page = seen.page
        page.focus(".mark.skipped")
        assert head(page) == "0.0 s · skipped"
        page.keyboard.press("ArrowRight")
        assert head(page) == "1.0 s · silent"
        page.keyboard.press("End")
        assert head(page) == "29.0 s · silent"
        page.keyboard.press("ArrowDown")
        assert head(page) == "25.5 s · barge-in confirmed"
        page.keyboard.press("ArrowUp")
        assert head(page) == "25.0 s · spoke"
        page.keyboard.press("Home")
        assert head(page) == "0.0 s · skipped"
        page.keyboard.press("Escape")
        assert page.locator("#details").is_hidden()


def test_one_lane_is_one_stop_of_the_tab_key(browser: Browser, report: Path) -> None:
    with visit(browser, report) as seen:
        lanes = seen.page.locator(".lane:has(.mark)").count()
        assert seen.page.locator(".mark[tabindex='0']").count() == lanes
        seen.page.focus(".mark.skipped")
        seen.page.keyboard.press("End")
        assert seen.page.locator(".mark[tabindex='0']").count() == lanes


def test_a_click_shows_the_text_and_the_picture_of_a_moment(browser: Browser, report: Path) -> None:
    with visit(browser, report) as seen:
        page = seen.page
        page.locator(".summaries .mark").first.click()
        assert page.locator("#detail-text").inner_text() == "A street; people walk by (part 1)."
        assert page.locator("#detail-picture").is_hidden()
        page.locator(".decisions .mark.spoke").first.click()
        assert page.locator("#detail-picture").is_visible()
        assert page.evaluate("document.getElementById('detail-picture').naturalWidth") == 192


def test_zooming_widens_the_canvas_and_keeps_the_place(browser: Browser, report: Path) -> None:
    with visit(browser, report) as seen:
        page = seen.page
        wide = "document.getElementById('canvas').clientWidth"
        fitted = page.evaluate(wide)
        labels = page.locator("#axis text").count()
        page.click("button[data-do=next]")
        page.keyboard.press("+")
        page.keyboard.press("+")
        assert page.evaluate(wide) == pytest.approx(4 * fitted, abs=8)
        assert page.locator("#axis text").count() > labels
        box = page.locator(".mark.chosen").bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= 1280
        page.keyboard.press("0")
        assert page.evaluate(wide) == fitted


def test_quiet_ticks_can_be_hidden_from_the_text(browser: Browser, report: Path) -> None:
    with visit(browser, report) as seen:
        rows = seen.page.locator("#rows tr:visible")
        before = rows.count()
        seen.page.check("#loud")
        assert rows.count() < before
        assert seen.page.locator("#rows tr.spoke:visible").count() == 2


def test_the_page_follows_the_dark_scheme(browser: Browser, report: Path) -> None:
    context = browser.new_context(color_scheme="dark", offline=True)
    page = context.new_page()
    page.goto(report.resolve().as_uri())
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = page.evaluate("getComputedStyle(document.body).color")
    context.close()
    assert back == "rgb(20, 23, 28)"
    assert ink == "rgb(232, 235, 240)"


def test_without_scripts_the_text_form_is_complete(browser: Browser, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(report.resolve().as_uri())
    assert page.locator("#rows tr").count() == 25
    assert page.locator(".tools:visible").count() == 0
    assert page.locator(".decisions .mark.spoke").first.is_visible()
    context.close()
