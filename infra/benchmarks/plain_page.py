"""A lower bound of the Lab's times: a minimal Streamlit page."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from chromium import DESKTOP, PAINTED, QUIET, SEARCHED, filtered, opened, run_server

PAGE = """
import pandas as pd
import streamlit as st

text = st.text_input("Search")
rows = pd.DataFrame({"model": [f"model {k:02}" for k in range(44)], "mean": 0.5})
st.dataframe(rows[rows["model"].str.contains(text)], height="content", hide_index=True)
"""
"""One table and one filter."""
QUIETLY = ("--server.headless=true", "--server.address=127.0.0.1", "--browser.gatherUsageStats=false")


def measure_plain(path: str, folder: Path, repeats: int) -> dict[str, list[float]]:
    """Return the milliseconds until the page is painted, and until its filter has changed it.

    Args:
        path: Of Chromium.
        folder: Where the page is written.
        repeats: Number of measurements of each.
    """
    script = folder / "plain.py"
    script.write_text(PAGE, encoding="utf-8")
    command = [sys.executable, "-m", "streamlit", "run", str(script), *QUIETLY, "--server.port"]
    with run_server(command, "URL:") as (address, _):
        return asyncio.run(_visited(path, address, repeats))


async def _visited(path: str, address: str, repeats: int) -> dict[str, list[float]]:
    """Return the times of the plain page."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=QUIET)
        painted = [await opened(browser, address) for _ in range(repeats)]
        page = await (await browser.new_context(viewport=DESKTOP)).new_page()
        await page.goto(address, wait_until="commit")
        await page.evaluate(PAINTED)
        changed = [await filtered(page, SEARCHED[k % 2]) for k in range(repeats)]
        await browser.close()
    return {"to open": painted, "to change a filter": changed}
