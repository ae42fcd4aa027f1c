"""A headless Chromium that may not reach the network, for pages that must not need it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@dataclass(slots=True)
class Visit:
    """An open page, and what it did on its own."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    """Errors in the console, and exceptions."""
    requested: list[str] = field(default_factory=list)
    """Addresses it asked for, inline data excepted."""

    def listen(self) -> None:
        """Begin to take note; before the page is opened."""
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda message: self._on_console(message))
        self.page.on("request", lambda request: self._on_request(request))

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith(("data:", "blob:")):
            self.requested.append(request.url)


def find_chromium() -> str:
    """Path of the browser; skips the test where there is none."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser to open pages in. Only for synchronous tests: it occupies the thread's loop."""
    executable = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=[*QUIET])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visit(browser: Browser, path: Path, *, width: int = 1280, height: int = 900) -> Iterator[Visit]:
    """Open a file as a first-time visitor without a network."""
    context = browser.new_context(
        offline=True, viewport={"width": width, "height": height}, reduced_motion="reduce"
    )
    seen = Visit(context.new_page())
    seen.listen()
    seen.page.goto(path.resolve().as_uri())
    try:
        yield seen
    finally:
        context.close()
