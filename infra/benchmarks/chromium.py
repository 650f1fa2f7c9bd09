"""A headless Chromium for benchmarks and tests of the Lab."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from longwave.platform.errors import ConfigError, WorkerError

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page
    from playwright.sync_api import ViewportSize

QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--mute-audio",
)  # fmt: skip
"""Its command-line options: it sends no network requests by itself, and runs in a container, also as root."""
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
DESKTOP: ViewportSize = {"width": 1400, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
"""Window sizes for the Lab, in pixels."""
PATIENCE = 10.0
"""Seconds within which a server must end."""
FILTERS = "Ranked rows, filters and order"
"""Heading of a board's filters."""
FIRST_LINE = """
() => {
  const links = document.querySelector(".link-table td");
  if (links) return links.textContent;
  const canvas = document.querySelector('[data-testid="stDataFrame"] canvas');
  if (!canvas || canvas.height < 70) return "";
  const line = canvas.getContext("2d").getImageData(0, 38, Math.min(canvas.width, 600), 30).data;
  const colours = new Set();
  let sum = 0;
  for (let k = 0; k < line.length; k += 4) {
    const colour = line[k] << 16 | line[k + 1] << 8 | line[k + 2];
    colours.add(colour);
    sum = (31 * sum + colour) | 0;
  }
  return colours.size > 8 ? `${sum} ${canvas.height}` : "";
}
"""
"""Identifies what is painted of a table: the pixels of its first line and its height; empty until there is text.

For a table of links it is the first cell's text. Other tables are a canvas, with a copy for screen readers that is
written at least 200 ms later.
"""
PAINTED = f"""
new Promise((found) => {{
  const line = {FIRST_LINE};
  const look = () => requestAnimationFrame(line() ? () => found(performance.now()) : look);
  look();
}})
"""
"""Milliseconds from the click on a link until the page's first table has been painted."""

SEARCHED = ("model 07", "model 1")
"""Search texts for a board, used in turn: each leaves a different table."""
CHANGED = f"""
() => {{
  const line = {FIRST_LINE};
  const before = line(), start = performance.now();
  window.changed = new Promise((found) => {{
    const look = () => {{
      const now = line();
      requestAnimationFrame(now && now !== before ? () => found(performance.now() - start) : look);
    }};
    look();
  }});
}}
"""
"""Measures the milliseconds until a table with another first line or height has been painted."""


def find_chromium() -> str:
    """Return the path of Chromium or Chrome: that on PATH, else Playwright's own.

    Raises:
        ConfigError: Playwright or a browser is absent.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise ConfigError("Playwright is not installed: pip install playwright") from None
    for name in NAMES:
        if path := shutil.which(name):
            return path
    with sync_playwright() as playwright:
        bundled = playwright.chromium.executable_path
    if not Path(bundled).exists():
        raise ConfigError("Chromium is not installed: apt-get install chromium, or playwright install chromium")
    return bundled


@contextmanager
def run_server(command: Sequence[str], ready: str) -> Iterator[tuple[str, psutil.Process]]:
    """Run a server on a free port, the last word of its command; yield its address and process once it is ready."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([*command, str(port)], stdout=subprocess.PIPE, text=True) as server:
        try:
            if not any(ready in line for line in server.stdout or ()):
                raise WorkerError(f"The server has ended: {' '.join(command[1:4])}.")
            yield f"http://127.0.0.1:{port}", psutil.Process(server.pid)
        finally:
            server.terminate()
            with suppress(subprocess.TimeoutExpired):
                server.wait(PATIENCE)
            server.kill()


async def opened(browser: Browser, address: str) -> float:
    """Return the milliseconds until the page's first table has been painted, in a browser without a cache."""
    context = await browser.new_context(viewport=DESKTOP)
    page = await context.new_page()
    await page.goto(address, wait_until="commit")
    painted = float(await page.evaluate(PAINTED))
    await context.close()
    return painted


async def filtered(page: Page, text: str) -> float:
    """Return the milliseconds from a new search to the resulting table."""
    await page.get_by_role("textbox", name="Search", exact=True).fill(text)
    await page.evaluate(CHANGED)
    await page.keyboard.press("Enter")
    return float(await page.evaluate("window.changed"))
