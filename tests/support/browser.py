"""The Lab in a real browser, with records of each page's requests and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from chromium import DESKTOP, QUIET, find_chromium
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect, sync_playwright

from longwave.platform.errors import ConfigError

PAGES = "overview task model compare sweep reproduction cost coverage row methods".split()
IDLE = "[data-testid='stApp'][data-test-script-state='notRunning']"
GRID = "table[role=grid]"
"""The copy of a table for screen readers; the table itself is a canvas, painted shortly before."""
UNREAD = f"[data-testid=stDataFrame]:not(:has({GRID}))"
"""A table whose copy is still missing; a page's second table may be complete before its first."""

LONGEST_WAIT = 60_000
"""Longest wait for anything on a page, in milliseconds: a loaded machine draws slowly."""
expect.set_options(timeout=LONGEST_WAIT)


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """Yield a headless Chromium; skip the test if there is none."""
    try:
        path = find_chromium()
    except ConfigError as error:
        pytest.skip(str(error))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield browser
        browser.close()


class Visitor:
    """A visitor of a Lab, with a separate browser context.

    Attributes:
        page: The visitor's page.
        wrong: Errors of the console and of scripts.
        requests: Addresses of all requests.
    """

    def __init__(self, browser: Browser, address: str, **look: Any) -> None:
        self.address = address
        self.wrong: list[str] = []
        self.requests: set[str] = set()
        self.context: BrowserContext = browser.new_context(**{"viewport": DESKTOP, "accept_downloads": True, **look})
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(LONGEST_WAIT)
        self.page.on("console", self._note_error)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.requests.add(request.url))
        self.page.on("websocket", lambda socket: self.requests.add(socket.url))

    def _note_error(self, message: ConsoleMessage) -> None:
        """Record an error message of the console."""
        if message.type == "error":
            self.wrong.append(message.text)

    def open(self, name: str, **query: str) -> Page:
        """Open a page by its name or its full address, and wait until it is drawn."""
        path = "" if name == "overview" else name  # home has no name
        where = name if name.startswith("http") else f"{self.address}/{path}?{urlencode(query)}"
        self.page.goto(where)
        return self.settled()

    def settled(self) -> Page:
        """Wait until nothing more is drawn."""
        self.page.wait_for_selector(IDLE)
        self.page.wait_for_selector("[data-testid=stMain] [data-testid=stElementContainer]", state="attached")
        self.page.wait_for_function(
            "!document.querySelector('[data-testid=stSkeleton], [data-stale=true], [data-testid=stAppSkeleton]')"
        )
        self.page.wait_for_function(f"!document.querySelector('{UNREAD}')")
        return self.page

    def strangers(self) -> list[str]:
        """Return the requests to other servers than the Lab."""
        ours = urlsplit(self.address).netloc
        return sorted(url for url in self.requests if urlsplit(url).netloc not in (ours, ""))

    def violations(self) -> list[str]:
        """Return the findings of axe-core on the page that are at least serious."""
        self.page.evaluate(AXE_SCRIPT)
        broken = self.page.evaluate("axe.run()")["violations"]
        return [
            f"{rule['id']} ({rule['impact']}): {node['html'][:200]}: {node['failureSummary']}"
            for rule in broken
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"]
        ]

    def text(self) -> str:
        """Return all text of the page, tables included."""
        return str(self.page.locator("[data-testid=stMainBlockContainer]").evaluate("e => e.innerText + e.textContent"))

    def close(self) -> None:
        self.context.close()


Come = Callable[..., Visitor]
"""Opens a page of the Lab of a store: ``come(url, "task", task="adding")``."""


def lines(page: Page, k: int = 0) -> list[list[str]]:
    """Return the cells of a table on a page, in the order on screen, the line of headings first."""
    grid: Locator = page.locator(GRID).nth(k)
    cells: list[list[str]] = grid.evaluate(
        "t => [...t.querySelectorAll('tr')].map(l => [...l.querySelectorAll('th,td')].map(c => c.textContent))"
    )
    return cells
