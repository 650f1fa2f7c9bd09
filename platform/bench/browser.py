"""A headless Chromium, as benchmarks and tests of the Lab open it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from longwave.platform.errors import ConfigError

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--mute-audio",
)  # fmt: skip
"""What it is started with: it asks nobody for anything of its own accord, and runs in a container, also for root."""
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
DESK: ViewportSize = {"width": 1400, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
"""Windows in which the Lab is looked at, in pixels."""
FILTERS = "Pool, filters and order"
"""What a board's filters are under."""
PAINTED = """
new Promise((found) => {
  const look = () => {
    const table = document.querySelector('[data-testid="stDataFrame"]');
    const there = table && table.querySelector("canvas")?.width && table.querySelector("table[role=grid] td");
    if (there) requestAnimationFrame(() => requestAnimationFrame(() => found(performance.now())));
    else requestAnimationFrame(look);
  };
  look();
})
"""
"""Milliseconds from the click on a link until the page's first table has been painted."""


def chromium() -> str:
    """Return the path of Chromium or Chrome: that on PATH, else Playwright's own.

    Raises:
        ConfigError: Playwright or a browser is absent.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise ConfigError("Playwright is absent. Install it: pip install playwright") from None
    for name in NAMES:
        if found := shutil.which(name):
            return found
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    if not Path(own).exists():
        raise ConfigError("There is no Chromium. Install it: apt-get install chromium, or playwright install chromium")
    return own
